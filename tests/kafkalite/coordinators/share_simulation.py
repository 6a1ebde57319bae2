"""Share states over brokers under faults in virtual time, and what must hold whatever happens.

1. A start offset whose write was acknowledged is known to every later coordinator.
2. A start offset that was shown never goes back.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import trio

from kafkalite.coordinators.share_coordinator.state_log import coordinator_key
from kafkalite.group_coordinator.java_hash import partition_of_key
from kafkalite.replica.share.share_partition import SharePartitionKey
from kafkalite.wire.errors import KafkaError
from tests.kafkalite.coordinators.share_coordinating_broker import (
    READ_ID,
    LingeringBroker,
    ShareCoordinatingBroker,
)
from tests.kafkalite.replication.simulation import BROKERS, PARTITIONS, Simulation, Violation

GROUPS = tuple(f"group-{number}" for number in range(6))


def partition_of(group_id: str) -> int:
    key = SharePartitionKey(group_id, READ_ID, 0)
    return partition_of_key(coordinator_key(key), PARTITIONS)


class ShareSimulation(Simulation):
    """Each group has one leader that moves its start offset, and one reader."""

    kind = ShareCoordinatingBroker

    def __init__(self, root: Path, seed: int, steps: int) -> None:
        super().__init__(root, seed, steps)
        self.written: dict[str, int] = dict.fromkeys(GROUPS, -1)
        self.shown: dict[str, int] = dict.fromkeys(GROUPS, -1)
        self.write_count = self.read_count = 0

    def make_broker(self, node_id: int) -> ShareCoordinatingBroker:
        return self.kind(node_id, self.root / str(node_id), self.network, self.controller, self)

    def begin_load(self) -> None:
        for group_id in GROUPS:
            self.nursery.start_soon(self._write, group_id)
            self.nursery.start_soon(self._read, group_id)

    def _coordinator(self, group_id: str) -> ShareCoordinatingBroker | None:
        """Most often the right one."""
        leader = self.controller.states[partition_of(group_id)].leader
        is_stale = self.random.random() < 0.1
        return self.brokers.get(self.random.choice(BROKERS) if is_stale else leader)

    async def _write(self, group_id: str) -> None:
        await self._until_done(group_id, lambda broker: broker.initialize(group_id))
        self.written[group_id] = offset = 0
        while True:
            offset += 1
            new = offset
            await self._until_done(group_id, lambda broker, new=new: broker.write(group_id, new))
            self.written[group_id] = offset
            self.write_count += 1

    async def _until_done(
        self, group_id: str, work: Callable[[ShareCoordinatingBroker], Awaitable[None]]
    ) -> None:
        while True:
            await trio.sleep(self.random.expovariate(4))
            coordinator = self._coordinator(group_id)
            if coordinator is None:
                continue
            try:
                await work(coordinator)
            except KafkaError:
                continue
            return

    async def _read(self, group_id: str) -> None:
        while True:
            await trio.sleep(self.random.expovariate(4))
            coordinator = self._coordinator(group_id)
            if coordinator is None:
                continue
            least = max(self.written[group_id], self.shown[group_id])
            leads = self.knows_it_leads(coordinator, partition_of(group_id))
            try:
                offset = await coordinator.read(group_id)
            except KafkaError:
                continue
            # A leader that was left and has not heard of it knows of the past, as in Kafka.
            if leads and offset < least:
                raise Violation(f"{group_id} went back from {least} to {offset}")
            self.shown[group_id] = max(self.shown[group_id], offset)
            self.read_count += 1


class LingeringSimulation(ShareSimulation):
    """The same with updates that wait for others."""

    kind = LingeringBroker
