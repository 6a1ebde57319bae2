"""The answers of the verbs: plain values, for JSON and for Python alike. No broker is needed."""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

from msgspec import Struct

from kafkalite.control.faults.rule import Rule


class PartitionView(Struct, frozen=True):
    """A partition; offsets as the log has them."""

    partition: int
    leader: int
    leader_epoch: int
    replicas: list[int]
    in_sync_replicas: list[int]
    start_offset: int
    end_offset: int
    last_stable_offset: int
    size_bytes: int


class TopicView(Struct, frozen=True):
    """A topic with its partitions."""

    name: str
    topic_id: UUID
    internal: bool
    configs: dict[str, str]
    partitions: list[PartitionView]

    @property
    def records(self) -> int:
        """The offsets between start and end of all partitions."""
        return sum(each.end_offset - each.start_offset for each in self.partitions)


class MemberView(Struct, frozen=True):
    """A member; `ready`: it has acknowledged what it is assigned.

    `session_ends_in_ms` and `silent_ms`, the time since it was heard of, are null while it is
    parked in a request. `is_waited_for`: the group does not go on without it.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    ready: bool
    assigned: dict[str, list[int]]
    session_ends_in_ms: int | None
    silent_ms: int | None = None
    is_waited_for: bool = False


class CommittedView(Struct, frozen=True):
    """An offset that a group committed, and how far it is behind."""

    topic: str
    partition: int
    offset: int
    lag: int
    metadata: str


class GroupView(Struct, frozen=True):
    """A group; `generation` is the generation id or the group epoch."""

    id: str
    type: str
    state: str
    generation: int
    members: list[MemberView]
    offsets: list[CommittedView]


class TransactionView(Struct, frozen=True):
    """A transactional id and its last transaction."""

    id: str
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    started_ms: int
    partitions: list[str]


class Waited(Struct, frozen=True, omit_defaults=True):
    """Says what came of a wait; `because` says what is missing where it was in vain."""

    met: bool
    took_ms: int
    seen: dict[str, Any] = {}
    because: str = ""


class Due(Struct, frozen=True):
    """Something that happens, or will: when, by the cluster's clock, and what."""

    at_ms: int
    what: str


class Advanced(Struct, kw_only=True):
    """Says what a jump in time brought about."""

    from_ms: int
    now_ms: int = 0
    fired: list[Due] = []
    aborted: list[str] = []
    expired_members: list[str] = []
    kept_members: int = 0
    deleted_segments: int = 0
    notes: list[str] = []
    next_due: Due | None = None


class Cleaned(Struct, frozen=True):
    """By how much log start offsets have moved, in all."""

    removed: int


class Header(Struct, frozen=True, forbid_unknown_fields=True):
    """A header of a record, read or to be written: bytes that are no UTF-8 in base 64."""

    name: str
    value: str | None
    value_encoding: Literal["utf-8", "base64"] = "utf-8"


class RecordView(Struct, frozen=True, kw_only=True):
    """A record; `*_encoding` is "base64" for what is no UTF-8.

    `headers` has the last value of each name, `all_headers` all of them in their order.
    """

    partition: int
    offset: int
    timestamp: int
    key: str | None
    value: str | None
    headers: dict[str, str | None]
    all_headers: list[Header]
    key_encoding: str = "utf-8"
    value_encoding: str = "utf-8"


class FoundRecord(RecordView, frozen=True, kw_only=True):
    """A record that a search found, with the bytes of its key, value and headers."""

    size_bytes: int


class RecordsFound(Struct, frozen=True, kw_only=True):
    """Records by time, and the offsets by partition to go on from: `next`, and back, `before`.

    `searched` records were looked at; `exhausted`: there are no more that way.
    """

    records: list[FoundRecord]
    next: dict[int, int]
    before: dict[int, int]
    searched: int
    exhausted: bool


class DecodedView(Struct, frozen=True):
    """A key or value by its schema in the registry, or the problem with it."""

    schema_id: int
    kind: str
    name: str
    value: Any = None
    problem: str | None = None


class ShownRecord(FoundRecord, frozen=True, kw_only=True):
    """A record, and its key and value by the schemas that they name."""

    key_decoded: DecodedView | None = None
    value_decoded: DecodedView | None = None


class Place(Struct, frozen=True):
    """A partition and an offset in it."""

    partition: int
    offset: int


class Written(Struct, frozen=True):
    """Says where each record is."""

    places: list[Place]


class Expired(Struct, frozen=True):
    """The members that were let go."""

    members: list[str]


class NodeView(Struct, frozen=True):
    """A node, its address, and whether it is up."""

    node: int
    address: str
    up: bool


class ClusterView(Struct, frozen=True, kw_only=True):
    """A cluster: where it is, and how much there is."""

    name: str
    bootstrap: str
    cluster_id: str
    nodes: list[NodeView]
    topics: int
    records: int
    groups: int
    connections: int
    resets: int


class WasReset(Struct, frozen=True):
    """Says how long it took, what is gone, and how many connections were kept."""

    took_ms: float
    topics: int
    records: int
    groups: int
    connections: int = 0


class ConnectionView(Struct, frozen=True):
    """An open connection."""

    connection: str
    client_id: str
    node: int
    listener: str
    software: str = ""


class ClockView(Struct, frozen=True, kw_only=True):
    """The cluster's time in ms since the epoch, and what will be due next."""

    now_ms: int
    frozen: bool
    ahead_ms: int
    skew_ms: int
    due: list[Due]


class HitView(Struct, frozen=True):
    """One application of a fault: when, by the machine's clock and the cluster's, and to what.

    `seq` is the request's number, if the spy has kept it. To an operation on a file it has neither
    version nor correlation id, and `connection` is the file's name.
    """

    seq: int | None
    at_ms: float
    cluster_ms: int
    connection: str
    client_id: str
    api: str
    version: int | None
    correlation_id: int | None
    did: list[str]


class NearMissView(Struct, frozen=True):
    """A criterion that failed so often, and what was seen instead."""

    criterion: str
    count: int
    seen: list[str]


class FaultView(Struct, frozen=True, kw_only=True):
    """A fault, and what became of it."""

    rule: Rule
    matched: int
    applied: int
    left: int | None
    held: int
    seed: int
    hits: list[HitView]
    near: list[NearMissView]


class Released(Struct, frozen=True):
    """Says how many requests were let go."""

    released: int


class Unfired(Struct, frozen=True):
    """A sentence for each fault that was to be applied and was not."""

    unfired: list[str]


class PresetView(Struct, frozen=True):
    """A ready-made fault; `required` are the parameters without a default."""

    name: str
    doc: str
    parameters: list[str]
    required: list[str]


class SnapshotView(Struct, frozen=True):
    """A snapshot: files in all, how many of them are links, and the cluster's time when it was
    taken (None if a data directory came from elsewhere).
    """

    snapshot: str
    files: int
    linked: int
    size_bytes: int
    clock_ms: int | None = None


class Seeded(Struct, frozen=True):
    """Says how much was made."""

    topics: int
    records: int
    groups: int


class UnsupportedView(Struct, frozen=True):
    """A config that was set to another value than its default, and has no effect, or is unknown."""

    where: str
    name: str
    value: str
    why: str


class Health(Struct, frozen=True):
    """All is well."""

    status: str = "ok"


class VersionView(Struct, frozen=True):
    """The version of kafkalite."""

    version: str
