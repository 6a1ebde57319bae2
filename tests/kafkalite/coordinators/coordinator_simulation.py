"""Groups over brokers under faults in virtual time, and what must hold whatever happens.

1. A committed offset that was acknowledged is known to every later coordinator.
2. An offset that was shown to a client never goes back.
"""

from __future__ import annotations

from pathlib import Path

import trio

from kafkalite.group_coordinator.java_hash import partition_of_key
from kafkalite.wire.errors import KafkaError
from tests.kafkalite.coordinators.coordinating_broker import CoordinatingBroker
from tests.kafkalite.replication.simulation import BROKERS, PARTITIONS, Simulation, Violation

GROUPS = tuple(f"group-{number}" for number in range(6))


class CoordinatorSimulation(Simulation):
    """Each group has one consumer, which commits one offset after the other, and one reader."""

    def __init__(self, root: Path, seed: int, steps: int) -> None:
        super().__init__(root, seed, steps)
        self.committed: dict[str, int] = dict.fromkeys(GROUPS, -1)
        self.shown: dict[str, int] = dict.fromkeys(GROUPS, -1)
        self.commit_count = self.fetch_count = 0

    def make_broker(self, node_id: int) -> CoordinatingBroker:
        return CoordinatingBroker(
            node_id, self.root / str(node_id), self.network, self.controller, self
        )

    def begin_load(self) -> None:
        for group_id in GROUPS:
            self.nursery.start_soon(self._commit, group_id)
            self.nursery.start_soon(self._fetch, group_id)

    def _coordinator(self, group_id: str) -> CoordinatingBroker | None:
        """Most often the right one."""
        leader = self.controller.states[partition_of_key(group_id, PARTITIONS)].leader
        is_stale = self.random.random() < 0.1
        return self.brokers.get(self.random.choice(BROKERS) if is_stale else leader)

    async def _commit(self, group_id: str) -> None:
        offset = 0
        while True:
            await trio.sleep(self.random.expovariate(4))
            coordinator = self._coordinator(group_id)
            if coordinator is None:
                continue
            offset += 1
            try:
                await coordinator.commit(group_id, offset)
            except KafkaError:
                continue
            self.committed[group_id] = offset
            self.commit_count += 1

    async def _fetch(self, group_id: str) -> None:
        while True:
            await trio.sleep(self.random.expovariate(4))
            coordinator = self._coordinator(group_id)
            if coordinator is None:
                continue
            least = max(self.committed[group_id], self.shown[group_id])
            leads = self.knows_it_leads(coordinator, partition_of_key(group_id, PARTITIONS))
            try:
                offset = await coordinator.fetch(group_id)
            except KafkaError:
                continue
            # A leader that was left and has not heard of it knows of the past, as in Kafka.
            if leads and offset < least:
                raise Violation(f"{group_id} went back from {least} to {offset}")
            self.shown[group_id] = max(self.shown[group_id], offset)
            self.fetch_count += 1

    def _check(self) -> None:
        super()._check()
        for broker in self.brokers.values():
            if not broker.is_alive or not broker.has_begun:
                continue
            for index, shard in broker.groups.shards.loaded.items():
                if not self.knows_it_leads(broker, index):
                    continue
                for group_id, offset in self.committed.items():
                    is_here = partition_of_key(group_id, PARTITIONS) == index
                    if is_here and broker.committed(shard, group_id) < offset:
                        raise Violation(f"{group_id} is before {offset} on {broker.node_id}")
