"""Directories that were killed under one broker and damaged: both make the same of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.harness.broker import Broker
from conformance.storage.clients import SECONDS, create, producer, read
from conformance.storage.conftest import Start
from kafkalite.log.checkpoints import write_offsets
from kafkalite.log.files import FILES, RECOVERY_POINT_CHECKPOINT
from kafkalite.wire.record_batch import iterate_batches

# Segments of a few batches each, which no cleaner touches.
SMALL = {"internal_segment_bytes": "1000", "index_interval_bytes": "100", "retention_ms": "-1"}
BATCHES = 30


def logs(partition: Path) -> list[Path]:
    return sorted(partition.glob("*.log"))


def tail(more: bytes) -> Callable[[Path], None]:
    def append(partition: Path) -> None:
        with logs(partition)[-1].open("ab") as file:
            file.write(more)

    return append


def torn(size: int) -> Callable[[Path], None]:
    def cut(partition: Path) -> None:
        data = logs(partition)[-1].read_bytes()
        *_, last = iterate_batches(data)
        logs(partition)[-1].write_bytes(data[: len(data) - last.size_bytes + size])

    return cut


def a_bit_in_the_last_segment(partition: Path) -> None:
    data = bytearray(logs(partition)[-1].read_bytes())
    data[-1] ^= 1
    logs(partition)[-1].write_bytes(data)


def no_index(partition: Path) -> None:
    for suffix in (".index", ".timeindex"):
        logs(partition)[1].with_suffix(suffix).unlink()


def no_index_and_a_bit(partition: Path) -> None:
    data = bytearray(logs(partition)[1].read_bytes())
    data[-1] ^= 1
    logs(partition)[1].write_bytes(data)
    logs(partition)[1].with_suffix(".index").unlink()


def an_empty_segment_between(partition: Path) -> None:
    (partition / f"{1:020d}.log").write_bytes(b"")


def no_earlier_segment(partition: Path) -> None:
    for path in partition.glob(logs(partition)[1].stem + "*"):
        path.unlink()


DAMAGES: dict[str, Callable[[Path], None]] = {
    "none": lambda partition: None,
    "zeros": tail(bytes(5000)),
    "a-few-zeros": tail(bytes(17)),
    "garbage": tail(b"\xff" * 80),
    "torn-1": torn(1),
    "torn-16": torn(16),
    "torn-60": torn(60),
    "torn-70": torn(70),
    "a-bit": a_bit_in_the_last_segment,
    "no-index": no_index,
    "no-index-and-a-bit": no_index_and_a_bit,
    "an-empty-segment-between": an_empty_segment_between,
    "no-earlier-segment": no_earlier_segment,
}


def found(broker: Broker) -> dict[str, Any]:
    """The rows of each topic, and again with one record more."""
    before = {topic: read(broker.bootstrap, topic) for topic in DAMAGES}
    sender = producer(broker.bootstrap)
    for topic in DAMAGES:
        sender.produce(topic, value="more", partition=0, timestamp=1)
    assert sender.flush(SECONDS) == 0
    return {topic: (before[topic], read(broker.bootstrap, topic)) for topic in DAMAGES}


@pytest.mark.parametrize("first", ["kafka", "kafkalite"])
def test_both_make_the_same_of_a_damaged_directory(start: Start, first: str) -> None:
    writer = start(first)
    for topic in DAMAGES:
        create(writer.bootstrap, topic, **SMALL)
    sender = producer(writer.bootstrap, linger_ms=0)
    for number in range(BATCHES):
        for topic in DAMAGES:
            sender.produce(topic, key=f"k{number}", value=f"v{number}" * 9, partition=0)
        assert sender.flush(SECONDS) == 0
    del sender
    writer.kill()
    points = {}
    for topic, damage in DAMAGES.items():
        partition = writer.data_dir / f"{topic}-0"
        points[topic, 0] = int(logs(partition)[-1].stem)
        damage(partition)
    write_offsets(FILES, writer.data_dir / RECOVERY_POINT_CHECKPOINT, points)

    ours, theirs = start("kafkalite", writer.data_dir), start("kafka", writer.data_dir)
    expected = found(theirs)
    assert found(ours) == expected
    assert len(expected["none"][0]) == len(expected["zeros"][0]) == BATCHES
    # Put in order by one, it is taken as it is by the other.
    left = {topic: rows for topic, (_, rows) in expected.items()}
    for one, other in ((ours, "kafka"), (theirs, "kafkalite")):
        one.stop()
        second = start(other, one.data_dir)
        assert {topic: read(second.bootstrap, topic) for topic in DAMAGES} == left


def test_gaps_that_kafka_s_compaction_left_are_no_loss(start: Start) -> None:
    """Between segments whose own offsets have none, and without the recovery points."""
    writer = start("kafka")
    create(writer.bootstrap, "table", cleanup_policy="compact", **SMALL)
    sender = producer(writer.bootstrap, linger_ms=0)
    for part in range(3):
        for key in [*(f"k{part}.{i}" for i in range(7)), *(["again"] * 4)]:
            sender.produce("table", key=key, value="v" * 20, partition=0)
            assert sender.flush(SECONDS) == 0
    partition = writer.data_dir / "table-0"
    deadline = time.monotonic() + SECONDS
    while not any(partition.glob("*.deleted")):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    time.sleep(1)
    expected = read(writer.bootstrap, "table")
    writer.kill()
    assert len(expected) < 33
    for path in writer.data_dir.glob("recovery-point-offset-checkpoint*"):
        path.unlink()
    assert read(start("kafkalite", writer.data_dir).bootstrap, "table") == expected
