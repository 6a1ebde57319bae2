"""A broker of the simulation that coordinates the share states of the partitions that it leads."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from uuid import UUID

import trio

from kafkalite.apis import Api, Handler
from kafkalite.coordinators.share_coordinator.coordinator import (
    ShareCoordinator,
    ShareCoordinatorConfig,
)
from kafkalite.coordinators.share_coordinator.state_log import ShareStateLog
from kafkalite.coordinators.share_state_requests import INITIALIZE, SUMMARIZE, WRITE, Operation
from kafkalite.requests.topic_names import SHARE_STATE_TOPIC
from kafkalite.server.linger_gate import linger_gate
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages import (
    initialize_share_group_state,
    read_share_group_state_summary,
    write_share_group_state,
)
from kafkalite.wire.messages.stored.partition_record import PartitionRecord
from kafkalite.wire.schema import message_of
from tests.kafkalite.coordinators.asked_broker import GATE, AskedBroker, topic_with

LINGER_SECONDS = 0.1
STATES_ID, READ_ID = UUID(int=4), UUID(int=5)
# A snapshot after so many updates.
UPDATES = 3


def now_ms() -> int:
    return 1_700_000_000_000


class ShareCoordinatingBroker(AskedBroker):
    """Its partitions are those of `__share_group_state`. Each group reads one partition."""

    linger_seconds = 0.0

    def named(self, index: int) -> tuple[str, int]:
        return SHARE_STATE_TOPIC, index

    def begin(self) -> None:
        topics: Any = SimpleNamespace(get=lambda name: topic_with(name, self.partitions, STATES_ID))
        self.coordinator = ShareCoordinator(
            ShareCoordinatorConfig(UPDATES),
            ShareStateLog(topics, now_ms, linger_seconds=self.linger_seconds),
            partition_count=lambda topic_id: 1,
            now_ms=now_ms,
            load=self.load,
        )
        linger = self.coordinator.log.linger
        share = SimpleNamespace(
            coordinator=self.coordinator, linger=linger, linger_seconds=self.linger_seconds
        )
        self.services = SimpleNamespace(topics=topics, share=share)
        super().begin()

    async def work(self) -> None:
        self.coordinator.leaders_changed()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.load_for_ever)
            if self.coordinator.log.linger is not None:
                nursery.start_soon(self.coordinator.log.linger.run)

    def handler(self, api: Api) -> Handler:
        return GATE(api, linger_gate(self.services.share)(api, api.load()))

    def change(self, record: PartitionRecord) -> None:
        super().change(record)
        self.coordinator.leaders_changed()

    # -- leaders of share partitions

    async def initialize(self, group_id: str) -> None:
        """Raises KafkaError."""
        part = initialize_share_group_state.PartitionData(
            partition=0, state_epoch=0, start_offset=0
        )
        await self._ask(INITIALIZE, group_id, part)

    async def write(self, group_id: str, start_offset: int) -> None:
        """Raises KafkaError."""
        part = write_share_group_state.PartitionData(
            partition=0, state_epoch=0, leader_epoch=0, start_offset=start_offset
        )
        await self._ask(WRITE, group_id, part)

    async def read(self, group_id: str) -> int:
        """The start offset; -1 for none. Raises KafkaError."""
        part = read_share_group_state_summary.PartitionData(partition=0, leader_epoch=-1)
        result = await self._ask(SUMMARIZE, group_id, part)
        offset: int = result.start_offset
        return offset

    async def _ask(self, operation: Operation, group_id: str, part: object) -> Any:
        message = message_of(operation.request)
        topic = operation.topic(topic_id=READ_ID, partitions=[part])
        request = operation.request(group_id=group_id, topics=[topic])
        answer = await self.ask(ApiKey(message.key), message.max_version, request)
        result = answer.results[0].partitions[0]
        if result.error_code:
            raise KafkaError(ErrorCode(result.error_code))
        return result


class LingeringBroker(ShareCoordinatingBroker):
    """Updates wait for others."""

    linger_seconds = LINGER_SECONDS
