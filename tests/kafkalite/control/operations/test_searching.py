"""Searching records: places to begin, text in parts of a record, and going on."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.client.kit import Kit
from kafkalite.control.answers import RecordsFound
from kafkalite.control.operations import searching
from kafkalite.control.problems import Problem
from kafkalite.testing import broker as test_broker
from tests.kafkalite.long_look_up import make_long
from tests.kafkalite.transactional import TOPIC, Transactional


async def filled(k: Any, count: int = 10) -> Kit:
    """A topic of two partitions: values "0" to "9" at times 0 to 9, in turn."""
    await k.create_topic("t", partitions=2)
    for number in range(count):
        await k.produce("t", f"v{number}", partition=number % 2, timestamp=number)
    return k


def values(answer: RecordsFound) -> list[str | None]:
    return [each.value for each in answer.records]


async def search(k: Any, **fields: Any) -> RecordsFound:
    answer: RecordsFound = await k.ask("records.search", topic="t", **fields)
    return answer


async def test_all_records_by_time_and_the_places_after_and_before_them(
    broker: test_broker,
) -> None:
    k = await filled(broker.asynchronous)
    answer = await search(k)
    assert values(answer) == [f"v{number}" for number in range(10)]
    assert (answer.next, answer.before) == ({0: 5, 1: 5}, {0: 0, 1: 0})
    assert (answer.searched, answer.exhausted) == (10, True)
    assert values(await search(k, partition=1)) == ["v1", "v3", "v5", "v7", "v9"]
    with pytest.raises(Problem, match="no topic 't2'"):
        await broker.asynchronous.ask("records.search", topic="t2")
    with pytest.raises(Problem, match="no partition 't-2'"):
        await search(k, partition=2)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 10])
async def test_pages_follow_one_another_without_gap_or_double(
    broker: test_broker, count: int
) -> None:
    k = await filled(broker.asynchronous)
    forward: list[str | None] = []
    answer = await search(k, count=count)
    while forward.extend(values(answer)) or not answer.exhausted:
        assert len(answer.records) <= count
        answer = await search(k, count=count, positions=answer.next)
    assert sorted(forward, key=str) == [f"v{number}" for number in range(10)]
    back: list[str | None] = []
    answer = await search(k, count=count, newest=True)
    assert answer.next == {0: 5, 1: 5}
    assert values(answer) == [f"v{number}" for number in range(10 - count, 10)]
    while back.extend(reversed(values(answer))) or not answer.exhausted:
        answer = await search(k, count=count, before=answer.before)
    assert sorted(back, key=str) == [f"v{number}" for number in range(10)]


async def test_from_an_offset_and_from_a_time(broker: test_broker) -> None:
    k = await filled(broker.asynchronous)
    assert values(await search(k, from_=3)) == ["v6", "v7", "v8", "v9"]
    assert values(await search(k, since=5)) == ["v5", "v6", "v7", "v8", "v9"]
    assert values(await search(k, since="-1h")) == []
    await k.produce("t", "now")
    answer = await search(k, since="-1h")
    assert (values(answer), answer.next) == (["now"], {0: 6, 1: 5})
    with pytest.raises(Problem, match="since is 'soon'"):
        await search(k, since="soon")


async def test_a_thread_reads_where_a_time_begins(
    broker: test_broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    k = await filled(broker.asynchronous)
    done = make_long(monkeypatch)
    assert values(await search(k, since=8)) == ["v8", "v9"]
    assert done == ["read in a thread", "looked up", "looked up"]


@pytest.mark.parametrize(
    ("within", "found"),
    [
        ([], ["in key", "in VALUE: needle", "in header"]),
        (["key"], ["in key"]),
        (["value"], ["in VALUE: needle"]),
        (["headers"], ["in header"]),
        (["key", "headers"], ["in key", "in header"]),
    ],
)
async def test_text_is_looked_for_in_parts_of_a_record(
    broker: test_broker, within: list[str], found: list[str]
) -> None:
    k = broker.asynchronous
    await k.create_topic("t")
    await k.produce("t", "in key", key="the NEEDLE")
    await k.produce("t", "in VALUE: needle")
    await k.produce("t", "in header", headers={"x": "a needle"})
    await k.produce("t", None, key=None)
    assert values(await search(k, text="Needle", within=within)) == found
    assert values(await search(k, text="Needle", within=within, newest=True)) == found


async def test_a_search_ends_after_so_many_records_and_says_where(
    broker: test_broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "_MOST_SEARCHED", 100)
    monkeypatch.setattr(searching, "_LEAST_OF_A_PARTITION", 1)
    k = broker.asynchronous
    await k.create_topic("t")
    await k.produce("t", "needle")
    await k.produce("t", "v", count=399)
    first = await search(k, text="v", count=5)
    assert (first.searched, first.next, first.exhausted) == (6, {0: 6}, False)
    answer = await search(k, text="needle", newest=True, count=5)
    asked = 1
    while not answer.exhausted:
        assert answer.searched <= 200
        answer = await search(k, text="needle", before=answer.before, count=5)
        asked += 1
    assert values(answer) == ["needle"]
    assert asked > 2


async def test_large_values_are_cut(broker: test_broker) -> None:
    k = broker.asynchronous
    await k.create_topic("t")
    await k.produce("t", "v" * 1000, key="k")
    (record,) = (await search(k, preview=10)).records
    assert (record.value, record.size_bytes) == ("v" * 10, 1001)


async def test_committed_records_alone(broker: test_broker, writer: Transactional) -> None:
    for value, commit in ((b"a", True), (b"b", False), (b"c", True)):
        await writer.write(value, commit=commit)
    await writer.produce(b"open")
    k = broker.asynchronous
    for newest in (False, True):
        answer = await k.ask("records.search", topic=TOPIC, partition=0, newest=newest)
        assert values(answer) == ["a", "b", "c", "open"]
        answer = await k.ask(
            "records.search", topic=TOPIC, partition=0, newest=newest, committed=True
        )
        assert values(answer) == ["a", "c"]
