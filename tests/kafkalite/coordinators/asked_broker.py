"""A broker of the simulation that answers requests of clients, and loads its coordinators."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import trio

from kafkalite.apis import APIS, Api, Handler
from kafkalite.cluster.image import PartitionState
from kafkalite.replica.replicated_partition import ReplicatedPartition
from kafkalite.replica.topic import Topic
from kafkalite.requests.context import CloseConnection
from kafkalite.requests.purgatory import WakeReason, Watchers, wait_until
from kafkalite.requests.suspension import has_to_wait
from kafkalite.requests.topic_names import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTIONS_TOPIC
from kafkalite.server.replication_gate import replication_gate
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.stored.partition_record import PartitionRecord
from tests.kafkalite.replication.model_controller import TOPIC_ID
from tests.kafkalite.replication.virtual_broker import VirtualBroker

PATIENCE_SECONDS = 2.0
# Between two records of a partition that is loaded.
LOAD_SECONDS = 0.002
GATE = replication_gate(
    dict.fromkeys((OFFSETS_TOPIC, TRANSACTIONS_TOPIC, SHARE_STATE_TOPIC), PATIENCE_SECONDS)
)


class Connection:
    """A connection of a request that runs in a task."""

    async def move_to_task(self) -> None:
        pass

    async def wait_until(
        self,
        done: Any,
        watched: Iterable[Watchers],
        deadline: float,
        *,
        answer_early: bool,
    ) -> WakeReason:
        return await wait_until(done, watched, deadline)


def topic_with(name: str, partitions: Any, topic_id: UUID = TOPIC_ID) -> Topic:
    """A topic of these partitions, and no more than that."""
    return Topic(name, topic_id, is_internal=True, partitions=partitions, states=[], configs={})


class AskedBroker(VirtualBroker):
    """`partitions` are those of the model's topic, under other names."""

    services: Any

    def named(self, index: int) -> tuple[str, int]:
        """The topic and partition that a partition of the model stands for."""
        raise NotImplementedError

    def begin(self) -> None:
        self.partitions: list[ReplicatedPartition] = []
        self.to_load: list[Generator[None]] = []
        self.must_load = trio.Event()
        super().begin()

    async def load_for_ever(self) -> None:
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
            name, number = self.named(index)
            partition = ReplicatedPartition(name, TOPIC_ID, number, replica.log, state)
            partition.hold(replica)
            self.partitions.append(partition)
        self.partitions[index].take(state)

    def replica_changed(self, index: int) -> None:
        super().replica_changed(index)
        if index < len(self.partitions):
            self.partitions[index].changed()

    async def ask(self, key: ApiKey, version: int, request: object) -> Any:
        """An answer, unless the broker has gone meanwhile. Raises KafkaError."""
        life = self.scope
        self.check_alive(life)
        handle = self.handler(APIS[key])
        context = SimpleNamespace(
            node_id=self.node_id,
            api_key=key,
            api_version=version,
            request_bytes=100,
            client_id="c",
            client_host="127.0.0.1",
            connection=Connection(),
        )
        try:
            answer = handle(self.services, context, request)
            if has_to_wait(answer):
                answer = await answer
        except CloseConnection as closed:
            raise KafkaError(ErrorCode.NETWORK_EXCEPTION) from closed
        self.check_alive(life)
        return answer

    def handler(self, api: Api) -> Handler:
        """The handler of an API, with gates around it."""
        return GATE(api, api.load())

    def check_alive(self, life: trio.CancelScope) -> None:
        """Raise KafkaError unless it lives, and did so all the time."""
        if self.scope is not life or not self.is_alive or not self.has_begun:
            raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE)
