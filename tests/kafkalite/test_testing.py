"""The testing broker changes a log on request: loss, gaps, cleaning."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from errno import EMFILE
from pathlib import Path
from unittest.mock import patch

import pytest
import trio

from kafkalite import testing
from kafkalite.config import ConfigError
from kafkalite.server.listener import StartError
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


def got(url: str, token: str = "") -> bytes:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=30) as answer:
        return bytes(answer.read())


def test_a_page_is_served_when_it_is_asked_for() -> None:
    with test_broker(ui=True) as running:
        assert running.ui_url is not None
        address, token = running.ui_url.split("/#token=")
        assert b"<title>kafkalite" in got(running.ui_url)
        with running.new_cluster("mine") as other:
            other.create_topic("orders")
            shown = got(f"{address}/v1/clusters/mine/topics", token)
        assert [each["name"] for each in json.loads(shown)] == ["orders"]
        with pytest.raises(urllib.error.HTTPError, match="401") as caught:
            got(f"{address}/v1/clusters")
        caught.value.close()
    assert running.ui_url is None
    with pytest.raises(urllib.error.URLError, match="refused"):
        got(address)


def test_no_port_is_opened_for_a_page_that_is_not_wanted() -> None:
    with test_broker() as running:
        assert running.ui_url is None


async def test_a_page_in_the_callers_own_loop() -> None:
    async with test_broker({"kafkalite.control.token": "known"}, ui=True) as running:
        assert running.ui_url is not None
        assert running.ui_url.endswith("/#token=known")
        assert b"<title>kafkalite" in await trio.to_thread.run_sync(got, running.ui_url)


async def test_an_exception_inside_comes_out_as_it_is() -> None:
    with pytest.raises(ZeroDivisionError):
        async with test_broker():
            raise ZeroDivisionError
    with pytest.raises(RuntimeError, match="not running"):
        print(test_broker().bootstrap)


async def test_a_thread_beside_the_callers_own_loop() -> None:
    """The broker is changed in its loop, from whichever thread that is asked for."""
    async with test_broker() as b:

        def fill() -> int:
            b.create_topic("t")
            b.produce("t", "1")
            b.stop_node(1)
            b.start_node(1)
            return len(b.wait.records("t", 1) and b.records("t"))

        assert await trio.to_thread.run_sync(fill) == 1
        b.create_topic("u")
        assert [topic.name for topic in await b.asynchronous.topics()] == ["t", "u"]


def test_a_task_that_is_cancelled_while_it_starts_a_broker_leaves_none() -> None:
    """The broker ran on for as long as the process, where nobody knew of it."""

    async def start() -> None:
        async with test_broker():
            await asyncio.sleep(30)

    async def give_up() -> None:
        for seconds in (0.0, 0.001, 0.01, 0.05):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(start(), seconds)

    before = threading.enumerate()  # among them may be the broker of a fixture
    asyncio.run(give_up())
    left = [each for each in threading.enumerate() if each.name == "kafkalite"]
    assert [each for each in left if each not in before] == []


@pytest.mark.parametrize("wrong", ["", "a,b"])
def test_a_data_directory_is_one(wrong: str) -> None:
    with pytest.raises(ConfigError, match="data directory"):
        test_broker(data_dir=wrong).__enter__()


def not_running(b: test_broker) -> None:
    for ask in (b.topics, b.reset, lambda: b.bootstrap, lambda: b.create_topic("t")):
        with pytest.raises(RuntimeError, match="the broker is not running"):
            ask()
    with pytest.raises(RuntimeError, match="the broker is not running"):
        b.__exit__()


def test_verbs_are_for_a_broker_that_runs() -> None:
    b = test_broker()
    not_running(b)
    for _ in range(2):
        with b:
            with pytest.raises(RuntimeError, match="the broker is running already"):
                b.__enter__()
            assert b.topics() == []
        not_running(b)


async def test_the_callers_own_loop_has_one_of_a_broker() -> None:
    b = test_broker()
    for _ in range(2):
        async with b:
            with pytest.raises(RuntimeError, match="the broker is running already"):
                await b.__aenter__()
            assert b.topics() == []
        not_running(b)


def test_a_thread_that_cannot_begin_says_so() -> None:
    """A process out of file descriptors got no answer, and waited for ever."""
    told: list[str] = []

    def enter() -> None:
        with pytest.raises(OSError, match="Too many open files") as raised, test_broker():
            pass
        told.append(str(raised.value))

    with patch.object(testing, "Host", side_effect=OSError(EMFILE, "Too many open files")):
        thread = threading.Thread(target=enter, daemon=True)
        thread.start()
        thread.join(10)
    assert len(told) == 1


def test_a_broker_that_did_not_start_may_be_tried_again(tmp_path: Path) -> None:
    b = test_broker(data_dir=tmp_path)
    with test_broker(data_dir=tmp_path), pytest.raises(StartError, match="in use"):
        b.__enter__()
    not_running(b)
    with b:
        assert b.topics() == []
