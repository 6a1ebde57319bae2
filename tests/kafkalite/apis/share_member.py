"""A member of a share group over the wire, what it reads, and how its group is configured."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from kafkalite.wire.messages import share_acknowledge, share_fetch
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kafkalite.wire.messages.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeStateData,
    PartitionData,
)
from kafkalite.wire.messages.produce import (
    PartitionProduceData as ProduceData,
)
from kafkalite.wire.messages.produce import (
    ProduceRequest,
    TopicProduceData,
)
from kafkalite.wire.messages.share_acknowledge import ShareAcknowledgeRequest
from kafkalite.wire.messages.share_fetch import ShareFetchRequest
from kafkalite.wire.record_batch import iterate_batches, iterate_records
from tests.kafkalite.conftest import batch as batch_of

ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4
GROUP_RESOURCE = 32


async def initialize(client: Any, group_id: str, topic_id: UUID, start_offset: int = 0) -> None:
    """Give the first partition of a topic a share state, as a group coordinator does."""
    await client.ask(
        FindCoordinatorRequest(key_type=2, coordinator_keys=[f"{group_id}:{'A' * 22}:0"])
    )
    request = InitializeShareGroupStateRequest(
        group_id=group_id,
        topics=[
            InitializeStateData(
                topic_id=topic_id,
                partitions=[PartitionData(partition=0, state_epoch=1, start_offset=start_offset)],
            )
        ],
    )
    answer = await client.ask(request)
    assert answer.results[0].partitions[0].error_code == 0, answer


@dataclass
class Member:
    """One member, one partition, one connection."""

    client: Any
    topic_id: UUID
    group_id: str = "queue"
    member_id: str = "member"
    epoch: int = 0
    last: Any = None
    acquired: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])

    async def fetch(
        self, *said: tuple[int, int, int], version: int = 2, wait_ms: int = 0, **fields: Any
    ) -> list[bytes]:
        """Fetch, acknowledging (first, last, type); the values that are ours now."""
        epoch = fields.pop("epoch", self.epoch)
        topics = [] if epoch < 0 and not said else [self._topic(share_fetch, said)]
        values = {
            "group_id": self.group_id,
            "member_id": self.member_id,
            "share_session_epoch": epoch,
            "max_wait_ms": wait_ms,
            "min_bytes": 1,
            "max_bytes": 1 << 20,
            "max_records": 500,
            "batch_size": 500,
            "topics": topics,
        } | fields
        self.last = await self.client.ask(ShareFetchRequest(**values), version)
        self.acquired = []
        if self.last.error_code:
            return []
        self.epoch = epoch + 1
        found: list[bytes] = []
        for topic in self.last.responses:
            for partition in topic.partitions:
                self.acquired += [
                    (each.first_offset, each.last_offset, each.delivery_count)
                    for each in partition.acquired_records
                ]
                for batch in iterate_batches(bytes(partition.records or b"")):
                    found += [
                        record.value or b""
                        for record in iterate_records(batch)
                        if any(first <= record.offset <= last for first, last, _ in self.acquired)
                    ]
        return found

    def _topic(self, messages: Any, said: tuple[tuple[int, int, int], ...]) -> Any:
        batches = [
            messages.AcknowledgementBatch(
                first_offset=first, last_offset=last, acknowledge_types=[kind]
            )
            for first, last, kind in said
        ]
        if messages is share_fetch:
            partition = messages.FetchPartition(partition_index=0, acknowledgement_batches=batches)
            return messages.FetchTopic(topic_id=self.topic_id, partitions=[partition])
        partition = messages.AcknowledgePartition(
            partition_index=0, acknowledgement_batches=batches
        )
        return messages.AcknowledgeTopic(topic_id=self.topic_id, partitions=[partition])

    async def say(self, *said: tuple[int, int, int], version: int = 2, **fields: Any) -> int:
        """Acknowledge (first, last, type) apart; the partition's code, or the whole answer's."""
        epoch = fields.pop("epoch", self.epoch)
        values = {
            "group_id": self.group_id,
            "member_id": self.member_id,
            "share_session_epoch": epoch,
            "topics": [self._topic(share_acknowledge, said)] if said else [],
        } | fields
        self.last = await self.client.ask(ShareAcknowledgeRequest(**values), version)
        if self.last.error_code:
            return int(self.last.error_code)
        self.epoch = epoch + 1
        if not self.last.responses:
            return 0
        return int(self.last.responses[0].partitions[0].error_code)

    @property
    def codes(self) -> tuple[int, int]:
        """Error codes of the last fetch, and of the acknowledgements in it."""
        partition = self.last.responses[0].partitions[0]
        return partition.error_code, partition.acknowledge_error_code


async def produce(client: Any, *values: bytes, topic: str = "t") -> None:
    request = ProduceRequest(
        acks=-1,
        timeout_ms=1000,
        topic_data=[
            TopicProduceData(
                name=topic,
                partition_data=[ProduceData(index=0, records=batch_of(*values))],
            )
        ],
    )
    answer = await client.ask(request, 12)
    assert answer.responses[0].partition_responses[0].error_code == 0


async def configure(client: Any, **configs: str) -> None:
    request = IncrementalAlterConfigsRequest(
        resources=[
            AlterConfigsResource(
                resource_type=GROUP_RESOURCE,
                resource_name="queue",
                configs=[
                    AlterableConfig(name=name, config_operation=0, value=value)
                    for name, value in configs.items()
                ],
            )
        ]
    )
    answer = await client.ask(request)
    assert answer.responses[0].error_code == 0, answer.responses[0].error_message
