"""The verbs of one thing in a cluster: a fault, a group, a transaction, the clock."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, Unpack

from kafkalite.client.values import written
from kafkalite.control.answers import (
    Advanced,
    ClockView,
    Due,
    FaultView,
    GroupView,
    TransactionView,
)

if TYPE_CHECKING:
    from kafkalite.control.paging import Paging


class Asks(Protocol):
    """A cluster that verbs are asked of."""

    def ask(self, verb: str, **fields: Any) -> Any:
        """Do a verb by its name in the table. Raises Problem."""
        ...


class Faults:
    """All faults of a cluster."""

    def __init__(self, kit: Asks) -> None:
        self._kit = kit

    def list(self, **page: Unpack[Paging]) -> list[FaultView]:
        """All faults with what became of them."""
        return self._kit.ask("faults.list", **page)

    def clear(self) -> None:
        """Take all out, and let go what they hold."""
        self._kit.ask("faults.clear")

    def unfired(self) -> Sequence[str]:
        """A sentence for each that was to be applied and was not."""
        found = self._kit.ask("faults.unfired")
        sentences: Sequence[str] = found.unfired
        return sentences


class Fault:
    """One fault. As a context manager it is taken out in the end."""

    def __init__(self, kit: Asks, fault_id: str) -> None:
        self._kit = kit
        self.id = fault_id

    def show(self) -> FaultView:
        """Counts how often it matched, what it did, what came instead."""
        return self._kit.ask("faults.show", fault=self.id)

    @property
    def applied(self) -> int:
        """Counts how often it was applied."""
        shown = self.show()
        return shown.applied

    def release(self, count: int | None = None) -> int:
        """Let go what it holds; how many requests that were."""
        found = self._kit.ask("faults.release", fault=self.id, count=count)
        return int(found.released)

    def remove(self) -> None:
        """Take it out."""
        self._kit.ask("faults.remove", fault=self.id)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


class Recording:
    """A recording into a file: it begins with the context, and is written in the end."""

    def __init__(self, kit: Asks, path: Path) -> None:
        self._kit = kit
        self._path = path

    def __enter__(self) -> Self:
        self._kit.ask("recording.start")
        return self

    def __exit__(self, *_: object) -> None:
        saved = self._kit.ask("recording.save")
        written(self._path, saved.data)


class Group:
    """One group."""

    def __init__(self, kit: Asks, group_id: str) -> None:
        self._kit = kit
        self.id = group_id

    def show(self) -> GroupView:
        """Members, what they are assigned, offsets and lag. Raises Problem if there is none."""
        return self._kit.ask("groups.show", group=self.id)

    def expire(self, member: str | None = None) -> Sequence[str]:
        """Let a member go (by member, instance or client id), or all."""
        found = self._kit.ask("groups.expire", group=self.id, member=member)
        members: Sequence[str] = found.members
        return members

    def rebalance(self, times: int = 1, every: str = "200ms") -> GroupView:
        """Begin a rebalance, or several."""
        return self._kit.ask("groups.rebalance", group=self.id, times=times, every=every)

    def assign(self, assignment: Mapping[str, Mapping[str, Sequence[int]]]) -> GroupView:
        """Have members take these partitions: `{"app-1": {"orders": [0, 1]}}`.

        Members are named by member, instance or client id. One that is not named has none then.
        """
        chosen = {
            member: {topic: list(each) for topic, each in topics.items()}
            for member, topics in assignment.items()
        }
        return self._kit.ask("groups.assign", group=self.id, assignment=chosen)

    def seek(
        self,
        topic: str,
        to: int | str | None = None,
        partition: int | None = None,
        *,
        since: int | str | None = None,
    ) -> GroupView:
        """Set the offsets of a group without members: an offset, "earliest" or "latest"; or
        `since` a time, in ms or before the cluster's ("-5m").
        """
        return self._kit.ask(
            "groups.seek", group=self.id, topic=topic, to=to, partition=partition, since=since
        )

    def delete(self) -> None:
        """Forget a group without members."""
        self._kit.ask("groups.delete", group=self.id)


class Transaction:
    """One transactional id."""

    def __init__(self, kit: Asks, transactional_id: str) -> None:
        self._kit = kit
        self.id = transactional_id

    def show(self) -> TransactionView:
        """Its last transaction."""
        return self._kit.ask("transactions.show", transaction=self.id)

    @property
    def state(self) -> str:
        """Its state by Kafka's name: "Ongoing", "CompleteAbort"."""
        shown = self.show()
        return shown.state

    def fence(self) -> TransactionView:
        """Take the id away from its producer."""
        return self._kit.ask("transactions.fence", transaction=self.id)

    def abort(self) -> TransactionView:
        """Abort its open transaction."""
        return self._kit.ask("transactions.abort", transaction=self.id)


class Clock:
    """A cluster's time."""

    def __init__(self, kit: Asks) -> None:
        self._kit = kit

    def show(self) -> ClockView:
        """The time, and what is due next."""
        return self._kit.ask("clock.show")

    @property
    def now_ms(self) -> int:
        """The time in ms since the epoch."""
        shown = self.show()
        return shown.now_ms

    @property
    def due(self) -> list[Due]:
        """Says what time will bring about next."""
        shown = self.show()
        return shown.due

    def advance(
        self,
        by: str | None = None,
        *,
        to: int | None = None,
        next: bool = False,
        members: Literal["keep", "expire"] = "keep",
    ) -> Advanced:
        """Move time on; what it caused. Members whose connections are open keep their
        sessions.
        """
        return self._kit.ask("clock.advance", by=by, to=to, next=next, members=members)

    def freeze(self) -> ClockView:
        """Let time stand still."""
        return self._kit.ask("clock.freeze")

    def run(self) -> ClockView:
        """Let time go on."""
        return self._kit.ask("clock.run")

    def skew(self, by: str) -> ClockView:
        """Let timestamps be off by so much."""
        return self._kit.ask("clock.skew", by=by)

    def reset(self) -> ClockView:
        """Write the machine's time again, and run."""
        return self._kit.ask("clock.reset")

    @contextmanager
    def frozen(self) -> Generator[None]:
        """Time stands still within: `with clock.frozen(): breakpoint()`."""
        self.freeze()
        try:
            yield
        finally:
            self.run()
