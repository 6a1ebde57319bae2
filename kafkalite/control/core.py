"""A broker of a cluster under control, with what belongs to it alone."""

from __future__ import annotations

from pathlib import Path

import trio
from msgspec import Struct, field

from kafkalite.broker import Broker
from kafkalite.control.clock import ClusterClock
from kafkalite.requests.slices import Steps


class Was(Struct, frozen=True):
    """Says what a reset threw away."""

    topics: int
    records: int
    groups: int


class Core(Struct):
    """A broker that is open. Its successor begins with another one."""

    broker: Broker
    clock: ClusterClock
    directory: Path
    # It writes and listens no more; it has given back all it had.
    silent: trio.Event = field(default_factory=trio.Event)
    ended: trio.Event = field(default_factory=trio.Event)
    is_replaced: bool = False

    def give_up(self) -> None:
        """Let go a broker that never served."""
        self.broker.abandon()
        self.broker.__exit__(None, None, None)

    def cutting(self) -> Steps[None]:
        """Another broker takes its place: close all connections in steps, and take no more."""
        self.is_replaced = True
        for listener in self.broker.listeners:
            listener.close()
        yield from self.broker.connections.cutting()

    def counts(self) -> Was:
        """Says how much there is."""
        services = self.broker.services
        topics = [topic for topic in services.topics.all() if not topic.is_internal]
        logs = [partition.log for topic in topics for partition in topic.partitions]
        return Was(
            len(topics),
            sum(log.log_end_offset - log.log_start_offset for log in logs),
            sum(1 for _ in services.group_coordinator.interventions.groups()),
        )

    def connected_members(self) -> set[tuple[str, str]]:
        """The members of groups whose connections are open, and not silenced."""
        members: set[tuple[str, str]] = set()
        for connection in self.broker.connections:
            members |= connection.context.members
        return members
