"""All replicas of this broker, and the tasks that keep them going (Kafka's ReplicaManager).

A fetcher is there for every leader that something here follows: by role, not by event, so that who
is counted as in sync is always on its way to be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf
from uuid import UUID

import trio

from kafkalite.peers.link import Address, Connect, connect_tcp
from kafkalite.replication.fetcher import Fetcher
from kafkalite.replication.isr_proposals import AskController, IsrProposals
from kafkalite.replication.leading import Brokers
from kafkalite.replication.replica import Replica, ReplicationConfig
from kafkalite.replication.throttle import Throttles
from kafkalite.supervision import supervised

Key = tuple[UUID, int]


class Replicas:
    """Made with what a broker knows; `run` is its task."""

    def __init__(
        self,
        node_id: int,
        *,
        brokers: Brokers,
        broker_epoch: Callable[[], int],
        address_of: Callable[[int], Address | None],
        ask_controller: AskController,
        config: ReplicationConfig | None = None,
        throttles: Throttles | None = None,
        connect: Connect = connect_tcp,
    ) -> None:
        self.node_id = node_id
        self.brokers = brokers
        self.config = config or ReplicationConfig()
        self.throttles = throttles or Throttles()
        self.proposals = IsrProposals(node_id, broker_epoch, ask_controller)
        self._broker_epoch = broker_epoch
        self._address_of = address_of
        self._connect = connect
        self._replicas: dict[Key, Replica] = {}
        self._fetchers: dict[int, Fetcher] = {}
        self._unstarted: list[Fetcher] = []
        self._new_fetcher = trio.Event()

    def __iter__(self) -> Iterator[Replica]:
        return iter(self._replicas.values())

    def add(self, replica: Replica) -> None:
        """A partition has a replica here from now on."""
        self._replicas[replica.key] = replica

    def remove(self, replica: Replica) -> None:
        """No more: stop what it does."""
        self.unfollow(replica)
        self._replicas.pop(replica.key, None)

    def get(self, topic_id: UUID, index: int) -> Replica | None:
        """The replica of a partition, if there is one here."""
        return self._replicas.get((topic_id, index))

    # -- what replicas ask for

    def now(self) -> float:
        """Seconds, of trio's clock."""
        return trio.current_time()

    def propose(self, replica: Replica) -> None:
        """Have a proposal of in-sync replicas sent."""
        self.proposals.add(replica)

    def follow(self, replica: Replica) -> None:
        """Copy the leader's log from now on."""
        fetcher = self._fetchers.get(replica.leader_id)
        if fetcher is None:
            fetcher = self._fetchers[replica.leader_id] = Fetcher(
                replica.leader_id,
                self.node_id,
                config=self.config,
                broker_epoch=self._broker_epoch,
                address_of=self._address_of,
                connect=self._connect,
            )
            self._unstarted.append(fetcher)
            self._new_fetcher.set()
        fetcher.add(replica)

    def unfollow(self, replica: Replica) -> None:
        """Copy it no more, from any leader."""
        for fetcher in self._fetchers.values():
            fetcher.remove(replica)

    # -- tasks

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Copy, propose, and look for replicas that lag. Ends only when it is cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(supervised, "proposals of partition changes", self.proposals.run)
            nursery.start_soon(supervised, "in-sync replicas", self._shrink)
            task_status.started()
            while True:
                for fetcher in self._unstarted:
                    nursery.start_soon(self._fetch, fetcher)
                self._unstarted.clear()
                await self._new_fetcher.wait()
                self._new_fetcher = trio.Event()

    async def _fetch(self, fetcher: Fetcher) -> None:
        while True:
            await supervised(f"copying from broker {fetcher.leader_id}", fetcher.run)
            if not fetcher.replicas:
                # A replica that follows this leader again gets a fetcher of its own.
                if self._fetchers.get(fetcher.leader_id) is fetcher:
                    del self._fetchers[fetcher.leader_id]
                return

    async def _shrink(self) -> None:
        if self.config.max_lag_seconds == inf:
            return
        while True:
            await trio.sleep(self.config.max_lag_seconds / 2)
            for replica in list(self._replicas.values()):
                if replica.leading is not None:
                    replica.leading.shrink()
