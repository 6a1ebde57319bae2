"""The testing broker changes a log on request: loss, gaps, cleaning."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.record_batch import Record, build_batch, iterate_batches, iterate_records


@pytest.fixture
def broker() -> Iterator[test_broker]:
    # Background work never comes by itself: what is seen is what was asked for.
    never = dict.fromkeys(("log.retention.check.interval.ms", "log.cleaner.backoff.ms"), 10**9)
    with test_broker(never) as running:
        yield running


def append(broker: test_broker, topic: str, *records: tuple[bytes | None, bytes]) -> None:
    batch = build_batch(
        [Record(timestamp=1_600_000_000_000, key=key, value=value) for key, value in records]
    )
    broker._call(lambda: broker._partition(topic, 0).append(batch))


def offsets(broker: test_broker, topic: str) -> list[int]:
    def read() -> list[int]:
        partition = broker._partition(topic, 0)
        log = partition.log
        found: list[int] = []
        for segment in log.segments:
            for _, batch in segment.batches():
                found += [record.offset for record in iterate_records(batch)]
        return [offset for offset in found if offset >= log.log_start_offset]

    return broker._call(read)


def test_records_are_lost_up_to_an_offset(broker: test_broker) -> None:
    broker.create_topic("t", configs={"retention.ms": -1})
    for value in range(10):
        append(broker, "t", (None, b"%d" % value))
    broker.force_data_loss("t", 0, 4)
    assert offsets(broker, "t") == [4, 5, 6, 7, 8, 9]
    with pytest.raises(KafkaError):
        broker.force_data_loss("t", 0, 11)
    broker.force_data_loss("t", 0, -1)
    assert offsets(broker, "t") == []
    append(broker, "t", (None, b"next"))
    assert offsets(broker, "t") == [10]
    with pytest.raises(KeyError):
        broker.force_data_loss("t", 1, 0)


@pytest.mark.parametrize("codec", [0, 4])
def test_a_gap_keeps_all_other_offsets(broker: test_broker, codec: int) -> None:
    broker.create_topic("t", configs={"retention.ms": -1})
    for first in range(0, 30, 10):
        append(broker, "t", *((None, b"%d" % value) for value in range(first, first + 10)))
    broker.make_gap("t", 0, 5, 22)
    assert offsets(broker, "t") == [*range(5), *range(22, 30)]
    append(broker, "t", (None, b"next"))
    assert offsets(broker, "t")[-1] == 30
    broker.make_gap("t", 0, 28, 31)  # the end of the log: its batches stay, emptied
    assert offsets(broker, "t") == [*range(5), *range(22, 28)]

    def end_of_batches() -> int:
        log = broker._partition("t", 0).log
        result = log.read(28, 1 << 20, upper_bound=log.high_watermark)
        with result.records as records:
            return max(batch.next_offset for batch in iterate_batches(records.read()))

    assert broker._call(end_of_batches) == 31
    with pytest.raises(KafkaError):
        broker.make_gap("t", 0, 30, 32)


def test_cleaning_waits_for_nothing(broker: test_broker) -> None:
    broker.create_topic("compacted", configs={"cleanup.policy": "compact"})
    broker.create_topic("old", configs={"retention.ms": 1})
    for value in range(6):
        append(broker, "compacted", (b"key-%d" % (value % 2), b"%d" % value))
        append(broker, "old", (None, b"%d" % value))
    broker.clean_now()
    assert offsets(broker, "compacted") == [4, 5]
    assert offsets(broker, "old") == []
    append(broker, "compacted", (b"key-0", b"last"))
    broker.clean_now()
    assert offsets(broker, "compacted") == [5, 6]


def test_a_broker_in_a_thread() -> None:
    before = set(threading.enumerate())
    with test_broker(nodes=2, config={"num.partitions": 3}) as running:
        running.create_topic("words")
        assert len(running.bootstrap.split(",")) == 2
        for address in running.bootstrap.split(","):
            host, _, port = address.rpartition(":")
            socket.create_connection((host, int(port))).close()
    # Trio keeps idle threads for a few seconds, for whatever needs one next.
    left = set(threading.enumerate()) - before
    assert [each for each in left if not each.name.startswith("Trio thread")] == []


def test_what_is_wrong_is_raised_where_it_was_asked_for(tmp_path: Path) -> None:
    from kafkalite.config import ConfigError
    from kafkalite.server.listener import StartError

    with pytest.raises(ConfigError, match="there is no config"), test_broker({"no.such": 1}):
        pass
    with (
        test_broker(data_dir=tmp_path),
        pytest.raises(StartError, match="in use"),
        test_broker(data_dir=tmp_path),
    ):
        pass


async def test_an_exception_inside_comes_out_as_it_is() -> None:
    with pytest.raises(ZeroDivisionError):
        async with test_broker():
            raise ZeroDivisionError
    with pytest.raises(RuntimeError, match="not running"):
        print(test_broker().bootstrap)
