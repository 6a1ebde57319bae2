"""Verbs of topics and records: made, read, written, lost and cleaned."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from kafkalite.control.answers import Header
from kafkalite.control.problems import Problem
from kafkalite.control.questions import NewRecord
from kafkalite.faults import errno
from kafkalite.requests import slices
from kafkalite.testing import broker as test_broker
from tests.kafkalite.transactional import TOPIC, Transactional

# Background work never comes by itself: what is seen is what was asked for.
BROKER_CONFIGS = dict.fromkeys(("log.retention.check.interval.ms", "log.cleaner.backoff.ms"), 10**9)


async def test_a_topic_is_made_listed_and_deleted(broker: test_broker) -> None:
    k = broker.asynchronous
    made = await k.create_topic("t", 2, configs={"retention.ms": 5_000_000})
    assert (made.name, len(made.partitions), made.configs) == ("t", 2, {"retention.ms": "5000000"})
    await k.group("g").seek("t", 0)  # which makes an internal topic
    assert await k.topics() == [await k.topic("t")]
    with pytest.raises(Problem) as caught:
        await k.create_topic("t")
    assert caught.value.code == "exists"
    with pytest.raises(Problem, match=r"topic b/d is not created") as caught:
        await k.create_topic("b/d")
    assert caught.value.code == "refused"
    with pytest.raises(Problem, match="Excessively large number of partitions"):
        await k.create_topic("many", 2**31 - 1)
    with pytest.raises(Problem, match="Excessively large number of partitions"):
        broker.create_topic("many", 10_001)
    with pytest.raises(Problem, match="partitions is '3'"):
        broker.create_topic("many", "3")  # type: ignore[arg-type]  # it is refused
    await k.delete_topic("t")
    assert await k.topics() == []
    with pytest.raises(Problem, match="no topic 't'"):
        await k.delete_topic("t")


def test_a_topic_of_many_partitions_is_made_and_deleted_in_slices() -> None:
    """The watchdog of every test sees it."""
    with test_broker() as b:
        b.create_topic("t", partitions=400)
        b.delete_topic("t")


@pytest.mark.parametrize(
    ("verb", "fields"),
    [
        ("records.read", {"topic": "t", "count": 100}),
        ("records.search", {"topic": "t", "text": "x"}),
        ("records.search", {"topic": "t", "text": "x", "newest": True}),
        ("groups.seek", {"group": "g", "topic": "t", "to": "latest"}),
        ("groups.show", {"group": "g"}),
        ("wait", {"until": {"lag": {"group": "g"}}}),
        ("wait", {"until": {"records": {"topic": "t", "at_least": 0}}}),
        ("wait", {"until": {"quiet": {"for": "0s"}}}),
    ],
)
async def test_many_partitions_are_looked_at_in_slices(
    broker: test_broker, monkeypatch: pytest.MonkeyPatch, verb: str, fields: dict[str, Any]
) -> None:
    k = broker.asynchronous
    await k.create_topic("t", partitions=50)
    await k.group("g").seek("t", 0)
    monkeypatch.setattr(slices, "SLICE_SECONDS", 0)
    monkeypatch.setattr(slices, "_BRIEF_SECONDS", 0)
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await trio.lowlevel.checkpoint()
            turns += 1

    async with trio.open_nursery() as nursery:
        nursery.start_soon(others)
        await k.ask(verb, **fields)
        nursery.cancel_scope.cancel()
    assert turns >= 40


async def test_records_are_written_and_read_as_they_are(broker: test_broker) -> None:
    k = broker.asynchronous
    await k.create_topic("t", partitions=2)
    now_ms = (await k.clock.freeze()).now_ms
    written = await k.produce("t", "é", key=b"\xff", headers={"h": "x"}, partition=1, count=2)
    assert [(each.partition, each.offset) for each in written.places] == [(1, 0), (1, 1)]
    await k.produce("t", None, timestamp="-7d")
    await k.produce("t", b"\xfe", timestamp=5)
    records = await k.records("t")
    assert [(each.partition, each.offset, each.timestamp - now_ms) for each in records] == [
        (0, 0, -604_800_000),
        (0, 1, 5 - now_ms),
        (1, 0, 0),
        (1, 1, 0),
    ]
    deleted, binary, text, _ = records
    assert (deleted.key, deleted.value) == (None, None)
    assert (binary.value, binary.value_encoding) == ("/g==", "base64")
    assert (text.value, text.value_encoding, text.headers) == ("é", "utf-8", {"h": "x"})
    assert (text.key, text.key_encoding) == ("/w==", "base64")


async def test_headers_come_again_and_may_be_bytes_or_null(broker: test_broker) -> None:
    k = broker.asynchronous
    await k.create_topic("t")
    await k.produce("t", "1", headers=[("h", "x"), ("h", b"\xff"), ("h", None)])
    (read,) = await k.records("t")
    assert [each.value for each in read.all_headers] == ["x", "/w==", None]
    again = NewRecord("2", headers={"first": "1"}, all_headers=read.all_headers)
    await k.ask("records.write", topic="t", records=[again])
    (copied,) = await k.records("t", 1, from_=1)
    assert copied.all_headers == [Header("first", "1"), *read.all_headers]
    assert copied.headers == {"first": "1", "h": None}
    wrong = NewRecord("3", all_headers=[Header("h", "*", "base64")])
    with pytest.raises(Problem, match="is no base64"):
        await k.ask("records.write", topic="t", records=[wrong])


async def test_records_of_several_partitions_come_by_time(broker: test_broker) -> None:
    k = broker.asynchronous
    await k.create_topic("t", partitions=2)
    for value, partition, timestamp in (("a", 0, 3), ("b", 1, 1), ("c", 0, 2), ("d", 1, 4)):
        await k.produce("t", value, partition=partition, timestamp=timestamp)
    read = k.records
    assert [each.value for each in await read("t")] == ["b", "a", "c", "d"]
    assert [each.value for each in await read("t", 2)] == ["b", "a"]
    assert [each.value for each in await read("t", partition=1)] == ["b", "d"]
    assert [each.value for each in await read("t", from_=1)] == ["c", "d"]
    assert [each.value for each in await read("t", value_contains="c")] == ["c"]


async def test_a_topic_is_rolled(broker: test_broker) -> None:
    """A partition without records since its last segment began is left as it is."""
    k = broker.asynchronous
    await k.create_topic("t", partitions=2)
    await k.produce("t", "v", partition=1, count=3)
    for _ in range(2):
        assert (await k.ask("topics.roll", topic="t")).name == "t"
    rolled = await k.ask("events", kind="segment.rolled")
    told = [(each.about["log"], each.about["base_offset"]) for each in rolled]
    assert [each for each in told if each[0].startswith("t-")] == [("t-1", 3)]
    with pytest.raises(Problem, match="no topic 'x'"):
        await k.ask("topics.roll", topic="x")


async def test_a_topic_on_a_broken_disk_is_not_rolled(broker: test_broker) -> None:
    k = broker.asynchronous
    await k.create_topic("t")
    await k.produce("t", "v")
    await k.fault(disk="open", topic="t", do=errno("EIO"), times=None, optional=True)
    with pytest.raises(Problem, match="t-0 is not rolled"):
        await k.ask("topics.roll", topic="t")


async def test_one_batch_is_written_for_each_partition(broker: test_broker) -> None:
    k = broker.asynchronous
    await k.create_topic("t", partitions=2)
    records = [NewRecord(f"{index}", partition=index % 2) for index in range(4)]
    written = await k.ask("records.write", topic="t", records=records)
    assert [(each.partition, each.offset) for each in written.places] == [
        (0, 0),
        (0, 1),
        (1, 0),
        (1, 1),
    ]
    with pytest.raises(Problem, match="no partition 't-2'"):
        await k.produce("t", "v", partition=2)
    await k.create_topic("small", configs={"max.message.bytes": 100})
    with pytest.raises(Problem, match="small-0 takes no records"):
        await k.produce("small", "v" * 1000)


async def test_records_are_waited_for(broker: test_broker) -> None:
    """Also for those of a topic that is made meanwhile."""
    k = broker.asynchronous
    with pytest.raises(Problem, match="no topic 't'"):
        await k.records("t")

    async def write() -> None:
        await trio.sleep(0.05)
        await k.create_topic("t")
        await k.produce("t", "v")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(write)
        (record,) = await k.records("t", 1)
    assert record.value == "v"
    began = trio.current_time()
    assert len(await k.ask("records.read", topic="t", count=2, wait="100ms")) == 1
    assert trio.current_time() - began >= 0.1


async def test_aborted_records_are_not_committed_ones(
    broker: test_broker, writer: Transactional
) -> None:
    read = broker.asynchronous.records

    async def values(**fields: Any) -> list[str | None]:
        return [each.value for each in await read(TOPIC, partition=0, **fields)]

    for value, commit in ((b"a", True), (b"b", False), (b"c", True)):
        await writer.write(value, commit=commit)
    await writer.produce(b"open")
    assert await values(committed=True) == ["a", "c"]
    assert await values() == ["a", "b", "c", "open"]
    await writer.end(commit=False)
    assert await values(committed=True) == ["a", "c"]


async def test_records_are_lost_and_gaps_are_made(broker: test_broker) -> None:
    k = broker.asynchronous
    await k.create_topic("t")
    for value in range(6):
        await k.produce("t", str(value))

    async def values() -> list[str | None]:
        return [each.value for each in await k.records("t")]

    lost = await k.lose("t", 0, 2)
    assert lost.partitions[0].start_offset == 2
    await k.gap("t", 3, 5)
    assert await values() == ["2", "5"]
    with pytest.raises(Problem, match="t-0 loses nothing"):
        await k.lose("t", 0, 7)
    with pytest.raises(Problem, match="t-0 gets no gap"):
        await k.gap("t", 5, 9)
    await k.lose("t")
    assert await values() == []
    assert (await k.topic("t")).partitions[0].end_offset == 6


async def test_cleaning_is_not_waited_for(broker: test_broker) -> None:
    k = broker.asynchronous
    await k.create_topic("t", configs={"retention.ms": 3_600_000})
    await k.produce("t", "old", timestamp="-2h", count=3)
    await k.produce("t", "new")
    assert await k.clean() == 0  # the segment has a record that is to stay
    await k.create_topic("old", configs={"retention.ms": 3_600_000})
    await k.produce("old", "old", timestamp="-2h", count=3)
    assert await k.clean() == 3
    assert await k.records("old") == []
