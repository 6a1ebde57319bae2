"""The verbs as Python, for `await`. Made from kit.py by make_async.py; not to be edited."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Protocol, Self

import msgspec

from kafkalite.client.errors import WaitTimeout
from kafkalite.client.kit import Do, fields_of, new_record, read_seed, text_of
from kafkalite.control.faults.presets import preset
from kafkalite.control.faults.rule import Action, Rule, When
from kafkalite.control.types import (
    Advanced,
    ClockView,
    ClusterView,
    ConnectionView,
    Due,
    FaultView,
    GroupView,
    NodeView,
    RecordView,
    Seed,
    Seeded,
    SnapshotView,
    TopicView,
    TransactionView,
    Until,
    Waited,
    WasReset,
    Written,
)


class AsyncCall(Protocol):
    """Does a verb: in this process, or over HTTP."""

    def __call__(self, verb: str, cluster: str, /, **fields: Any) -> Any:
        """The verb's answer. Raises Problem."""
        ...


class AsyncKit:
    """The verbs of one cluster."""

    def __init__(self, call: AsyncCall, cluster: str = "default") -> None:
        self._do = call
        self.cluster = cluster

    async def _ask(self, verb: str, **fields: Any) -> Any:
        return await self._do(verb, self.cluster, **fields)

    @property
    def clock(self) -> AsyncClock:
        """The cluster's time."""
        return AsyncClock(self)

    @property
    def wait(self) -> AsyncWait:
        """Waiting in the broker."""
        return AsyncWait(self)

    @property
    def faults(self) -> AsyncFaults:
        """All faults."""
        return AsyncFaults(self)

    async def describe(self) -> ClusterView:
        """The cluster's addresses, and how much there is."""
        described: ClusterView = await self._ask("clusters.show")
        return described

    # State

    async def reset(self, keep: Sequence[Literal["faults", "clock"]] = ()) -> WasReset:
        """Begin again with nothing, at the same addresses."""
        was: WasReset = await self._ask("reset", keep=list(keep))
        return was

    async def restart(self, *, unclean: bool = False) -> ClusterView:
        """Stop the broker and start it on its data; `unclean`: as after kill -9."""
        described: ClusterView = await self._ask("restart", unclean=unclean)
        return described

    async def snapshot(self, name: str) -> SnapshotView:
        """Keep all data under a name."""
        saved: SnapshotView = await self._ask("snapshots.save", snapshot=name)
        return saved

    async def restore(self, name: str) -> ClusterView:
        """Go on from a snapshot."""
        described: ClusterView = await self._ask("snapshots.restore", snapshot=name)
        return described

    async def snapshots(self) -> list[SnapshotView]:
        """All snapshots."""
        found: list[SnapshotView] = await self._ask("snapshots.list")
        return found

    async def seed(self, seed: str | Path | Mapping[str, Any]) -> Seeded:
        """Make topics with records and groups with offsets, of a dict or a file of JSON or YAML."""
        given = read_seed(Path(seed)) if isinstance(seed, (str, Path)) else seed
        checked = msgspec.convert(given, Seed, strict=False)
        made: Seeded = await self._ask("seed", topics=checked.topics, groups=checked.groups)
        return made

    # Topics and records

    async def topics(self) -> list[TopicView]:
        """All topics but the internal ones."""
        found: list[TopicView] = await self._ask("topics.list")
        return found

    async def create_topic(
        self,
        name: str,
        partitions: int | None = None,
        replication_factor: int | None = None,
        configs: Mapping[str, object] | None = None,
    ) -> Any:
        """Create a topic; by the time this returns, every node serves it. Raises Problem."""
        return await self._ask(
            "topics.create",
            topic=name,
            partitions=partitions,
            replication_factor=replication_factor,
            configs={key: text_of(value) for key, value in (configs or {}).items()},
        )

    async def delete_topic(self, name: str) -> None:
        """Delete a topic with its records."""
        await self._ask("topics.delete", topic=name)

    async def lose(self, topic: str, partition: int = 0, to: int = -1) -> TopicView:
        """Lose the records before an offset (-1: all), as retention loses what is too old."""
        found: TopicView = await self._ask("topics.lose", topic=topic, partition=partition, to=to)
        return found

    async def gap(self, topic: str, first: int, end: int, partition: int = 0) -> TopicView:
        """Take the records from one offset to before another out; offsets stay."""
        found: TopicView = await self._ask(
            "topics.gap", topic=topic, first=first, end=end, partition=partition
        )
        return found

    async def clean(self) -> int:
        """Apply retention and compaction to all that is written; by how much log starts moved."""
        found = await self._ask("topics.clean")
        return int(found.removed)

    async def topic(self, name: str) -> TopicView:
        """One topic with its partitions."""
        found: TopicView = await self._ask("topics.show", topic=name)
        return found

    async def records(
        self,
        topic: str,
        count: int | None = None,
        *,
        partition: int | None = None,
        start: int | None = None,
        committed: bool = False,
        value_contains: str | None = None,
        wait: str = "10s",
    ) -> list[RecordView]:
        """The records of a topic; waits until there are `count`, if that is given.

        Raises WaitTimeout when there are fewer in the end.
        """
        found: list[RecordView] = await self._ask(
            "records.read",
            topic=topic,
            count=100_000 if count is None else count,
            partition=partition,
            start=start,
            committed=committed,
            value_contains=value_contains,
            wait=None if count is None else wait,
        )
        if count is not None and len(found) < count:
            raise WaitTimeout(f"{topic} has {len(found)} of {count} records after {wait}")
        return found

    async def produce(
        self,
        topic: str,
        value: str | bytes | None,
        *,
        key: str | bytes | None = None,
        partition: int = 0,
        headers: Mapping[str, str] | None = None,
        timestamp: int | str | None = None,
        count: int = 1,
    ) -> Written:
        """Append a record, `count` times; its time in ms, or relative to the cluster's ("-7d")."""
        record = new_record(value, key, partition, headers or {}, timestamp, count)
        written: Written = await self._ask("records.write", topic=topic, records=[record])
        return written

    # Groups and transactions

    async def groups(self) -> list[GroupView]:
        """All groups."""
        found: list[GroupView] = await self._ask("groups.list")
        return found

    def group(self, group_id: str) -> AsyncGroup:
        """One group."""
        return AsyncGroup(self, group_id)

    async def committed(self, group: str, topic: str, partition: int = 0) -> int:
        """The offset that a group has committed of a partition. Raises Problem if none."""
        found = await self._ask("groups.committed", group=group, topic=topic, partition=partition)
        return int(found.offset)

    async def transactions(self) -> list[TransactionView]:
        """All transactional ids."""
        found: list[TransactionView] = await self._ask("transactions.list")
        return found

    def transaction(self, transactional_id: str) -> AsyncTransaction:
        """One transactional id."""
        return AsyncTransaction(self, transactional_id)

    # Nodes and connections

    async def nodes(self) -> list[NodeView]:
        """The nodes, and whether they are up."""
        found: list[NodeView] = await self._ask("nodes.list")
        return found

    async def stop_node(self, node_id: int) -> None:
        """Let a node go, as if its process had died."""
        await self._ask("nodes.stop", node=node_id)

    async def start_node(self, node_id: int) -> None:
        """Let a stopped node come back at its address."""
        await self._ask("nodes.start", node=node_id)

    async def add_node(self) -> int:
        """Let a new node join; its id."""
        added = await self._ask("nodes.add")
        return int(added.node)

    async def remove_node(self, node_id: int) -> None:
        """Let a node go for good."""
        await self._ask("nodes.remove", node=node_id)

    async def move_leader(self, topic: str, partition: int, to: int) -> TopicView:
        """Have another node lead a partition."""
        found: TopicView = await self._ask("topics.lead", topic=topic, partition=partition, to=to)
        return found

    async def connections(self) -> list[ConnectionView]:
        """The connections that are open."""
        found: list[ConnectionView] = await self._ask("connections.list")
        return found

    async def close_connection(self, connection: str) -> None:
        """Cut a connection."""
        await self._ask("connections.close", connection=connection)

    # AsyncFaults

    async def fault(
        self,
        api: Any = None,
        *,
        do: Do = (),
        sequence: Sequence[Sequence[Action]] = (),
        skip: int = 0,
        times: int | None = 1,
        every: int = 1,
        probability: float | None = None,
        seed: int | None = None,
        lasting: str | None = None,
        optional: bool = False,
        id: str = "",
        **when: Any,
    ) -> AsyncFault:
        """Put a fault in: `fault("Produce", topic="orders", do=drop.after)`.

        All other keywords are criteria (`topic`, `partition`, `group`, `client_id`, `request`, ...).
        """
        rule = Rule(
            id=id,
            when=msgspec.convert({"api": api, **when}, When),
            skip=skip,
            times=times,
            every=every,
            probability=probability,
            seed=seed,
            lasting=lasting,
            do=(do,) if isinstance(do, Action) else tuple(do),
            sequence=tuple(tuple(turn) for turn in sequence),
            optional=optional,
        )
        return await self._add(rule)

    async def preset(self, name: str, **parameters: Any) -> AsyncFault:
        """Put a ready-made fault in: `preset("lost_ack", topic="orders")`."""
        added = [await self._add(rule) for rule in preset(name, **parameters)]
        return added[0]

    async def _add(self, rule: Rule) -> AsyncFault:
        added: FaultView = await self._ask("faults.add", **fields_of(rule))
        return AsyncFault(self, added.rule.id)


class AsyncFaults:
    """All faults of a cluster."""

    def __init__(self, kit: AsyncKit) -> None:
        self._kit = kit

    async def list(self) -> list[FaultView]:
        """All faults with what became of them."""
        found: list[FaultView] = await self._kit._ask("faults.list")
        return found

    async def clear(self) -> None:
        """Take all out, and let go what they hold."""
        await self._kit._ask("faults.clear")

    async def unfired(self) -> Sequence[str]:
        """A sentence for each that was to be applied and was not."""
        found = await self._kit._ask("faults.unfired")
        sentences: Sequence[str] = found.unfired
        return sentences


class AsyncFault:
    """One fault. As a context manager it is taken out in the end."""

    def __init__(self, kit: AsyncKit, fault_id: str) -> None:
        self._kit = kit
        self.id = fault_id

    async def show(self) -> FaultView:
        """How often it matched, what it did, what came instead."""
        found: FaultView = await self._kit._ask("faults.show", fault=self.id)
        return found

    @property
    async def applied(self) -> int:
        """How often it was applied."""
        shown = await self.show()
        return shown.applied

    async def release(self, count: int | None = None) -> int:
        """Let go what it holds; how many requests that were."""
        found = await self._kit._ask("faults.release", fault=self.id, count=count)
        return int(found.released)

    async def remove(self) -> None:
        """Take it out."""
        await self._kit._ask("faults.remove", fault=self.id)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.remove()


class AsyncGroup:
    """One group."""

    def __init__(self, kit: AsyncKit, group_id: str) -> None:
        self._kit = kit
        self.id = group_id

    async def show(self) -> GroupView:
        """Members, what they are assigned, offsets and lag. Raises Problem if there is none."""
        found: GroupView = await self._kit._ask("groups.show", group=self.id)
        return found

    async def expire(self, member: str | None = None) -> Sequence[str]:
        """Let a member go (by member, instance or client id), or all."""
        found = await self._kit._ask("groups.expire", group=self.id, member=member)
        members: Sequence[str] = found.members
        return members

    async def rebalance(self, times: int = 1, every: str = "200ms") -> GroupView:
        """Begin a rebalance, or several."""
        found: GroupView = await self._kit._ask(
            "groups.rebalance", group=self.id, times=times, every=every
        )
        return found

    async def seek(self, topic: str, to: int | str, partition: int | None = None) -> GroupView:
        """Set the offsets of a group without members: an offset, "earliest" or "latest"."""
        found: GroupView = await self._kit._ask(
            "groups.seek", group=self.id, topic=topic, to=to, partition=partition
        )
        return found

    async def delete(self) -> None:
        """Forget a group without members."""
        await self._kit._ask("groups.delete", group=self.id)


class AsyncTransaction:
    """One transactional id."""

    def __init__(self, kit: AsyncKit, transactional_id: str) -> None:
        self._kit = kit
        self.id = transactional_id

    async def show(self) -> TransactionView:
        """Its last transaction."""
        found: TransactionView = await self._kit._ask("transactions.show", transaction=self.id)
        return found

    @property
    async def state(self) -> str:
        """Its state by Kafka's name: "Ongoing", "CompleteAbort"."""
        shown = await self.show()
        return shown.state

    async def fence(self) -> TransactionView:
        """Take the id away from its producer."""
        found: TransactionView = await self._kit._ask("transactions.fence", transaction=self.id)
        return found

    async def abort(self) -> TransactionView:
        """Abort its open transaction."""
        found: TransactionView = await self._kit._ask("transactions.abort", transaction=self.id)
        return found


class AsyncClock:
    """A cluster's time."""

    def __init__(self, kit: AsyncKit) -> None:
        self._kit = kit

    async def show(self) -> ClockView:
        """The time, and what is due next."""
        found: ClockView = await self._kit._ask("clock.show")
        return found

    @property
    async def now_ms(self) -> int:
        """The time in ms since the epoch."""
        shown = await self.show()
        return shown.now_ms

    @property
    async def due(self) -> list[Due]:
        """What time will bring about next."""
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
        """Move time on; what it caused. Members whose connections are open keep their sessions."""
        done: Advanced = await self._kit._ask(
            "clock.advance", by=by, to=to, next=next, members=members
        )
        return done

    async def freeze(self) -> ClockView:
        """Let time stand still."""
        found: ClockView = await self._kit._ask("clock.freeze")
        return found

    async def run(self) -> ClockView:
        """Let time go on."""
        found: ClockView = await self._kit._ask("clock.run")
        return found

    async def skew(self, by: str) -> ClockView:
        """Let timestamps be off by so much."""
        found: ClockView = await self._kit._ask("clock.skew", by=by)
        return found

    async def reset(self) -> ClockView:
        """Write the machine's time again, and run."""
        found: ClockView = await self._kit._ask("clock.reset")
        return found

    @asynccontextmanager
    async def frozen(self) -> AsyncIterator[None]:
        """Time stands still within: `with clock.frozen(): breakpoint()`."""
        await self.freeze()
        try:
            yield
        finally:
            await self.run()


class AsyncWait:
    """Waiting in the broker. Each raises WaitTimeout with a sentence that says what is missing."""

    def __init__(self, kit: AsyncKit) -> None:
        self._kit = kit

    async def until(self, until: Until | Mapping[str, Any], timeout: str = "10s") -> Waited:
        """AsyncWait for any condition, as data."""
        condition = until if isinstance(until, Until) else msgspec.convert(until, Until)
        waited: Waited = await self._kit._ask("wait", until=condition, timeout=timeout)
        if not waited.met:
            raise WaitTimeout(f"{waited.because} (after {timeout})")
        return waited

    async def _for(self, kind: str, timeout: str, **fields: Any) -> Waited:
        given = {name: value for name, value in fields.items() if value is not None}
        return await self.until({kind: given}, timeout)

    async def group(
        self,
        id: str,
        *,
        members: int | None = None,
        assigned: bool = False,
        state: str | None = None,
        topics: Sequence[str] | None = None,
        generation: int | None = None,
        timeout: str = "10s",
    ) -> Waited:
        """A group with so many members, each of which has its partitions."""
        return await self._for(
            "group",
            timeout,
            id=id,
            members=members,
            assigned=assigned,
            state=state,
            topics=topics,
            generation=generation,
        )

    async def records(
        self,
        topic: str,
        at_least: int = 1,
        *,
        partition: int | None = None,
        committed: bool = False,
        since_now: bool = False,
        timeout: str = "10s",
    ) -> Waited:
        """So many records in a topic."""
        return await self._for(
            "records",
            timeout,
            topic=topic,
            at_least=at_least,
            partition=partition,
            committed=committed,
            since_now=since_now,
        )

    async def lag(
        self,
        group: str,
        at_most: int = 0,
        *,
        topics: Sequence[str] | None = None,
        timeout: str = "10s",
    ) -> Waited:
        """A group has committed all but so many records."""
        return await self._for("lag", timeout, group=group, at_most=at_most, topics=topics)

    async def committed(
        self, group: str, topic: str, partition: int, offset: int, *, timeout: str = "10s"
    ) -> Waited:
        """A group has committed an offset."""
        return await self._for(
            "committed", timeout, group=group, topic=topic, partition=partition, offset=offset
        )

    async def transaction(self, id: str, state: str, *, timeout: str = "10s") -> Waited:
        """A transactional id is in a state."""
        return await self._for("transaction", timeout, id=id, state=state)

    async def fault(
        self, fault: AsyncFault | str, applied: int = 1, *, timeout: str = "10s"
    ) -> Waited:
        """A fault was applied so often."""
        fault_id = fault if isinstance(fault, str) else fault.id
        return await self._for("fault", timeout, id=fault_id, applied=applied)

    async def held(
        self, fault: AsyncFault | str, count: int = 1, *, timeout: str = "10s"
    ) -> Waited:
        """A fault holds so many requests."""
        fault_id = fault if isinstance(fault, str) else fault.id
        return await self._for("held", timeout, id=fault_id, count=count)

    async def connections(
        self,
        client_id: str | None = None,
        *,
        at_least: int | None = None,
        at_most: int | None = None,
        timeout: str = "10s",
    ) -> Waited:
        """So many connections are open."""
        return await self._for(
            "connections", timeout, client_id=client_id, at_least=at_least, at_most=at_most
        )

    async def request(
        self, api: Any, *, count: int = 1, timeout: str = "10s", **when: Any
    ) -> Waited:
        """So many requests that meet these criteria come from now on."""
        return await self._for("request", timeout, when={"api": api, **when}, count=count)

    async def topic(
        self, name: str, *, exists: bool = True, leaders: bool = False, timeout: str = "10s"
    ) -> Waited:
        """A topic exists, or not."""
        return await self._for("topic", timeout, name=name, exists=exists, leaders=leaders)

    async def quiet(self, lasting: str = "1s", *, timeout: str = "10s") -> Waited:
        """Nothing was produced or committed for so long."""
        return await self.until(msgspec.convert({"quiet": {"for": lasting}}, Until), timeout)
