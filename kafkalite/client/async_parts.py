"""The verbs of parts.py, awaited. Made by make_async.py, not to be edited."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
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


class AsyncAsks(Protocol):
    """A cluster that verbs are asked of."""

    async def ask(self, verb: str, **fields: Any) -> Any:
        """Do a verb by its name in the table. Raises Problem."""
        ...


class AsyncFaults:
    """All faults of a cluster."""

    def __init__(self, kit: AsyncAsks) -> None:
        self._kit = kit

    async def list(self, **page: Unpack[Paging]) -> list[FaultView]:
        """All faults with what became of them."""
        return await self._kit.ask("faults.list", **page)

    async def clear(self) -> None:
        """Take all out, and let go what they hold."""
        await self._kit.ask("faults.clear")

    async def unfired(self) -> Sequence[str]:
        """A sentence for each that was to be applied and was not."""
        found = await self._kit.ask("faults.unfired")
        sentences: Sequence[str] = found.unfired
        return sentences


class AsyncFault:
    """One fault. As a context manager it is taken out in the end."""

    def __init__(self, kit: AsyncAsks, fault_id: str) -> None:
        self._kit = kit
        self.id = fault_id

    async def show(self) -> FaultView:
        """Counts how often it matched, what it did, what came instead."""
        return await self._kit.ask("faults.show", fault=self.id)

    @property
    async def applied(self) -> int:
        """Counts how often it was applied."""
        shown = await self.show()
        return shown.applied

    async def release(self, count: int | None = None) -> int:
        """Let go what it holds; how many requests that were."""
        found = await self._kit.ask("faults.release", fault=self.id, count=count)
        return int(found.released)

    async def remove(self) -> None:
        """Take it out."""
        await self._kit.ask("faults.remove", fault=self.id)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.remove()


class AsyncRecording:
    """A recording into a file: it begins with the context, and is written in the end."""

    def __init__(self, kit: AsyncAsks, path: Path) -> None:
        self._kit = kit
        self._path = path

    async def __aenter__(self) -> Self:
        await self._kit.ask("recording.start")
        return self

    async def __aexit__(self, *_: object) -> None:
        saved = await self._kit.ask("recording.save")
        written(self._path, saved.data)


class AsyncGroup:
    """One group."""

    def __init__(self, kit: AsyncAsks, group_id: str) -> None:
        self._kit = kit
        self.id = group_id

    async def show(self) -> GroupView:
        """Members, what they are assigned, offsets and lag. Raises Problem if there is none."""
        return await self._kit.ask("groups.show", group=self.id)

    async def expire(self, member: str | None = None) -> Sequence[str]:
        """Let a member go (by member, instance or client id), or all."""
        found = await self._kit.ask("groups.expire", group=self.id, member=member)
        members: Sequence[str] = found.members
        return members

    async def rebalance(self, times: int = 1, every: str = "200ms") -> GroupView:
        """Begin a rebalance, or several."""
        return await self._kit.ask("groups.rebalance", group=self.id, times=times, every=every)

    async def assign(self, assignment: Mapping[str, Mapping[str, Sequence[int]]]) -> GroupView:
        """Have members take these partitions: `{"app-1": {"orders": [0, 1]}}`.

        Members are named by member, instance or client id. One that is not named has none then.
        """
        chosen = {
            member: {topic: list(each) for topic, each in topics.items()}
            for member, topics in assignment.items()
        }
        return await self._kit.ask("groups.assign", group=self.id, assignment=chosen)

    async def seek(
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
        return await self._kit.ask(
            "groups.seek", group=self.id, topic=topic, to=to, partition=partition, since=since
        )

    async def delete(self) -> None:
        """Forget a group without members."""
        await self._kit.ask("groups.delete", group=self.id)


class AsyncTransaction:
    """One transactional id."""

    def __init__(self, kit: AsyncAsks, transactional_id: str) -> None:
        self._kit = kit
        self.id = transactional_id

    async def show(self) -> TransactionView:
        """Its last transaction."""
        return await self._kit.ask("transactions.show", transaction=self.id)

    @property
    async def state(self) -> str:
        """Its state by Kafka's name: "Ongoing", "CompleteAbort"."""
        shown = await self.show()
        return shown.state

    async def fence(self) -> TransactionView:
        """Take the id away from its producer."""
        return await self._kit.ask("transactions.fence", transaction=self.id)

    async def abort(self) -> TransactionView:
        """Abort its open transaction."""
        return await self._kit.ask("transactions.abort", transaction=self.id)


class AsyncClock:
    """A cluster's time."""

    def __init__(self, kit: AsyncAsks) -> None:
        self._kit = kit

    async def show(self) -> ClockView:
        """The time, and what is due next."""
        return await self._kit.ask("clock.show")

    @property
    async def now_ms(self) -> int:
        """The time in ms since the epoch."""
        shown = await self.show()
        return shown.now_ms

    @property
    async def due(self) -> list[Due]:
        """Says what time will bring about next."""
        shown = await self.show()
        return shown.due

    async def advance(
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
        return await self._kit.ask("clock.advance", by=by, to=to, next=next, members=members)

    async def freeze(self) -> ClockView:
        """Let time stand still."""
        return await self._kit.ask("clock.freeze")

    async def run(self) -> ClockView:
        """Let time go on."""
        return await self._kit.ask("clock.run")

    async def skew(self, by: str) -> ClockView:
        """Let timestamps be off by so much."""
        return await self._kit.ask("clock.skew", by=by)

    async def reset(self) -> ClockView:
        """Write the machine's time again, and run."""
        return await self._kit.ask("clock.reset")

    @asynccontextmanager
    async def frozen(self) -> AsyncGenerator[None]:
        """Time stands still within: `with clock.frozen(): breakpoint()`."""
        await self.freeze()
        try:
            yield
        finally:
            await self.run()
