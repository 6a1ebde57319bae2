"""A broker of a cluster under control, with what belongs to it alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import trio

from kafkalite.broker import Broker
from kafkalite.control.clock import ClusterClock


@dataclass(slots=True)
class Core:
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
