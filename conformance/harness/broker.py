"""A broker as a process, whichever it is: what tests may rely on."""

from pathlib import Path
from typing import Protocol

# Both brokers get these: small internal topics (each partition is a directory to make and to
# read) and no waiting for members that will not come.
SMALL = {
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.assignment.interval.ms": "0",
    "group.share.assignment.interval.ms": "0",
    "group.streams.assignment.interval.ms": "0",
    "group.streams.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "4",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "4",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}


class Reached(Protocol):
    """A broker or a cluster, for clients."""

    @property
    def bootstrap(self) -> str:
        """`host:port`, or several with commas between."""
        ...


class Broker(Reached, Protocol):
    """Addresses and data directory stay the same over kill, stop and start."""

    @property
    def kind(self) -> str:
        """`kafkalite` or `kafka`."""
        ...

    @property
    def data_dir(self) -> Path:
        """The directory of the first node's logs."""
        ...

    @property
    def pid(self) -> int:
        """The (first) node's process."""
        ...

    def start(self) -> None:
        """Start it again after stop or kill; back when clients can connect."""
        ...

    def stop(self) -> int:
        """End it with SIGTERM; the exit status."""
        ...

    def kill(self) -> None:
        """End it with SIGKILL."""
        ...

    def restart(self) -> None:
        """Stop and start."""
        ...

    def tail(self) -> str:
        """The end of what it logged."""
        ...
