"""A topic whose records have known timestamps, and a broker with ACLs and users."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import UUID

import pytest

from kafkalite.testing import broker as test_broker
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalite.wire.record_batch import Record, build_batch
from tests.kafkalite.apis import share_member
from tests.kafkalite.apis.share_state import find_coordinator
from tests.kafkalite.security.secured import Users, users_of_acls

START = 1_600_000_000_000


@pytest.fixture
async def timed_topic(broker: test_broker, client) -> str:
    """Partition 0 has offsets 0-5 with timestamps 0, 10, 20 s and then 50, 30, 40 s; 1 is empty."""
    broker.create_topic("words", partitions=2)
    for seconds in ((0, 10, 20), (50, 30, 40)):
        records = build_batch([Record(timestamp=START + 1000 * s, value=b"v") for s in seconds])
        data = [PartitionProduceData(index=0, records=records)]
        await client.ask(
            ProduceRequest(
                acks=1,
                timeout_ms=1,
                topic_data=[TopicProduceData(name="words", partition_data=data)],
            ),
            12,
        )
    return "words"


@pytest.fixture
async def users() -> AsyncIterator[Users]:
    async with users_of_acls() as users:
        yield users


@pytest.fixture
async def stored(broker: test_broker, client) -> UUID:
    """The id of a topic with two partitions; the topic of share states is there."""
    broker.create_topic("t", 2)
    topic_id = broker.topic_id("t")
    await find_coordinator(client, topic_id)
    return topic_id


@pytest.fixture
async def queue(broker: test_broker, client) -> UUID:
    """The id of a topic that a share group may read."""
    broker.create_topic("t", 1)
    topic_id = broker.topic_id("t")
    await share_member.initialize(client, "queue", topic_id)
    return topic_id


@pytest.fixture
async def member(client, queue: UUID) -> share_member.Member:
    return share_member.Member(client, queue)
