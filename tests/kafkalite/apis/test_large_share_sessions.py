"""Share sessions of very many partitions: nothing holds the loop while they are served.

The watchdog of every test of the broker sees to that.
"""

from __future__ import annotations

import random
from collections import Counter
from itertools import count
from typing import Any
from uuid import UUID

import pytest
import trio

from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages import share_acknowledge, share_fetch
from kafkalite.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafkalite.wire.messages.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeStateData,
    PartitionData,
)
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from tests.kafkalite.apis.share_member import ACCEPT, RELEASE
from tests.kafkalite.apis.share_state import find_coordinator
from tests.kafkalite.conftest import Clients, batch

COUNT = 1_000
UNKNOWN = 60_000

pytestmark = pytest.mark.slow


@pytest.fixture
async def large(broker: test_broker, client: Any) -> UUID:
    """The id of a topic of COUNT partitions that a share group may read."""
    broker.create_topic("t", COUNT)
    topic_id = broker.topic_id("t")
    await find_coordinator(client, topic_id)
    partitions = [
        PartitionData(partition=index, state_epoch=1, start_offset=0) for index in range(COUNT)
    ]
    topics = [InitializeStateData(topic_id=topic_id, partitions=partitions)]
    answer = await client.ask(InitializeShareGroupStateRequest(group_id="queue", topics=topics))
    assert {each.error_code for each in answer.results[0].partitions} == {0}
    return topic_id


async def produce(client: Any) -> None:
    """A record to each partition."""
    records = batch(b"v")
    data = [PartitionProduceData(index=index, records=records) for index in range(COUNT)]
    topics = [TopicProduceData(name="t", partition_data=data)]
    answer = await client.ask(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=topics), 12)
    assert {each.error_code for each in answer.responses[0].partition_responses} == {0}


def said_of(messages: Any, partition: Any, kind: int | None, count: int) -> list[Any]:
    """Partitions, and what is said of the first record of each."""
    batches = [] if kind is None else [messages.AcknowledgementBatch(0, 0, [kind])]
    return [partition(index, batches) for index in range(count)]


async def fetch(
    client: Any,
    topic_id: UUID,
    epoch: int,
    *,
    kind: int | None = None,
    partitions: int = COUNT,
    member_id: str = "member",
    is_answered: bool = True,
    **fields: Any,
) -> Any:
    """Fetch this many partitions, acknowledging the first record of each."""
    asked = said_of(share_fetch, share_fetch.FetchPartition, kind, partitions)
    values = {
        "group_id": "queue",
        "member_id": member_id,
        "share_session_epoch": epoch,
        "max_wait_ms": 0,
        "min_bytes": 1,
        "max_bytes": 1 << 26,
        "max_records": COUNT,
        "batch_size": COUNT,
        "topics": [share_fetch.FetchTopic(topic_id, asked)] if partitions else [],
    } | fields
    answer = await client.ask(share_fetch.ShareFetchRequest(**values))
    assert not (answer.error_code and is_answered)
    return answer


async def say(
    client: Any, topic_id: UUID, epoch: int, kind: int, partitions: int = COUNT
) -> set[int]:
    """Acknowledge the first record of each partition; the error codes."""
    asked = said_of(share_acknowledge, share_acknowledge.AcknowledgePartition, kind, partitions)
    answer = await client.ask(
        share_acknowledge.ShareAcknowledgeRequest(
            group_id="queue",
            member_id="member",
            share_session_epoch=epoch,
            topics=[share_acknowledge.AcknowledgeTopic(topic_id, asked)],
        )
    )
    assert answer.error_code == 0
    assert sum(len(topic.partitions) for topic in answer.responses) == partitions
    return {each.error_code for topic in answer.responses for each in topic.partitions}


def acquired(answer: Any) -> int:
    """The number of partitions that gave a record."""
    partitions = [each for topic in answer.responses for each in topic.partitions]
    return sum(bool(each.acquired_records) for each in partitions)


async def test_fetched_acknowledged_and_released(client: Any, large: UUID) -> None:
    await fetch(client, large, 0)
    await produce(client)
    assert acquired(await fetch(client, large, 1, partitions=0)) == COUNT
    assert await say(client, large, 2, RELEASE) == {0}
    assert acquired(await fetch(client, large, 3)) == COUNT
    await fetch(client, large, -1, partitions=0)
    assert acquired(await fetch(client, large, 0)) == COUNT
    assert await say(client, large, -1, RELEASE, partitions=100) == {0}
    assert acquired(await fetch(client, large, 0)) == COUNT
    answer = await fetch(client, large, 1, kind=ACCEPT)
    assert {each.acknowledge_error_code for each in answer.responses[0].partitions} == {0}
    assert len(answer.responses[0].partitions) == COUNT
    assert acquired(await fetch(client, large, 2, partitions=0)) == 0


async def fetch_until_all_are_acquired(client: Any, topic_id: UUID, member_id: str) -> None:
    found = 0
    for epoch in count(1):
        answer = await fetch(
            client, topic_id, epoch, partitions=0, member_id=member_id, max_wait_ms=60_000
        )
        found += acquired(answer)
        if found == COUNT:
            return


async def test_it_waits_for_records_and_for_a_lost_connection(
    client: Any, clients: Clients, large: UUID
) -> None:
    mortal = await clients.connect()
    await fetch(mortal, large, 0)
    with trio.fail_after(120):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(fetch_until_all_are_acquired, mortal, large, "member")
            await produce(client)
        await fetch(client, large, 0, member_id="heir")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(fetch_until_all_are_acquired, client, large, "heir")
            await trio.aclose_forcefully(mortal.stream)


async def test_partitions_that_are_not_there(client: Any, large: UUID) -> None:
    answer = await fetch(client, large, 0, partitions=UNKNOWN)
    assert sum(bool(each.error_code) for each in answer.responses[0].partitions) == UNKNOWN - COUNT
    codes = await say(client, large, 1, ACCEPT, UNKNOWN)
    assert len(codes) == 2
    answer = await fetch(client, UUID(int=9), 0, partitions=UNKNOWN, is_answered=False)
    assert answer.error_code == ErrorCode.UNKNOWN_SERVER_ERROR  # as from Apache Kafka 4.3.1


async def test_members_that_fetch_at_once_share_the_records(
    client: Any, clients: Clients, large: UUID, broker: test_broker
) -> None:
    await produce(client)
    given: Counter[int] = Counter()

    async def fetch_some(member_id: str) -> None:
        own = await clients.connect()
        for epoch in range(8):
            answer = await fetch(
                own,
                large,
                epoch,
                partitions=0 if epoch else COUNT,
                member_id=member_id,
                max_records=COUNT // 9,
            )
            given.update(
                each.partition_index
                for topic in answer.responses
                for each in topic.partitions
                if each.acquired_records
            )

    async with trio.open_nursery() as nursery:
        for member_id in ("a", "b", "c"):
            nursery.start_soon(fetch_some, member_id)
    assert given == Counter(range(COUNT))


async def test_requests_that_change_a_session_at_once(
    client: Any, clients: Clients, large: UUID, broker: test_broker
) -> None:
    """One member asks by several connections, which none does: it is told that the epoch is
    wrong, and others go on."""
    await produce(client)
    codes: Counter[int] = Counter()
    chance = random.Random(7)

    async def ask(own: Any) -> None:
        for _ in range(12):
            epoch = chance.choice((0, 0, 1, 1, 2, -1))
            kind = RELEASE if epoch > 0 and chance.random() < 0.5 else None
            partitions = COUNT if epoch == 0 or kind else 0
            forgotten = [share_fetch.ForgottenTopic(large, [*range(0, COUNT, 3)])]
            fields = {"forgotten_topics_data": forgotten} if epoch == 1 else {}
            answer = await fetch(
                own, large, epoch, kind=kind, partitions=partitions, is_answered=False, **fields
            )
            codes[answer.error_code] += 1

    async with trio.open_nursery() as nursery:
        members = [await clients.connect() for _ in range(3)]
        for own in members:
            nursery.start_soon(ask, own)
    assert codes[0]
    assert set(codes) <= {
        0,
        ErrorCode.INVALID_SHARE_SESSION_EPOCH,
        ErrorCode.SHARE_SESSION_NOT_FOUND,
    }
    for own in members:
        await trio.aclose_forcefully(own.stream)
    await fetch(client, large, 0, member_id="heir")


async def test_a_topic_that_is_deleted_meanwhile(
    client: Any, clients: Clients, large: UUID, broker: test_broker
) -> None:
    await produce(client)
    other = await clients.connect()
    await fetch(client, large, 0, max_records=1)
    codes: list[int] = []

    async def fetch_on() -> None:
        for epoch in count(1):
            answer = await fetch(client, large, epoch, partitions=0, is_answered=False)
            codes.append(answer.error_code)
            if answer.error_code:
                return

    async with trio.open_nursery() as nursery:
        nursery.start_soon(fetch_on)
        answer = await other.ask(
            DeleteTopicsRequest(topics=[DeleteTopicState(topic_id=large)], timeout_ms=10_000)
        )
        assert answer.responses[0].error_code == 0
    assert codes[-1] == ErrorCode.UNKNOWN_SERVER_ERROR  # as from Apache Kafka 4.3.1
