"""A broker of the simulation that coordinates the groups of the partitions that it leads."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from uuid import UUID

import trio

from kafkalite.clock import SystemClock
from kafkalite.cluster.image import MetadataImage
from kafkalite.coordinators.coordinator_log import ConsumerOffsetsLog
from kafkalite.coordinators.group_coordinator_adapter import TopicNames
from kafkalite.group_coordinator.config import GroupConfig
from kafkalite.group_coordinator.coordinator import GroupCoordinator
from kafkalite.group_coordinator.shard import Shard
from kafkalite.requests.topic_names import OFFSETS_TOPIC
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.fields import NO_UUID
from kafkalite.wire.messages.stored.partition_record import PartitionRecord
from tests.kafkalite.coordinators.asked_broker import AskedBroker, topic_with

READ = "read"
COMMIT_VERSION, FETCH_VERSION = 9, 8


class CoordinatingBroker(AskedBroker):
    """Its partitions are those of `__consumer_offsets`. What is committed are offsets of `read`."""

    def named(self, index: int) -> tuple[str, int]:
        return OFFSETS_TOPIC, index

    def begin(self) -> None:
        read = SimpleNamespace(name=READ, topic_id=UUID(int=5), partitions=[None])

        def get(name: str) -> Any:
            if name == OFFSETS_TOPIC:
                return topic_with(OFFSETS_TOPIC, self.partitions)
            return read if name == READ else None

        topics: Any = SimpleNamespace(
            by_name=SimpleNamespace(get=get),
            get=get,
            name_of=lambda topic_id: None,
            all=lambda: (),
        )
        cluster: Any = SimpleNamespace(image=MetadataImage())
        clock = SystemClock(now_ms=lambda: 1_700_000_000_000)
        self.groups = GroupCoordinator(
            GroupConfig(),
            ConsumerOffsetsLog(topics, clock.now_ms),
            TopicNames(topics, cluster),
            clock=clock,
            load=self.load,
        )
        self.services = SimpleNamespace(topics=topics, group_coordinator=self.groups)
        super().begin()

    async def work(self) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.load_for_ever)
            await nursery.start(self.groups.run)

    def change(self, record: PartitionRecord) -> None:
        super().change(record)
        self.groups.leaders_changed()

    # -- clients

    async def commit(self, group_id: str, offset: int) -> None:
        """Raises KafkaError."""
        topics = [(READ, NO_UUID, [(0, offset, -1, "")])]
        request = (group_id, -1, "", None, -1, topics)
        _, ((_, _, ((_, code),)),) = await self.ask(ApiKey.OFFSET_COMMIT, COMMIT_VERSION, request)
        if code:
            raise KafkaError(code)

    async def fetch(self, group_id: str) -> int:
        """The committed offset; -1 for none. Raises KafkaError."""
        group = (group_id, None, -1, [(READ, NO_UUID, [0])])
        answer = await self.ask(ApiKey.OFFSET_FETCH, FETCH_VERSION, ("", (), [group], False))
        ((_, topics, code),) = answer[3]
        if code:
            raise KafkaError(code)
        ((_, _, ((_, offset, *_),)),) = topics
        return offset

    def committed(self, shard: Shard, group_id: str) -> int:
        """The offset in a coordinator's memory; -1 for none."""
        found = shard.offsets.of_group(group_id).get(READ, {}).get(0)
        return -1 if found is None else found.offset
