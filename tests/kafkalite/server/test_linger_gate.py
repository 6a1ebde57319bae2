"""With share.coordinator.append.linger.ms, answers wait until what they rest on is written."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio

from kafkalite.coordinators.coordinator_log import batches_of
from kafkalite.replica.partition import Partition
from kafkalite.testing import broker as test_broker
from kafkalite.wire.compression import Compression
from kafkalite.wire.messages import share_acknowledge
from kafkalite.wire.messages.share_acknowledge import ShareAcknowledgeRequest
from kafkalite.wire.record_batch import iterate_records
from tests.kafkalite.apis import share_state
from tests.kafkalite.apis.share_member import ACCEPT, Member, initialize, produce
from tests.kafkalite.few_partitions import FEW_PARTITIONS

PATIENCE_SECONDS = 20.0
# Long enough for an answer that does not wait.
QUICK_SECONDS = 0.3
CONFIGS = {
    **FEW_PARTITIONS,
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.compression.codec": "4",
    # Longer than a test: what may not wait ends it.
    "share.coordinator.append.linger.ms": "600000",
}


class Queue:
    """A topic with two records; two members have one each, and have accepted it unanswered."""

    def __init__(self, running: test_broker, connect: Any) -> None:
        self.running, self._connect = running, connect

    @property
    def states(self) -> Partition:
        topic = self.running._running.services.topics.get("__share_group_state")
        assert topic is not None
        return topic.partitions[0]

    def record_counts(self) -> list[int]:
        """The number of records in each batch of states."""
        return [len(list(iterate_records(batch))) for batch in batches_of(self.states.log)]

    async def connect(self) -> Any:
        return await self._connect(self.running)

    async def open(self) -> None:
        self.running.create_topic("t", 2)
        self.topic_id = self.running.topic_id("t")
        self.client = await self.connect()
        await initialize(self.client, "queue", self.topic_id)
        await produce(self.client, b"a")
        await produce(self.client, b"b")
        self.members = [
            Member(await self.connect(), self.topic_id, member_id=name) for name in ("m", "n")
        ]
        for offset, member in enumerate(self.members):
            assert await member.fetch(max_records=1, batch_size=1) == [b"ab"[offset : offset + 1]]
        for offset, member in enumerate(self.members):
            batch = share_acknowledge.AcknowledgementBatch(offset, offset, [ACCEPT])
            partition = share_acknowledge.AcknowledgePartition(0, [batch])
            topic = share_acknowledge.AcknowledgeTopic(self.topic_id, [partition])
            request = ShareAcknowledgeRequest("queue", member.member_id, 1, topics=[topic])
            await member.client.send(request)
        linger = self.running._running.services.share.linger
        assert linger is not None
        while linger.asked_count < 2:  # noqa: ASYNC110 - the broker's loop is waited for
            await trio.sleep(0.01)

    async def is_silent(self, client: Any) -> bool:
        with trio.move_on_after(QUICK_SECONDS) as waited:
            await trio.lowlevel.wait_readable(client.stream.socket)
        return waited.cancelled_caught


@asynccontextmanager
async def queue(connect: Any) -> AsyncIterator[Queue]:
    async with test_broker(CONFIGS) as running:
        with trio.fail_after(PATIENCE_SECONDS):
            made = Queue(running, connect)
            await made.open()
            yield made


async def test_answers_come_when_the_batch_is_written(connect: Any) -> None:
    async with queue(connect) as made:
        before = made.record_counts()
        reader = await made.connect()
        answers: list[Any] = []

        async def read() -> None:
            answers.append(await share_state.summary(reader, made.topic_id))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(read)
            for member in made.members:
                assert await made.is_silent(member.client)
            assert answers == []
            assert made.record_counts() == before
            await share_state.initialize(made.client, made.topic_id, partition=1)
        assert made.record_counts() == [*before, 3]
        for member in made.members:
            answer = await member.client.answer()
            assert answer.responses[0].partitions[0].error_code == 0
        assert answers[0].start_offset + answers[0].delivery_complete_count == 2
        assert {batch.compression for batch in batches_of(made.states.log)} == {Compression.ZSTD}


async def test_what_is_lost_is_not_answered(connect: Any) -> None:
    """And is not done: the records are delivered again."""
    async with queue(connect) as made:
        made.states.in_sync_replicas = []
        failed = await share_state.initialize(made.client, made.topic_id, partition=1)
        assert failed.error_code
        made.states.in_sync_replicas = [1]
        for member in made.members:
            assert await member.client.is_closed()
        again = Member(await made.connect(), made.topic_id, member_id="o")
        assert await again.fetch() == [b"a", b"b"]
