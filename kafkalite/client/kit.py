"""The verbs as Python: what a broker for tests and a client over HTTP have in common.

async_kit.py is made from this file by `python -m kafkalite.client.make_async`; a test holds them together.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Protocol, Self

import msgspec

from kafkalite.client.errors import WaitTimeout
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

Do = Action | Sequence[Action]


class Call(Protocol):
    """Does a verb: in this process, or over HTTP."""

    def __call__(self, verb: str, cluster: str, /, **fields: Any) -> Any:
        """The verb's answer. Raises Problem."""
        ...


class Kit:
    """The verbs of one cluster."""

    def __init__(self, call: Call, cluster: str = "default") -> None:
        self._do = call
        self.cluster = cluster

    def _ask(self, verb: str, **fields: Any) -> Any:
        return self._do(verb, self.cluster, **fields)

    @property
    def clock(self) -> Clock:
        """The cluster's time."""
        return Clock(self)

    @property
    def wait(self) -> Wait:
        """Waiting in the broker."""
        return Wait(self)

    @property
    def faults(self) -> Faults:
        """All faults."""
        return Faults(self)

    def describe(self) -> ClusterView:
        """The cluster's addresses, and how much there is."""
        described: ClusterView = self._ask("clusters.show")
        return described

    # State

    def reset(self, keep: Sequence[Literal["faults", "clock"]] = ()) -> WasReset:
        """Begin again with nothing, at the same addresses."""
        was: WasReset = self._ask("reset", keep=list(keep))
        return was

    def restart(self, *, unclean: bool = False) -> ClusterView:
        """Stop the broker and start it on its data; `unclean`: as after kill -9."""
        described: ClusterView = self._ask("restart", unclean=unclean)
        return described

    def snapshot(self, name: str) -> SnapshotView:
        """Keep all data under a name."""
        saved: SnapshotView = self._ask("snapshots.save", snapshot=name)
        return saved

    def restore(self, name: str) -> ClusterView:
        """Go on from a snapshot."""
        described: ClusterView = self._ask("snapshots.restore", snapshot=name)
        return described

    def snapshots(self) -> list[SnapshotView]:
        """All snapshots."""
        found: list[SnapshotView] = self._ask("snapshots.list")
        return found

    def seed(self, seed: str | Path | Mapping[str, Any]) -> Seeded:
        """Make topics with records and groups with offsets, of a dict or a file of JSON or YAML."""
        given = read_seed(Path(seed)) if isinstance(seed, (str, Path)) else seed
        checked = msgspec.convert(given, Seed, strict=False)
        made: Seeded = self._ask("seed", topics=checked.topics, groups=checked.groups)
        return made

    # Topics and records

    def topics(self) -> list[TopicView]:
        """All topics but the internal ones."""
        found: list[TopicView] = self._ask("topics.list")
        return found

    def create_topic(
        self,
        name: str,
        partitions: int | None = None,
        replication_factor: int | None = None,
        configs: Mapping[str, object] | None = None,
    ) -> Any:
        """Create a topic; by the time this returns, every node serves it. Raises Problem."""
        return self._ask(
            "topics.create",
            topic=name,
            partitions=partitions,
            replication_factor=replication_factor,
            configs={key: text_of(value) for key, value in (configs or {}).items()},
        )

    def delete_topic(self, name: str) -> None:
        """Delete a topic with its records."""
        self._ask("topics.delete", topic=name)

    def lose(self, topic: str, partition: int = 0, to: int = -1) -> TopicView:
        """Lose the records before an offset (-1: all), as retention loses what is too old."""
        found: TopicView = self._ask("topics.lose", topic=topic, partition=partition, to=to)
        return found

    def gap(self, topic: str, first: int, end: int, partition: int = 0) -> TopicView:
        """Take the records from one offset to before another out; offsets stay."""
        found: TopicView = self._ask(
            "topics.gap", topic=topic, first=first, end=end, partition=partition
        )
        return found

    def clean(self) -> int:
        """Apply retention and compaction to all that is written; by how much log starts moved."""
        found = self._ask("topics.clean")
        return int(found.removed)

    def topic(self, name: str) -> TopicView:
        """One topic with its partitions."""
        found: TopicView = self._ask("topics.show", topic=name)
        return found

    def records(
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
        found: list[RecordView] = self._ask(
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

    def produce(
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
        written: Written = self._ask("records.write", topic=topic, records=[record])
        return written

    # Groups and transactions

    def groups(self) -> list[GroupView]:
        """All groups."""
        found: list[GroupView] = self._ask("groups.list")
        return found

    def group(self, group_id: str) -> Group:
        """One group."""
        return Group(self, group_id)

    def committed(self, group: str, topic: str, partition: int = 0) -> int:
        """The offset that a group has committed of a partition. Raises Problem if none."""
        found = self._ask("groups.committed", group=group, topic=topic, partition=partition)
        return int(found.offset)

    def transactions(self) -> list[TransactionView]:
        """All transactional ids."""
        found: list[TransactionView] = self._ask("transactions.list")
        return found

    def transaction(self, transactional_id: str) -> Transaction:
        """One transactional id."""
        return Transaction(self, transactional_id)

    # Nodes and connections

    def nodes(self) -> list[NodeView]:
        """The nodes, and whether they are up."""
        found: list[NodeView] = self._ask("nodes.list")
        return found

    def stop_node(self, node_id: int) -> None:
        """Let a node go, as if its process had died."""
        self._ask("nodes.stop", node=node_id)

    def start_node(self, node_id: int) -> None:
        """Let a stopped node come back at its address."""
        self._ask("nodes.start", node=node_id)

    def add_node(self) -> int:
        """Let a new node join; its id."""
        added = self._ask("nodes.add")
        return int(added.node)

    def remove_node(self, node_id: int) -> None:
        """Let a node go for good."""
        self._ask("nodes.remove", node=node_id)

    def move_leader(self, topic: str, partition: int, to: int) -> TopicView:
        """Have another node lead a partition."""
        found: TopicView = self._ask("topics.lead", topic=topic, partition=partition, to=to)
        return found

    def connections(self) -> list[ConnectionView]:
        """The connections that are open."""
        found: list[ConnectionView] = self._ask("connections.list")
        return found

    def close_connection(self, connection: str) -> None:
        """Cut a connection."""
        self._ask("connections.close", connection=connection)

    # Faults

    def fault(
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
    ) -> Fault:
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
        return self._add(rule)

    def preset(self, name: str, **parameters: Any) -> Fault:
        """Put a ready-made fault in: `preset("lost_ack", topic="orders")`."""
        added = [self._add(rule) for rule in preset(name, **parameters)]
        return added[0]

    def _add(self, rule: Rule) -> Fault:
        added: FaultView = self._ask("faults.add", **fields_of(rule))
        return Fault(self, added.rule.id)


class Faults:
    """All faults of a cluster."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit

    def list(self) -> list[FaultView]:
        """All faults with what became of them."""
        found: list[FaultView] = self._kit._ask("faults.list")
        return found

    def clear(self) -> None:
        """Take all out, and let go what they hold."""
        self._kit._ask("faults.clear")

    def unfired(self) -> Sequence[str]:
        """A sentence for each that was to be applied and was not."""
        found = self._kit._ask("faults.unfired")
        sentences: Sequence[str] = found.unfired
        return sentences


class Fault:
    """One fault. As a context manager it is taken out in the end."""

    def __init__(self, kit: Kit, fault_id: str) -> None:
        self._kit = kit
        self.id = fault_id

    def show(self) -> FaultView:
        """How often it matched, what it did, what came instead."""
        found: FaultView = self._kit._ask("faults.show", fault=self.id)
        return found

    @property
    def applied(self) -> int:
        """How often it was applied."""
        shown = self.show()
        return shown.applied

    def release(self, count: int | None = None) -> int:
        """Let go what it holds; how many requests that were."""
        found = self._kit._ask("faults.release", fault=self.id, count=count)
        return int(found.released)

    def remove(self) -> None:
        """Take it out."""
        self._kit._ask("faults.remove", fault=self.id)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.remove()


class Group:
    """One group."""

    def __init__(self, kit: Kit, group_id: str) -> None:
        self._kit = kit
        self.id = group_id

    def show(self) -> GroupView:
        """Members, what they are assigned, offsets and lag. Raises Problem if there is none."""
        found: GroupView = self._kit._ask("groups.show", group=self.id)
        return found

    def expire(self, member: str | None = None) -> Sequence[str]:
        """Let a member go (by member, instance or client id), or all."""
        found = self._kit._ask("groups.expire", group=self.id, member=member)
        members: Sequence[str] = found.members
        return members

    def rebalance(self, times: int = 1, every: str = "200ms") -> GroupView:
        """Begin a rebalance, or several."""
        found: GroupView = self._kit._ask(
            "groups.rebalance", group=self.id, times=times, every=every
        )
        return found

    def seek(self, topic: str, to: int | str, partition: int | None = None) -> GroupView:
        """Set the offsets of a group without members: an offset, "earliest" or "latest"."""
        found: GroupView = self._kit._ask(
            "groups.seek", group=self.id, topic=topic, to=to, partition=partition
        )
        return found

    def delete(self) -> None:
        """Forget a group without members."""
        self._kit._ask("groups.delete", group=self.id)


class Transaction:
    """One transactional id."""

    def __init__(self, kit: Kit, transactional_id: str) -> None:
        self._kit = kit
        self.id = transactional_id

    def show(self) -> TransactionView:
        """Its last transaction."""
        found: TransactionView = self._kit._ask("transactions.show", transaction=self.id)
        return found

    @property
    def state(self) -> str:
        """Its state by Kafka's name: "Ongoing", "CompleteAbort"."""
        shown = self.show()
        return shown.state

    def fence(self) -> TransactionView:
        """Take the id away from its producer."""
        found: TransactionView = self._kit._ask("transactions.fence", transaction=self.id)
        return found

    def abort(self) -> TransactionView:
        """Abort its open transaction."""
        found: TransactionView = self._kit._ask("transactions.abort", transaction=self.id)
        return found


class Clock:
    """A cluster's time."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit

    def show(self) -> ClockView:
        """The time, and what is due next."""
        found: ClockView = self._kit._ask("clock.show")
        return found

    @property
    def now_ms(self) -> int:
        """The time in ms since the epoch."""
        shown = self.show()
        return shown.now_ms

    @property
    def due(self) -> list[Due]:
        """What time will bring about next."""
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
        """Move time on; what it caused. Members whose connections are open keep their sessions."""
        done: Advanced = self._kit._ask("clock.advance", by=by, to=to, next=next, members=members)
        return done

    def freeze(self) -> ClockView:
        """Let time stand still."""
        found: ClockView = self._kit._ask("clock.freeze")
        return found

    def run(self) -> ClockView:
        """Let time go on."""
        found: ClockView = self._kit._ask("clock.run")
        return found

    def skew(self, by: str) -> ClockView:
        """Let timestamps be off by so much."""
        found: ClockView = self._kit._ask("clock.skew", by=by)
        return found

    def reset(self) -> ClockView:
        """Write the machine's time again, and run."""
        found: ClockView = self._kit._ask("clock.reset")
        return found

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Time stands still within: `with clock.frozen(): breakpoint()`."""
        self.freeze()
        try:
            yield
        finally:
            self.run()


class Wait:
    """Waiting in the broker. Each raises WaitTimeout with a sentence that says what is missing."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit

    def until(self, until: Until | Mapping[str, Any], timeout: str = "10s") -> Waited:
        """Wait for any condition, as data."""
        condition = until if isinstance(until, Until) else msgspec.convert(until, Until)
        waited: Waited = self._kit._ask("wait", until=condition, timeout=timeout)
        if not waited.met:
            raise WaitTimeout(f"{waited.because} (after {timeout})")
        return waited

    def _for(self, kind: str, timeout: str, **fields: Any) -> Waited:
        given = {name: value for name, value in fields.items() if value is not None}
        return self.until({kind: given}, timeout)

    def group(
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
        return self._for(
            "group",
            timeout,
            id=id,
            members=members,
            assigned=assigned,
            state=state,
            topics=topics,
            generation=generation,
        )

    def records(
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
        return self._for(
            "records",
            timeout,
            topic=topic,
            at_least=at_least,
            partition=partition,
            committed=committed,
            since_now=since_now,
        )

    def lag(
        self,
        group: str,
        at_most: int = 0,
        *,
        topics: Sequence[str] | None = None,
        timeout: str = "10s",
    ) -> Waited:
        """A group has committed all but so many records."""
        return self._for("lag", timeout, group=group, at_most=at_most, topics=topics)

    def committed(
        self, group: str, topic: str, partition: int, offset: int, *, timeout: str = "10s"
    ) -> Waited:
        """A group has committed an offset."""
        return self._for(
            "committed", timeout, group=group, topic=topic, partition=partition, offset=offset
        )

    def transaction(self, id: str, state: str, *, timeout: str = "10s") -> Waited:
        """A transactional id is in a state."""
        return self._for("transaction", timeout, id=id, state=state)

    def fault(self, fault: Fault | str, applied: int = 1, *, timeout: str = "10s") -> Waited:
        """A fault was applied so often."""
        fault_id = fault if isinstance(fault, str) else fault.id
        return self._for("fault", timeout, id=fault_id, applied=applied)

    def held(self, fault: Fault | str, count: int = 1, *, timeout: str = "10s") -> Waited:
        """A fault holds so many requests."""
        fault_id = fault if isinstance(fault, str) else fault.id
        return self._for("held", timeout, id=fault_id, count=count)

    def connections(
        self,
        client_id: str | None = None,
        *,
        at_least: int | None = None,
        at_most: int | None = None,
        timeout: str = "10s",
    ) -> Waited:
        """So many connections are open."""
        return self._for(
            "connections", timeout, client_id=client_id, at_least=at_least, at_most=at_most
        )

    def request(self, api: Any, *, count: int = 1, timeout: str = "10s", **when: Any) -> Waited:
        """So many requests that meet these criteria come from now on."""
        return self._for("request", timeout, when={"api": api, **when}, count=count)

    def topic(
        self, name: str, *, exists: bool = True, leaders: bool = False, timeout: str = "10s"
    ) -> Waited:
        """A topic exists, or not."""
        return self._for("topic", timeout, name=name, exists=exists, leaders=leaders)

    def quiet(self, lasting: str = "1s", *, timeout: str = "10s") -> Waited:
        """Nothing was produced or committed for so long."""
        return self.until(msgspec.convert({"quiet": {"for": lasting}}, Until), timeout)


def text_of(value: object) -> str:
    """A config's value as Kafka writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def fields_of(struct: msgspec.Struct) -> dict[str, Any]:
    """The fields of a request, by their names in Python."""
    return {name: getattr(struct, name) for name in struct.__struct_fields__}


def new_record(
    value: str | bytes | None,
    key: str | bytes | None,
    partition: int,
    headers: Mapping[str, str],
    timestamp: int | str | None,
    count: int,
) -> Any:
    """A record as the verb takes it; bytes go in base 64."""
    import base64

    from kafkalite.control.types import NewRecord

    def shown(data: str | bytes | None) -> tuple[str | None, Literal["utf-8", "base64"]]:
        if isinstance(data, bytes):
            return base64.b64encode(data).decode(), "base64"
        return data, "utf-8"

    value_text, value_encoding = shown(value)
    key_text, key_encoding = shown(key)
    return NewRecord(
        value_text,
        key_text,
        partition,
        dict(headers),
        timestamp,
        key_encoding,
        value_encoding,
        count,
    )


def read_seed(path: Path) -> Mapping[str, Any]:
    """A seed file. Raises OSError."""
    text = path.read_text()
    if path.suffix == ".json":
        loaded: Mapping[str, Any] = json.loads(text)
        return loaded
    import yaml

    loaded = yaml.safe_load(text)
    return loaded
