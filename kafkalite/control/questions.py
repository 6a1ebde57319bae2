"""The requests of the verbs: plain values, for JSON and for Python alike. No broker is needed.

Fields whose names are in a verb's path are taken from there.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct

from kafkalite.control.answers import Header
from kafkalite.control.faults.rule import Duration, Rule, When

_MOST = 2**63 - 1
Offset: TypeAlias = Annotated[int, Meta(ge=0, le=_MOST)]
# -1: a record that has none.
Timestamp: TypeAlias = Annotated[int, Meta(ge=-1, le=_MOST)]


class GroupIs(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A group with so many members; `assigned`: each has acknowledged the partitions it has."""

    id: str
    state: str | None = None
    members: int | None = None
    assigned: bool = False
    topics: list[str] | None = None
    generation: int | None = None


class RecordsAre(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """So many records in a topic or partition; `committed`: up to the last stable offset."""

    topic: str
    at_least: int = 1
    partition: int | None = None
    committed: bool = False
    since_now: bool = False


class LagIs(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A group has committed all but so many records of what it has offsets for."""

    group: str
    at_most: int = 0
    topics: list[str] | None = None


class CommittedIs(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A group has committed this offset, or a later one."""

    group: str
    topic: str
    partition: int
    offset: int


class TransactionIs(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A transactional id is in this state, by Kafka's name: "Ongoing", "CompleteAbort"."""

    id: str
    state: str


class RequestCame(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """So many requests that meet these criteria have come since the waiting began."""

    when: When
    count: int = 1


class FaultIs(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A fault was applied so often."""

    id: str
    applied: int = 1


class HeldAre(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A fault holds so many requests now."""

    id: str
    count: int = 1


class ConnectionsAre(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """So many connections are open, of one client id or of all."""

    client_id: str | None = None
    at_least: int | None = None
    at_most: int | None = None


class TopicIs(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A topic exists, or does not; `leaders`: all its partitions have one."""

    name: str
    exists: bool = True
    leaders: bool = False


class QuietFor(
    Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, rename={"lasting": "for"}
):
    """Nothing was produced or committed, and no group changed, for so long in real time."""

    lasting: Duration = "1s"


class Until(
    Struct,
    frozen=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    kw_only=True,
    rename={"not_": "not"},
):
    """One condition: exactly one of these is given."""

    group: GroupIs | None = None
    records: RecordsAre | None = None
    lag: LagIs | None = None
    committed: CommittedIs | None = None
    transaction: TransactionIs | None = None
    request: RequestCame | None = None
    fault: FaultIs | None = None
    held: HeldAre | None = None
    connections: ConnectionsAre | None = None
    topic: TopicIs | None = None
    quiet: QuietFor | None = None
    all: Annotated[tuple[Until, ...], Meta(min_length=1)] | None = None
    any: Annotated[tuple[Until, ...], Meta(min_length=1)] | None = None
    not_: Until | None = None


class Nothing(Struct, frozen=True, forbid_unknown_fields=True):
    """No arguments, or no results."""


class TopicName(Struct, frozen=True, forbid_unknown_fields=True):
    """A topic."""

    topic: str


class CreateTopic(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A new topic; the broker's defaults where nothing is said."""

    topic: str
    partitions: int | None = None
    replication_factor: int | None = None
    configs: dict[str, str] = {}


class LoseRecords(Struct, frozen=True, forbid_unknown_fields=True):
    """The partition that loses records, and the first offset that stays; -1: none does."""

    topic: str
    partition: int = 0
    to: Annotated[int, Meta(ge=-1, le=_MOST)] = -1


class GapInTopic(Struct, frozen=True, forbid_unknown_fields=True):
    """Offsets from `first` to before `end` of a partition."""

    topic: str
    first: int
    end: int
    partition: int = 0


class ReadRecords(
    Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, rename={"from_": "from"}
):
    """Records of a topic: from an offset on, so many, committed ones only, or with some text."""

    topic: str
    count: Annotated[int, Meta(ge=0, le=100_000)] = 100
    partition: int | None = None
    from_: int | None = None
    committed: bool = False
    value_contains: str | None = None
    wait: Duration | None = None


class SearchRecords(
    Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, rename={"from_": "from"}
):
    """The places to begin, text to find `within` parts of a record, and the bytes of a preview."""

    topic: str
    count: Annotated[int, Meta(ge=1, le=10_000)] = 100
    partition: int | None = None
    text: str | None = None
    within: list[Literal["key", "value", "headers"]] = []
    from_: int | None = None
    since: int | str | None = None
    newest: bool = False
    positions: dict[int, int] = {}
    before: dict[int, int] = {}
    committed: bool = False
    preview: Annotated[int, Meta(ge=1)] | None = None


class RecordPlace(Struct, frozen=True, forbid_unknown_fields=True):
    """A record by its partition and offset."""

    topic: str
    partition: int
    offset: int


Encoding: TypeAlias = Literal["utf-8", "base64"]
# Its end is where no character follows: `$` is before a line end, too.
NameText: TypeAlias = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}(?![\s\S])",
        description="1 to 100 letters, digits, '.', '_' and '-', the first a letter or a digit",
    ),
]


class NewRecord(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A record, `count` times; its time in ms, or relative to the cluster's: "-7d".

    `json` and `base64` are other ways to write its value. A record without a
    partition (null) goes to that which Java's producer chooses for its key, or to the first.
    `all_headers` follow `headers`: a name may come again there, and a value be null or bytes.
    """

    value: str | None = None
    key: str | None = None
    partition: int | None = 0
    headers: dict[str, str] = {}
    timestamp: Timestamp | str | None = None
    key_encoding: Encoding = "utf-8"
    value_encoding: Encoding = "utf-8"
    count: Annotated[int, Meta(ge=1, le=100_000)] = 1
    json: Any = UNSET
    base64: str | None = None
    all_headers: list[Header] = []


class WriteRecords(Struct, frozen=True, forbid_unknown_fields=True):
    """Records for a topic."""

    topic: str
    records: list[NewRecord]


class GroupName(Struct, frozen=True, forbid_unknown_fields=True):
    """A group."""

    group: str


class CommittedOffset(Struct, frozen=True, forbid_unknown_fields=True):
    """A partition of which a group may have committed an offset."""

    group: str
    topic: str
    partition: int = 0


class SeekGroup(Struct, frozen=True, forbid_unknown_fields=True):
    """The place where a group goes on, in all partitions unless told: an offset, "earliest",
    "latest", or with `since` the first record of a time: ms, or before the cluster's ("-5m").
    """

    group: str
    topic: str
    to: Offset | str | None = None
    partition: int | None = None
    since: int | str | None = None


class ExpireMembers(Struct, frozen=True, forbid_unknown_fields=True):
    """A member by member id, instance id or client id; all if none is named."""

    group: str
    member: str | None = None


class RebalanceGroup(Struct, frozen=True, forbid_unknown_fields=True):
    """A group, and how often it is to rebalance."""

    group: str
    times: Annotated[int, Meta(ge=1, le=1000)] = 1
    every: Duration = "200ms"


class TransactionName(Struct, frozen=True, forbid_unknown_fields=True):
    """A transactional id."""

    transaction: str


class ClusterName(Struct, frozen=True, forbid_unknown_fields=True):
    """A cluster by its name."""

    cluster: str


class CreateCluster(
    Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, rename={"from_": "from"}
):
    """A cluster of its own: so many nodes, these configs, the data `from` this snapshot.

    `seed` is the number of which its ids are made. `as_version`: the release of Apache Kafka that
    it looks like.
    """

    name: NameText | None = None
    nodes: Annotated[int, Meta(ge=1, le=32)] = 1
    configs: dict[str, str] = {}
    from_: str | None = None
    seed: int | None = None
    as_version: str | None = None
    idle_end: Duration | None = "30m"


class Advance(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """By a duration, to a time in ms, or to what is due next."""

    by: Duration | None = None
    to: int | None = None
    next: bool = False
    members: Literal["keep", "expire"] = "keep"


class Skew(Struct, frozen=True, forbid_unknown_fields=True):
    """Says how far timestamps are to be off; may be negative."""

    by: Duration


class Wait(Struct, frozen=True, forbid_unknown_fields=True):
    """A condition, and how long to wait for it."""

    until: Until
    timeout: Duration = "10s"


class FaultName(Struct, frozen=True, forbid_unknown_fields=True):
    """A fault by its id."""

    fault: str


class Faults(Struct, frozen=True, forbid_unknown_fields=True):
    """All faults that there are to be."""

    faults: list[Rule]


class UsePreset(Struct, frozen=True, forbid_unknown_fields=True):
    """A ready-made fault by its name, and its parameters."""

    preset: str
    parameters: dict[str, Any] = {}


class ReleaseFault(Struct, frozen=True, forbid_unknown_fields=True):
    """A fault that holds requests, and how many of them may go; all unless told."""

    fault: str
    count: Annotated[int, Meta(ge=1)] | None = None


class SnapshotName(Struct, frozen=True, forbid_unknown_fields=True):
    """A snapshot by its name."""

    snapshot: NameText


class SeedTopic(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A topic with its records."""

    name: str
    partitions: int | None = None
    configs: dict[str, str] = {}
    records: list[NewRecord] = []


class SeedGroup(Struct, frozen=True, forbid_unknown_fields=True):
    """A group with its offsets, by topic and partition."""

    id: str
    offsets: dict[str, dict[int, Offset]]


class Seed(Struct, frozen=True, forbid_unknown_fields=True):
    """Topics with records, groups with offsets, and configs of the whole cluster."""

    topics: list[SeedTopic] = []
    groups: list[SeedGroup] = []
    configs: dict[str, str] = {}
