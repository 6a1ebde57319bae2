"""A broker of the simulation that coordinates the groups of the partitions that it leads."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import trio

from kafkalite.apis import APIS
from kafkalite.clock import SystemClock
from kafkalite.cluster.image import PartitionState
from kafkalite.cluster.internal_topics import OFFSETS_TOPIC
from kafkalite.coordinators.coordinator_log import ConsumerOffsetsLog
from kafkalite.coordinators.group_coordinator_adapter import TopicNames
from kafkalite.group_coordinator.config import GroupConfig
from kafkalite.group_coordinator.coordinator import GroupCoordinator
from kafkalite.group_coordinator.shard import Shard
from kafkalite.replica.replicated_partition import ReplicatedPartition
from kafkalite.requests.purgatory import WakeReason, Watchers, wait_until
from kafkalite.requests.suspension import has_to_wait
from kafkalite.server.replication_gate import replication_gate
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.fields import NO_UUID
from kafkalite.wire.messages.stored.partition_record import PartitionRecord
from tests.kafkalite.replication.model_controller import TOPIC_ID
from tests.kafkalite.replication.virtual_broker import VirtualBroker

READ = "read"
PATIENCE_SECONDS = 2.0
# Between two records of a partition that is loaded.
LOAD_SECONDS = 0.002
COMMIT_VERSION, FETCH_VERSION = 9, 8


class Connection:
    """A connection of a request that runs in a task."""

    async def move_to_task(self) -> None:
        pass

    async def wait_until(
        self,
        done: Callable[[], bool],
        watched: Iterable[Watchers],
        deadline: float,
        *,
        answer_early: bool,
    ) -> WakeReason:
        return await wait_until(done, watched, deadline)


class CoordinatingBroker(VirtualBroker):
    """Its partitions are those of `__consumer_offsets`. What is committed are offsets of `read`."""

    def begin(self) -> None:
        self.partitions: list[ReplicatedPartition] = []
        self.to_load: list[Generator[None]] = []
        self.must_load = trio.Event()
        read = SimpleNamespace(name=READ, topic_id=UUID(int=5), partitions=[None])
        offsets = SimpleNamespace(partitions=self.partitions)
        topics: Any = SimpleNamespace(
            get={READ: read, OFFSETS_TOPIC: offsets}.get,
            by_id=lambda topic_id: None,
            all=lambda: (),
        )
        clock = SystemClock(now_ms=lambda: 1_700_000_000_000)
        self.groups = GroupCoordinator(
            GroupConfig(),
            ConsumerOffsetsLog(topics, clock.now_ms),
            TopicNames(topics),
            clock=clock,
            load=self.load,
        )
        self.services = SimpleNamespace(topics=topics, group_coordinator=self.groups)
        super().begin()

    async def work(self) -> None:
        async with trio.open_nursery() as nursery:
            await nursery.start(self.groups.run)
            while True:
                await self.must_load.wait()
                self.must_load = trio.Event()
                while self.to_load:
                    for _ in self.to_load.pop(0):
                        await trio.sleep(LOAD_SECONDS)

    def load(self, steps: Generator[None]) -> None:
        self.to_load.append(steps)
        self.must_load.set()

    def change(self, record: PartitionRecord) -> None:
        super().change(record)
        index = record.partition_id
        replica = self.replicas.get(TOPIC_ID, index)
        assert replica is not None
        state = PartitionState(
            record.replicas,
            record.isr,
            record.leader,
            record.leader_epoch,
            record.partition_epoch,
        )
        if index == len(self.partitions):
            partition = ReplicatedPartition(OFFSETS_TOPIC, TOPIC_ID, index, replica.log, state)
            partition.hold(replica)
            self.partitions.append(partition)
        self.partitions[index].take(state)
        self.groups.leaders_changed()

    def replica_changed(self, index: int) -> None:
        super().replica_changed(index)
        if index < len(self.partitions):
            self.partitions[index].changed()

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

    async def ask(self, key: ApiKey, version: int, request: object) -> Any:
        """An answer, unless the broker has gone meanwhile. Raises KafkaError."""
        life = self.scope
        if not self.is_alive or not self.has_begun:
            raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE)
        api = APIS[key]
        handle = replication_gate(PATIENCE_SECONDS)(api, api.load())
        context = SimpleNamespace(
            node_id=self.node_id,
            api_version=version,
            request_bytes=100,
            client_id="c",
            client_host="127.0.0.1",
            connection=Connection(),
        )
        answer = handle(self.services, context, request)
        if has_to_wait(answer):
            answer = await answer
        if self.scope is not life or not self.is_alive:
            raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE)
        return answer

    def committed(self, shard: Shard, group_id: str) -> int:
        """The offset in a coordinator's memory; -1 for none."""
        found = shard.offsets.of_group(group_id).get(READ, {}).get(0)
        return -1 if found is None else found.offset
