"""Values that may stand in a field of a request, by the field's name.

Mostly values that a client would send, sometimes values that none would. values_by_api.py has those
of single APIs. Left out are values that

- make an answer depend on the clock,
- lock the referee itself out: quotas that catch it, unregistering the broker, removing internal
  topics,
- reach beyond the story.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from conformance.differential.generated_requests.batches import ODDITIES, Batch, OddBatch
from conformance.differential.generated_requests.references import (
    NOBODY,
    Generation,
    Member,
    Name,
    ProducerEpoch,
    ProducerId,
    TopicId,
)
from conformance.harness.odd_batches import KINDS
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.compression import Compression

Values = SearchStrategy[Any]


def of(*values: Any) -> Values:
    """One of these; simplest first, for that is where hypothesis shrinks to."""
    return st.sampled_from(values)


def often(first: Any, *rest: Any, times: int = 4) -> Values:
    """The first far more often than each of the rest."""
    return of(*[first] * (times * len(rest)), *rest)


T0, T1, T2, T3 = (Name(f"t{number}") for number in range(4))
G0, G1 = Name("g0"), Name("g1")
X0, X1 = Name("x0"), Name("x1")
USER = Name("user")
HOUR_MS = 3_600_000
# The longest that there is: sessions that end change what later stories see of their groups.
SESSION_MS = 1_800_000

# Two that Apache Kafka's metrics cannot tell from each other: there is never but one of them.
DOT, UNDERSCORE = Name("t.4"), Name("t_4")
TOPIC = of(*[T0] * 8, *[T1] * 6, *[T2] * 4, T3, T3, DOT, UNDERSCORE, "", "a b", "..")
# An internal one is not written by clients.
TOPIC_TO_WRITE = st.one_of(*[TOPIC] * 19, st.just("__consumer_offsets"))
# Offsets may be kept under "" too, but that group would be all stories'.
NAMED_GROUP = of(*[G0] * 12, *[G1] * 6, Name("nobody"))
GROUP = of(*[G0] * 12, *[G1] * 6, "", Name("nobody"))
TRANSACTIONAL = of(*[X0] * 12, *[X1] * 6, "", Name("nobody"))
PARTITION = of(*[0] * 10, *[1] * 6, 2, 2, -1, 7)
SLOT_MEMBER = of(*[Member("a")] * 8, *[Member("b")] * 5, "", "nobody")
INSTANCE = of(*[None] * 10, "i", "i", "j", "")
LEADER_EPOCH = of(*[-1] * 8, 0, 0, 0, 1, 7)

# Every field of these names, in whatever API.
FIELDS: dict[str, Values] = {
    "topic": TOPIC,
    "topic_name": TOPIC,
    "topic_id": of(
        *[TopicId("t0")] * 8,
        *[TopicId("t1")] * 6,
        *[TopicId("t2")] * 3,
        TopicId("t3"),
        TopicId("t_4"),
        TopicId("t0", old=True),
        NOBODY,
    ),
    "partition_index": PARTITION,
    "partition": PARTITION,
    "index": PARTITION,
    "partitions[]": PARTITION,
    "partition_indexes[]": PARTITION,
    "replicas[]": often(1, 9, times=6),
    "broker_ids[]": often(1, 9, times=6),
    "group_id": GROUP,
    "groups[]": GROUP,
    "groups_names[]": GROUP,
    "group_ids[]": GROUP,
    "member_id": SLOT_MEMBER,
    "group_instance_id": INSTANCE,
    "generation_id": of(*[Generation()] * 12, Generation(1), Generation(-1), -1, 0),
    "transactional_id": TRANSACTIONAL,
    "v3_and_below_transactional_id": TRANSACTIONAL,
    "producer_id": often(ProducerId(), ProducerId(more=1_000_000), -1, times=8),
    "producer_epoch": often(ProducerEpoch(), ProducerEpoch(more=1), ProducerEpoch(more=-1), -1),
    "v3_and_below_producer_id": often(ProducerId(), ProducerId(more=1_000_000), times=10),
    "v3_and_below_producer_epoch": often(
        ProducerEpoch(), ProducerEpoch(more=1), ProducerEpoch(more=-1)
    ),
    "timeout_ms": st.just(30_000),
    "current_leader_epoch": LEADER_EPOCH,
    "leader_epoch": of(0, 0, 0, -1, 1, 5),
    "replica_id": often(-1, -2, times=8),
    "isolation_level": of(0, 0, 1),
    "rack_id": of("", "r", "r" * 300),
    "committed_offset": of(0, 1, 3, 5, 12, -1, -2, 2**63 - 1),
    "committed_leader_epoch": of(-1, 0, 3, -2),
    "committed_metadata": of("", "", "text ü", None, "m" * 4097),
    "validate_only": of(False, False, True),
    "allow_replication_factor_change": of(True, False),
    "include_topic_authorized_operations": of(False, True),
    "include_cluster_authorized_operations": of(False, True),
    "include_authorized_operations": of(False, True),
    "reason": of(None, "", "why not"),
}

# Names and values of configs that change nothing by the clock.
TOPIC_CONFIGS: Values = of(
    ("retention.ms", "7200000"),
    ("retention.ms", "-1"),
    ("retention.ms", "x"),
    ("retention.bytes", "-1"),
    ("cleanup.policy", "compact"),
    ("cleanup.policy", "delete"),
    ("cleanup.policy", "compact,delete"),
    ("cleanup.policy", "burn"),
    ("max.message.bytes", "100"),
    ("max.message.bytes", "1000000"),
    ("max.message.bytes", "-1"),
    ("message.timestamp.type", "LogAppendTime"),
    ("message.timestamp.type", "CreateTime"),
    ("message.timestamp.after.max.ms", "1000"),
    ("message.timestamp.before.max.ms", "3600000"),
    ("compression.type", "gzip"),
    ("compression.type", "producer"),
    ("compression.type", "zstd"),
    ("compression.type", "rar"),
    ("compression.zstd.level", "99"),
    ("min.insync.replicas", "2"),
    ("min.insync.replicas", "1"),
    ("min.insync.replicas", "0"),
    ("segment.bytes", "1048576"),
    ("segment.bytes", "12"),
    # A segment for each batch, or for some of them.
    ("internal.segment.bytes", "80"),
    ("internal.segment.bytes", "200"),
    ("internal.segment.bytes", "x"),
    ("segment.index.bytes", "3"),
    ("segment.index.bytes", "24"),
    ("segment.jitter.ms", "-1"),
    ("index.interval.bytes", "0"),
    ("delete.retention.ms", "1"),
    ("min.compaction.lag.ms", "100"),
    ("max.compaction.lag.ms", "50"),
    ("file.delete.delay.ms", " 7 "),
    ("flush.ms", "0"),
    ("compression.type", "lz4"),
    ("compression.type", "snappy"),
    ("compression.type", "uncompressed"),
    ("compression.gzip.level", "9"),
    ("compression.gzip.level", "0"),
    ("compression.lz4.level", "17"),
    ("message.timestamp.before.max.ms", "0"),
    ("flush.messages", "1"),
    ("min.cleanable.dirty.ratio", "0.7"),
    ("min.cleanable.dirty.ratio", "1.7"),
    ("unclean.leader.election.enable", "yes"),
    ("preallocate", "false"),
    ("no.such.config", "1"),
    ("follower.replication.throttled.replicas", "0:1"),
    ("leader.replication.throttled.replicas", "*"),
    ("leader.replication.throttled.replicas", "0-1"),
    ("cleanup.policy", ""),
    ("cleanup.policy", " delete , compact "),
    ("cleanup.policy", "delete,delete"),
    ("local.retention.ms", "-2"),
    ("local.retention.bytes", "5"),
    ("remote.log.copy.disable", "true"),
    ("remote.storage.enable", "false"),
    ("retention.ms", None),
    ("", "1"),
)
CONFIG_KEYS: Values = of(
    "retention.ms", "cleanup.policy", "max.message.bytes", "message.max.bytes", "log.retention.ms",
    "compression.type", "min.insync.replicas", "no.such.config", "",
)  # fmt: skip
GROUP_CONFIGS: Values = of(
    ("consumer.session.timeout.ms", "50000"),
    ("consumer.session.timeout.ms", "1"),
    ("consumer.heartbeat.interval.ms", "6000"),
    ("consumer.heartbeat.interval.ms", "x"),
    ("consumer.heartbeat.interval.ms", None),
    ("consumer.assignment.interval.ms", "0"),
    ("share.session.timeout.ms", "45000"),
    ("share.heartbeat.interval.ms", "15001"),
    ("share.record.lock.duration.ms", "15000"),
    ("share.delivery.count.limit", "3"),
    ("share.delivery.count.limit", "11"),
    ("share.partition.max.record.locks", "99"),
    ("share.auto.offset.reset", "earliest"),
    ("share.auto.offset.reset", "by_duration:PT1H"),
    ("share.auto.offset.reset", "by_duration:1"),
    ("share.isolation.level", "read_committed"),
    ("share.isolation.level", "READ_COMMITTED"),
    ("share.renew.acknowledge.enable", "no"),
    ("streams.num.standby.replicas", "2"),
    ("streams.num.standby.replicas", "3"),
    ("streams.initial.rebalance.delay.ms", "0"),
    ("streams.session.timeout.ms", "60001"),
    ("no.such.config", "1"),
)

METRICS_CONFIGS: Values = of(
    ("interval.ms", "300000"), ("interval.ms", "5"), ("metrics", "a"), ("no.such.config", "1")
)
# Type, names, and configs with their values. Brokers: only those that are not there.
RESOURCES: list[tuple[int, Values, Values]] = [
    *[(2, TOPIC, TOPIC_CONFIGS)] * 5,
    (32, GROUP, GROUP_CONFIGS),
    (16, of(Name("metrics"), ""), METRICS_CONFIGS),
    (4, of("7", "x"), TOPIC_CONFIGS),
    (7, TOPIC, TOPIC_CONFIGS),
]
DESCRIBED: list[tuple[int, Values]] = [
    *[(2, TOPIC)] * 6,
    (4, of("1", "1", "", "7", "x")),
    (32, GROUP),
    (16, of(Name("metrics"), "")),
    (8, of("7", "x")),
    (7, TOPIC),
]

BATCH_ODDITIES = of(*[""] * 40, *sorted(ODDITIES))
CODECS = of(*[Compression.NONE] * 6, *Compression)
BATCH: Values = st.one_of(
    st.builds(
        Batch,
        count=st.integers(1, 4),
        codec=CODECS,
        later_ms=st.integers(0, 60),
        is_keyed=often(True, False, times=6),
        oddity=BATCH_ODDITIES,
    ),
    st.builds(
        Batch,
        count=st.integers(1, 3),
        producer=of(1000, 1001),
        epoch=of(0, 0, 0, 1),
        sequence=of(0, 1, 2, 3, 4, 6, 2**31 - 2, -1),
        is_transactional=often(False, True, times=8),
        oddity=BATCH_ODDITIES,
    ),
    st.builds(
        Batch,
        count=st.integers(1, 3),
        producer=of("", "", "x0", "x1"),
        epoch=of(0, 0, 0, 0, 0, 1, -1),
        sequence=of(0, 0, 0, 1, 2, 3, 4),
        is_transactional=often(True, False, times=6),
    ),
    st.builds(
        OddBatch,
        kind=of(*KINDS),
        codec=CODECS,
        producer=of(None, None, 1000, 1001),
        sequence=of(0, 0, 1, 2, 3),
    ),
)

# The entities that quotas are set for; never all users, as the referee is one of them.
ENTITIES: Values = of(
    (("user", USER),),
    (("user", USER),),
    (("user", USER), ("client-id", Name("other"))),
    (("client-id", Name("other")),),
    (("user", USER), ("client-id", None)),
    (("ip", "10.0.0.1"), ("user", USER)),
    (("nonsense", USER),),
    (("user", ""),),
    (("", USER),),
    (),
)

# In these a request may name a thing twice: the protocol has an answer to that, or it harms nobody.
# In the others it depends on what stands beside it whether Apache Kafka's maps answer once, twice,
# with the first or with the last; it may even fall over it and never answer. No client does it.
MAY_REPEAT = {
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_GROUPS,
    ApiKey.DELETE_TOPICS,
    ApiKey.DESCRIBE_GROUPS,
    ApiKey.FETCH,
    ApiKey.FIND_COORDINATOR,
    ApiKey.LEAVE_GROUP,
    ApiKey.LIST_GROUPS,
    ApiKey.LIST_OFFSETS,
    ApiKey.METADATA,
    ApiKey.OFFSET_FETCH,
    ApiKey.SYNC_GROUP,
}
# Fields that identify a thing.
IDENTITY = (
    "name", "topic", "topic_name", "topic_id", "partition_index", "partition", "index", "path",
    "transactional_id", "resource_type", "resource_name", "entity_type", "feature",
    "key", "group_id",
)  # fmt: skip

# Members that join a group: a dynamic one, a static one, an unknown one. A member id that was
# given out, but not used yet, and now comes with an instance id makes Apache Kafka fail (-1).
JOINERS: Values = of(
    *[(Member("a"), None)] * 7,
    *[(Member("b"), None)] * 5,
    *[(Member("c"), "i")] * 3,
    ("", "i"),
    ("", "j"),
    ("nobody", None),
    ("nobody", "i"),
)

# Apache Kafka's hash table decides which of several failures is named. Among several markers it
# waits for those that it has skipped.
ONE_AT_MOST = {
    (ApiKey.WRITE_TXN_MARKERS, "markers"),
    (ApiKey.UPDATE_FEATURES, "feature_updates"),
    (ApiKey.ALTER_CLIENT_QUOTAS, "ops"),
}

# Lists without which Apache Kafka waits for what never comes.
NEVER_EMPTY = {
    (ApiKey.ADD_PARTITIONS_TO_TXN, "transactions"),
    (ApiKey.WRITE_TXN_MARKERS, "markers"),
    (ApiKey.WRITE_TXN_MARKERS, "topics"),
    (ApiKey.WRITE_TXN_MARKERS, "partition_indexes"),
}

# The probability of null, for nullable fields in which it is not one in six.
OFTEN_NULL = {"subscribed_topic_names", "topic_partitions", "assignments", "cursor"}
