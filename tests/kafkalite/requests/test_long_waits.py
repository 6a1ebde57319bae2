"""A Fetch of very many partitions waits as one of few does, and does not hold the loop."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from kafkalite.replica.partition import Partition
from kafkalite.requests.long_waits import Changes
from kafkalite.requests.purgatory import Watchers, wait_until
from kafkalite.requests.slices import AT_ONCE
from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode
from tests.kafkalite.fetching import ALIVE, answers, batch, fetch, produce, values
from tests.kafkalite.until import until

VERSION = 12
COUNT = AT_ONCE + 1


@pytest.fixture
def topic(broker: test_broker) -> str:
    broker.create_topic("words", partitions=COUNT)
    return "words"


def wanting(**settings: int) -> Any:
    return fetch(dict.fromkeys(range(COUNT), 0), **settings)


async def test_an_append_ends_the_wait(clients, topic: str, autojump_clock: MockClock) -> None:
    consumer, producer = await clients.connect(), await clients.connect()
    began = trio.current_time()
    await consumer.send(wanting(max_wait_ms=500_000), VERSION)
    await wait_all_tasks_blocked(0.1)
    await produce(producer, batch(b"new"), COUNT - 1)
    response = answers(await consumer.answer())
    assert values(response[COUNT - 1].records) == [b"new"]
    assert len(response) == COUNT
    assert trio.current_time() - began < 400


async def test_min_bytes_is_waited_for(clients, topic: str, autojump_clock: MockClock) -> None:
    consumer, producer = await clients.connect(), await clients.connect()
    await consumer.send(wanting(max_wait_ms=100_000, min_bytes=500), VERSION)
    began = trio.current_time()
    for index, size in ((0, 100), (5, 100), (7, 300)):
        await trio.sleep(1)
        await produce(producer, batch(bytes(size)), index)
    response = answers(await consumer.answer())
    assert trio.current_time() - began == pytest.approx(3, abs=0.1)
    assert [len(values(response[index].records)) for index in (0, 5, 7)] == [1, 1, 1]


async def test_less_than_min_bytes_comes_after_max_wait(
    clients, topic: str, autojump_clock: MockClock
) -> None:
    consumer, producer = await clients.connect(), await clients.connect()
    await consumer.send(wanting(max_wait_ms=5000, min_bytes=100_000), VERSION)
    began = trio.current_time()
    await trio.sleep(1)
    await produce(producer, batch(b"little"), 3)
    response = answers(await consumer.answer())
    assert trio.current_time() - began == pytest.approx(5, abs=0.1)
    assert values(response[3].records) == [b"little"]


async def test_another_request_ends_the_wait(client, topic: str, autojump_clock: MockClock) -> None:
    await produce(client, batch(b"little"))
    began = trio.current_time()
    await client.send(wanting(max_wait_ms=60_000, min_bytes=100_000), VERSION)
    await wait_all_tasks_blocked(0.1)
    await client.send(ALIVE)
    assert len(answers(await client.answer())[0].records) == 0
    assert (await client.answer()).api_keys
    assert trio.current_time() - began < 30


async def test_deleting_the_topic_ends_the_wait(
    client, broker: test_broker, topic: str, autojump_clock: MockClock
) -> None:
    began = trio.current_time()
    await client.send(wanting(max_wait_ms=60_000), VERSION)
    await wait_all_tasks_blocked(0.1)
    broker.delete_topic("words")
    response = answers(await client.answer())
    assert {each.error_code for each in response.values()} == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert trio.current_time() - began < 30


async def test_a_wait_leaves_nothing_behind(
    clients, broker: test_broker, topic: str, autojump_clock: MockClock
) -> None:
    client = await clients.connect()
    await client.ask(wanting(max_wait_ms=100), VERSION)
    await client.send(wanting(max_wait_ms=60_000), VERSION)
    await wait_all_tasks_blocked(0.1)
    found = broker._running.services.topics.get("words")
    assert found is not None
    assert {len(each.watchers) for each in found.partitions} == {1}
    await client.stream.aclose()
    await until(lambda: not any(len(each.watchers) for each in found.partitions))


@pytest.mark.pure
async def test_a_change_looks_at_nothing_at_once(
    clients, broker: test_broker, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One Produce may change all partitions in one turn: nothing is looked through for each."""
    consumer, producer = await clients.connect(), await clients.connect()
    for index in range(COUNT):
        await produce(producer, batch(b"v"), index)
    await consumer.send(wanting(max_wait_ms=600_000, min_bytes=1 << 20), VERSION)
    found = broker._running.services.topics.get(topic)
    assert found is not None
    await until(lambda: all(len(each.watchers) for each in found.partitions))
    looked_at: list[Partition] = []
    read_limit = Partition.read_limit

    def noted(partition: Partition, **named: bool) -> int:
        looked_at.append(partition)
        return read_limit(partition, **named)

    monkeypatch.setattr(Partition, "read_limit", noted)
    for each in found.partitions:
        each.watchers.check_and_complete()
    assert looked_at == []
    await until(lambda: len(looked_at) >= COUNT)
    await consumer.send(ALIVE)
    assert len(answers(await consumer.answer())) == COUNT


async def test_a_change_while_it_is_looked_at_is_not_lost(autojump_clock: MockClock) -> None:
    changes, watched = Changes(), Watchers()
    watched.add(changes)
    watched.check_and_complete()
    assert changes.have_come
    with trio.fail_after(60):
        await wait_until(lambda: changes.have_come, [changes.watchers], inf)
        changes.have_come = False
        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait_until, lambda: changes.have_come, [changes.watchers], inf)
            await wait_all_tasks_blocked()
            watched.check_and_complete()
