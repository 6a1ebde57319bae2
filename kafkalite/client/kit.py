"""The verbs as Python: what a broker for tests and a client over HTTP have in common.

async_kit.py is made from this file by `python -m kafkalite.client.make_async`; a test holds
them together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, Unpack

from kafkalite.client.errors import WaitTimeout
from kafkalite.client.looking import Looking
from kafkalite.client.parts import Clock, Fault, Faults, Group, Recording, Transaction
from kafkalite.client.values import (
    Headers,
    actions_of,
    fields_of,
    new_record,
    read_seed,
    text_of,
    written,
)
from kafkalite.client.waiting import Wait
from kafkalite.control.answers import (
    ClusterView,
    ConnectionView,
    FaultView,
    GroupView,
    NodeView,
    RecordView,
    Seeded,
    SnapshotView,
    TopicView,
    TransactionView,
    WasReset,
    Written,
)
from kafkalite.control.conversion import converted
from kafkalite.control.faults.rule import Action, Rule, When
from kafkalite.control.problems import not_found
from kafkalite.control.questions import Seed

if TYPE_CHECKING:
    from kafkalite.control.coordination import CoordinatorView
    from kafkalite.control.paging import Paging

Do = Action | Sequence[Action]


class Call(Protocol):
    """Does a verb: in this process, or over HTTP."""

    def __call__(self, verb: str, cluster: str, /, **fields: Any) -> Any:
        """The verb's answer. Raises Problem."""
        ...


class Kit(Looking):
    """The verbs of one cluster."""

    def __init__(self, call: Call, cluster: str = "default") -> None:
        self._do = call
        self.cluster = cluster

    def ask(self, verb: str, **fields: Any) -> Any:
        """Do a verb by its name in the table. Raises Problem."""
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
        return self.ask("clusters.show")

    # State

    def reset(
        self,
        to: str | None = None,
        *,
        keep: Sequence[Literal["faults", "clock"]] = (),
        connections: Literal["cut", "keep"] = "cut",
    ) -> WasReset:
        """Begin again at the same addresses, with nothing or with a snapshot (`to`).

        Connections are cut, or kept where no request is under way on them.
        """
        return self.ask("reset", to=to, keep=list(keep), connections=connections)

    def restart(self, *, unclean: bool = False) -> ClusterView:
        """Stop the broker and start it on its data; `unclean`: as after kill -9."""
        return self.ask("restart", unclean=unclean)

    def snapshot(self, name: str) -> SnapshotView:
        """Keep all data under a name."""
        return self.ask("snapshots.save", snapshot=name)

    def restore(self, name: str, *, clock: bool = False) -> ClusterView:
        """Go on from a snapshot; `clock`: at its time, too."""
        return self.ask("snapshots.restore", snapshot=name, clock=clock)

    def snapshots(self, **page: Unpack[Paging]) -> list[SnapshotView]:
        """All snapshots."""
        return self.ask("snapshots.list", **page)

    def export_snapshot(self, name: str, path: str | Path) -> Path:
        """Write a snapshot to a tar file."""
        saved = self.ask("snapshots.export", snapshot=name)
        return written(Path(path), saved.data)

    def import_snapshot(self, name: str, path: str | Path) -> SnapshotView:
        """Make a snapshot of a tar file, as `export` writes it. Raises Problem and OSError."""
        return self.ask("snapshots.import", snapshot=name, file=str(path))

    def export(self, path: str | Path) -> Path:
        """Write all data to a tar file: a data directory that Apache Kafka opens, too."""
        saved = self.ask("export")
        return written(Path(path), saved.data)

    def seed(self, seed: str | Path | Mapping[str, Any]) -> Seeded:
        """Make topics with records, groups with offsets, and set configs, of a dict or a file of
        JSON or YAML.
        """
        given = read_seed(Path(seed)) if isinstance(seed, (str, Path)) else seed
        checked = converted(given, Seed, strict=False)
        return self.ask("seed", **fields_of(checked))

    # Topics and records

    def topics(self, **page: Unpack[Paging]) -> list[TopicView]:
        """All topics but the internal ones."""
        return self.ask("topics.list", **page)

    def create_topic(
        self,
        name: str,
        partitions: int | None = None,
        replication_factor: int | None = None,
        configs: Mapping[str, object] | None = None,
    ) -> Any:
        """Create a topic; by the time this returns, every node serves it. Raises Problem."""
        return self.ask(
            "topics.create",
            topic=name,
            partitions=partitions,
            replication_factor=replication_factor,
            configs={key: text_of(value) for key, value in (configs or {}).items()},
        )

    def delete_topic(self, name: str) -> None:
        """Delete a topic with its records."""
        self.ask("topics.delete", topic=name)

    def lose(self, topic: str, partition: int = 0, to: int = -1) -> TopicView:
        """Lose the records before an offset (-1: all), as retention loses what is too old."""
        return self.ask("topics.lose", topic=topic, partition=partition, to=to)

    def gap(self, topic: str, first: int, end: int, partition: int = 0) -> TopicView:
        """Take the records from one offset to before another out; offsets stay."""
        return self.ask("topics.gap", topic=topic, first=first, end=end, partition=partition)

    def clean(self) -> int:
        """Apply retention and compaction to all that is written; by how much log starts
        moved.
        """
        found = self.ask("topics.clean")
        return int(found.removed)

    def topic(self, name: str) -> TopicView:
        """One topic with its partitions."""
        return self.ask("topics.show", topic=name)

    def records(
        self,
        topic: str,
        count: int | None = None,
        *,
        partition: int | None = None,
        from_: int | None = None,
        committed: bool = False,
        value_contains: str | None = None,
        wait: str = "10s",
    ) -> list[RecordView]:
        """The records of a topic; waits until there are `count`, if that is given.

        Raises WaitTimeout when there are fewer in the end.
        """
        found: list[RecordView] = self.ask(
            "records.read",
            topic=topic,
            count=100_000 if count is None else count,
            partition=partition,
            from_=from_,
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
        partition: int | None = 0,
        headers: Headers | None = None,
        timestamp: int | str | None = None,
        count: int = 1,
    ) -> Written:
        """Append a record, `count` times; its time in ms, or relative to the cluster's
        ("-7d"). None is the partition that Java's producer chooses for the key. Headers are a
        dict, or pairs where a name comes again.
        """
        record = new_record(value, key, partition, headers or (), timestamp, count)
        return self.ask("records.write", topic=topic, records=[record])

    # Groups and transactions

    def groups(self, **page: Unpack[Paging]) -> list[GroupView]:
        """All groups."""
        return self.ask("groups.list", **page)

    def group(self, group_id: str) -> Group:
        """One group."""
        return Group(self, group_id)

    def committed(self, group: str, topic: str, partition: int = 0) -> int:
        """The offset that a group has committed of a partition. Raises Problem if none."""
        found = self.ask("groups.committed", group=group, topic=topic, partition=partition)
        return int(found.offset)

    def transactions(self, **page: Unpack[Paging]) -> list[TransactionView]:
        """All transactional ids."""
        return self.ask("transactions.list", **page)

    def transaction(self, transactional_id: str) -> Transaction:
        """One transactional id."""
        return Transaction(self, transactional_id)

    # Nodes and connections

    def nodes(self, **page: Unpack[Paging]) -> list[NodeView]:
        """The nodes, and whether they are up."""
        return self.ask("nodes.list", **page)

    def stop_node(self, node_id: int) -> None:
        """Let a node go, as if its process had died."""
        self.ask("nodes.stop", node=node_id)

    def start_node(self, node_id: int) -> None:
        """Let a stopped node come back at its address."""
        self.ask("nodes.start", node=node_id)

    def restart_node(self, node_id: int, pause: str = "200ms") -> None:
        """Let a node go, as if its process had died, and come back after a while."""
        self.ask("nodes.restart", node=node_id, pause=pause)

    def add_node(self) -> int:
        """Let a new node join; its id."""
        added = self.ask("nodes.add")
        return int(added.node)

    def remove_node(self, node_id: int) -> None:
        """Let a node go for good."""
        self.ask("nodes.remove", node=node_id)

    def move_leader(
        self, topic: str, partition: int | None = None, to: int | None = None
    ) -> TopicView:
        """Have another node lead a partition, or each: the next in sync unless one is named."""
        return self.ask("topics.lead", topic=topic, partition=partition, to=to)

    def coordinator(
        self, *, group: str | None = None, transaction: str | None = None
    ) -> CoordinatorView:
        """The node that coordinates a group, or a transactional id."""
        return self.ask("coordinators.show", group=group, transaction=transaction)

    def move_coordinator(
        self, *, group: str | None = None, transaction: str | None = None, to: int | None = None
    ) -> CoordinatorView:
        """Have another node coordinate: the next in sync unless one is named."""
        return self.ask("coordinators.move", group=group, transaction=transaction, to=to)

    def connections(self, **page: Unpack[Paging]) -> list[ConnectionView]:
        """The connections that are open."""
        return self.ask("connections.list", **page)

    def close_connection(self, connection: str) -> None:
        """Cut a connection."""
        self.ask("connections.close", connection=connection)

    # Faults

    def recording(self, path: str | Path) -> Recording:
        """Record all frames into a file, for `kafkalite replay`: `with k.recording(path):`."""
        return Recording(self, Path(path))

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
        wake: bool = False,
        id: str = "",
        **when: Any,
    ) -> Fault:
        """Put a fault in: `fault("Produce", topic="orders", do=drop.after)`.

        All other keywords are criteria (`topic`, `partition`, `group`, `client_id`,
        `request`, ...).
        """
        rule = Rule(
            id=id,
            when=converted({"api": api, **when}, When),
            skip=skip,
            times=times,
            every=every,
            probability=probability,
            seed=seed,
            lasting=lasting,
            do=actions_of(do),
            sequence=tuple(tuple(turn) for turn in sequence),
            optional=optional,
            wake=wake,
        )
        return self._add(rule)

    def preset(self, name: str, **parameters: Any) -> Fault:
        """Put a ready-made fault in: `preset("lost_ack", topic="orders")`."""
        from kafkalite.control.faults.presets import PRESETS  # rarely needed

        if name not in PRESETS:
            raise not_found("preset", name, hint=", ".join(PRESETS))
        added = [self._add(rule) for rule in PRESETS[name].rules(parameters)]
        return added[0]

    def _add(self, rule: Rule) -> Fault:
        added: FaultView = self.ask("faults.add", **fields_of(rule))
        return Fault(self, added.rule.id)
