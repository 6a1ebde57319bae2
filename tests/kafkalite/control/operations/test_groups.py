"""Verbs of groups and transactions: looked at, sought, expired, fenced and forgotten."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaException

from kafkalite.control.problems import Problem
from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode
from tests.kafkalite.control.clients import producer
from tests.kafkalite.group_requests import commit, heartbeat, join, sync, with_words
from tests.kafkalite.long_look_up import make_long
from tests.kafkalite.transactional import Transactional


def test_a_transaction_is_taken_from_its_producer(k: test_broker) -> None:
    k.create_topic("t")
    transactional = producer(k, **{"transactional.id": "billing-0"})
    transactional.init_transactions(10)
    transactional.begin_transaction()
    transactional.produce("t", b"v")
    transactional.flush(10)
    assert k.transaction("billing-0").state == "Ongoing"
    k.transaction("billing-0").fence()
    with pytest.raises(KafkaException) as caught:
        transactional.commit_transaction(10)
    assert caught.value.args[0].fatal()
    assert k.transaction("billing-0").state == "CompleteAbort"
    assert (len(k.records("t")), len(k.records("t", committed=True))) == (1, 0)


async def test_a_group_is_there_from_its_first_offset(clients: Any) -> None:
    client, topic_id = await with_words(clients)
    k = clients.broker.asynchronous
    assert await k.groups() == []
    for ask in (k.group("group").show(), k.group("group").expire(), k.group("group").rebalance()):
        with pytest.raises(Problem, match="no group 'group'"):
            await ask
    assert await commit(client, topic_id, 2) == 0
    (shown,) = await k.groups()
    assert shown == await k.group("group").show()
    assert (shown.id, shown.state, shown.members) == ("group", "Empty", [])
    assert await k.committed("group", "words") == 2
    with pytest.raises(Problem, match="no committed offset 'group of words-1'"):
        await k.committed("group", "words", 1)


async def test_a_group_is_sent_to_an_offset(broker: test_broker) -> None:
    k = broker.asynchronous
    broker.create_topic("words", partitions=2)
    await k.produce("words", "v", count=5)
    await k.lose("words", 0, 1)

    async def offsets() -> list[int]:
        return [each.offset for each in (await k.group("group").show()).offsets]

    await k.group("group").seek("words", "latest")  # the group and its topic are made by this
    assert await offsets() == [5, 0]
    await k.group("group").seek("words", "earliest")
    assert await offsets() == [1, 0]
    await k.group("group").seek("words", 3, 0)
    assert await offsets() == [3, 0]
    with pytest.raises(Problem, match="'newest' is no offset"):
        await k.group("group").seek("words", "newest")
    with pytest.raises(Problem, match="no topic 'none'"):
        await k.group("group").seek("none", 0)


async def test_a_group_with_members_keeps_its_offsets(clients: Any) -> None:
    client, _ = await with_words(clients)
    k = clients.broker.asynchronous
    joined = await join(client)
    await sync(client, joined)
    with pytest.raises(Problem, match=r"offsets of group group are not set: UNKNOWN_MEMBER_ID"):
        await k.group("group").seek("words", 0)
    with pytest.raises(Problem, match=r"group group is not deleted: NON_EMPTY_GROUP"):
        await k.group("group").delete()
    assert await heartbeat(client, joined) == 0
    with pytest.raises(Problem, match="no member 'x'"):
        await k.group("group").expire("x")
    assert await k.group("group").expire("reader") == [joined.member_id]
    assert await heartbeat(client, joined) == ErrorCode.UNKNOWN_MEMBER_ID
    assert await k.group("group").expire() == []
    await k.group("group").delete()
    assert await k.groups() == []


async def test_a_rebalance_is_begun(clients: Any) -> None:
    client, _ = await with_words(clients)
    k = clients.broker.asynchronous
    joined = await join(client)
    await sync(client, joined)
    shown = await k.group("group").rebalance()
    assert shown.state == "PreparingRebalance"
    assert await heartbeat(client, joined) == ErrorCode.REBALANCE_IN_PROGRESS
    again = await join(client, member_id=joined.member_id)
    assert again.generation_id == joined.generation_id + 1


async def test_rebalances_that_may_not_wait_for_each_other_do_not_begin(clients: Any) -> None:
    client, _ = await with_words(clients)
    joined = await join(client)
    await sync(client, joined)
    with pytest.raises(RuntimeError, match="has to wait"):
        clients.broker.group("group").rebalance(times=2)
    assert clients.broker.group("group").show().state == "Stable"


async def test_a_fenced_producer_is_told_so(broker: test_broker, writer: Transactional) -> None:
    k = broker.asynchronous
    with pytest.raises(Problem, match="no transaction 'x'"):
        await k.transaction("x").fence()
    with pytest.raises(Problem, match="the transaction of writer is not open"):
        await k.transaction(writer.id).abort()
    await writer.produce(b"v")
    assert [each.state for each in await k.transactions()] == ["Ongoing"]
    await k.transaction(writer.id).abort()
    await k.wait.transaction(writer.id, "CompleteAbort")
    assert await writer.produce(b"w") is ErrorCode.INVALID_PRODUCER_EPOCH


async def test_a_group_goes_on_from_a_time(broker: test_broker) -> None:
    k: Any = broker.asynchronous
    await k.create_topic("t", partitions=2)
    now_ms = (await k.clock.show()).now_ms
    for age_ms in (7_200_000, 3_600_000, 60_000):
        await k.produce("t", "v", timestamp=now_ms - age_ms)
    for since, offset in (("-90m", 1), (now_ms - 3_600_000, 1), ("-3h", 0), ("-1s", 3)):
        group = await k.group("g").seek("t", since=since)
        assert [each.offset for each in group.offsets] == [offset, 0]
    for wrong in ({}, {"to": 1, "since": "-1m"}):
        with pytest.raises(Problem, match="give one of `to` and `since`"):
            await k.group("g").seek("t", **wrong)
    with pytest.raises(Problem, match="since"):
        await k.group("g").seek("t", since="yesterday")


async def test_a_thread_reads_where_the_time_begins(
    broker: test_broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    k: Any = broker.asynchronous
    await k.create_topic("t")
    for timestamp in (1, 2, 3):
        await k.produce("t", "v", timestamp=timestamp)
    done = make_long(monkeypatch)
    group = await k.group("g").seek("t", since=2)
    assert [each.offset for each in group.offsets] == [1]
    assert done == ["read in a thread", "looked up"]
