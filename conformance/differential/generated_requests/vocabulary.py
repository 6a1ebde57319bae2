"""Values that may stand in a field of a request: by the field's name, and by API where it needs its
own.

Mostly what a client would send, sometimes what none would. Left out is what would decide by the
clock what an answer is, what would lock the referee itself out (quotas that catch it, the broker
unregistering itself, removing the internal topics), and what reaches past the story.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from conformance.differential.generated_requests.references import (
    NOBODY,
    ODDITIES,
    Batch,
    Generation,
    LogDirectory,
    Member,
    MemberEpoch,
    Moment,
    Name,
    Pattern,
    ProducerEpoch,
    ProducerId,
    SessionEpoch,
    SessionId,
    TopicId,
)
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
SUBSCRIBED = bytes.fromhex("0000 00000000 ffffffff")
SUBSCRIBED_TOO = bytes.fromhex("0000 00000000 00000001 2a")

TOPIC = of(*[T0] * 8, *[T1] * 6, *[T2] * 4, T3, T3, "", "a b")
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
    "rack_id": of("", "r"),
    "committed_offset": of(0, 1, 3, 5, 12, -1),
    "committed_leader_epoch": of(-1, 0, 3),
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
    ("flush.messages", "1"),
    ("min.cleanable.dirty.ratio", "0.7"),
    ("min.cleanable.dirty.ratio", "1.7"),
    ("unclean.leader.election.enable", "yes"),
    ("preallocate", "false"),
    ("no.such.config", "1"),
    ("follower.replication.throttled.replicas", "0:1"),
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
    ("no.such.config", "1"),
)

METRICS_CONFIGS: Values = of(
    ("interval.ms", "1000"), ("interval.ms", "5"), ("metrics", "a"), ("no.such.config", "1")
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
)

# Where an API needs its own.
BY_API: dict[ApiKey, dict[str, Values]] = {
    ApiKey.PRODUCE: {
        "name": TOPIC,
        "transactional_id": of(*[None] * 6, X0, X0, X0, X1, X1, ""),
        "acks": of(*[-1] * 6, *[1] * 4, 0, 2),
        # Not null, which the schema allows: Apache Kafka falls over it and never answers.
        "records": BATCH,
    },
    ApiKey.FETCH: {
        "max_wait_ms": often(0, 20, times=10),
        "min_bytes": of(1, 1, 0, 10_000),
        "max_bytes": of(10_000_000, 10_000_000, 100, 1, 0),
        "session_id": of(0, 0, SessionId("s"), SessionId("s"), SessionId("s"), 12_345),
        "session_epoch": of(
            0, -1, *[SessionEpoch("s")] * 6, SessionEpoch("s", 1), SessionEpoch("s", -1)
        ),
        "fetch_offset": of(0, 0, 0, 1, 2, 3, 4, 5, 8, 13, 1000, -1),
        "last_fetched_epoch": of(*[-1] * 6, 0, 0, 1, 5),
        "log_start_offset": of(-1, 0, 3),
        "partition_max_bytes": of(1_000_000, 1_000_000, 100, 1, 0),
        "replica_id": st.just(-1),
    },
    ApiKey.LIST_OFFSETS: {
        "name": TOPIC,
        "timestamp": of(*range(-1, -8, -1), 0, 1, Moment(0), Moment(5), Moment(20), Moment(99)),
    },
    ApiKey.METADATA: {
        "name": of(*[T0] * 5, T1, T1, T2, T3, "", "a b", None),
        "topic_id": of(
            *[UUID(int=0)] * 6, TopicId("t0"), TopicId("t1"), TopicId("t0", old=True), NOBODY
        ),
        "allow_auto_topic_creation": often(False, True, times=2),
    },
    ApiKey.OFFSET_COMMIT: {
        "group_id": NAMED_GROUP,
        "name": TOPIC,
        "generation_id_or_member_epoch": of(
            *[-1] * 5, *[Generation()] * 6, MemberEpoch(), MemberEpoch(), Generation(1)
        ),
        "member_id": of(*[""] * 4, *[Member("a")] * 5, Member("b"), Member("b"), "nobody"),
        "retention_time_ms": of(-1, HOUR_MS),
    },
    ApiKey.OFFSET_FETCH: {
        "name": TOPIC,
        "member_id": of(*[None] * 6, "", Member("a"), Member("b")),
        "member_epoch": of(*[-1] * 6, MemberEpoch(), MemberEpoch(), 0),
        "require_stable": of(False, True),
    },
    ApiKey.FIND_COORDINATOR: {
        "key": of(G0, G1, X0, ""),
        "coordinator_keys[]": of(G0, G1, X0, ""),
        "key_type": of(0, 0, 0, 1, 1, 3, -1),
    },
    ApiKey.JOIN_GROUP: {
        "session_timeout_ms": of(*[300_000] * 10, 5_999, 1_800_001),
        "rebalance_timeout_ms": st.just(300_000),
        "protocol_type": often("consumer", "connect", "", times=8),
    },
    ApiKey.SYNC_GROUP: {
        "protocol_type": of(*["consumer"] * 8, None, None, "connect"),
        "protocol_name": of(*["range"] * 8, None, None, "roundrobin"),
        "assignment": of(b"assigned", b"", b"more"),
    },
    ApiKey.LIST_GROUPS: {
        "states_filter[]": of("Stable", "Empty", "stable", "Dead", "PreparingRebalance", "None"),
        "types_filter[]": of("classic", "consumer", "Classic", "share", "nonsense"),
    },
    ApiKey.API_VERSIONS: {
        "client_software_name": of("referee", "a b", "", "-"),
        "client_software_version": of("1.0", "1.0-x", "", "."),
    },
    ApiKey.CREATE_TOPICS: {
        "name": of(*[T3] * 6, T0, T0, T1, T2, "", "a b", "x" * 250, Pattern("t0.x")),
        "num_partitions": of(1, 2, 3, -1, 0, -2),
        "replication_factor": of(1, 1, 1, 1, -1, 2, 0),
    },
    ApiKey.DELETE_TOPICS: {
        "name": of(*[None] * 3, T0, T1, T2, T3, ""),
        "topic_names[]": of(T0, T1, T2, T3, T3, ""),
    },
    ApiKey.DELETE_RECORDS: {"name": TOPIC, "offset": of(0, 1, 2, 3, 5, -1, -1, -2, 100)},
    ApiKey.INIT_PRODUCER_ID: {
        "transactional_id": of(*[X0] * 6, X1, X1, X1, None, ""),
        "transaction_timeout_ms": of(*[600_000] * 8, 900_001, 0, -1),
        "producer_id": often(-1, ProducerId(), ProducerId(more=1_000_000), times=2),
        "producer_epoch": often(-1, ProducerEpoch(), ProducerEpoch(more=-1), times=2),
    },
    ApiKey.ADD_PARTITIONS_TO_TXN: {"name": TOPIC, "verify_only": of(False, False, True)},
    ApiKey.END_TXN: {"committed": of(True, False)},
    ApiKey.WRITE_TXN_MARKERS: {
        "name": of(T0, T0, T1, T3, ""),
        "producer_id": of(ProducerId("x0"), ProducerId("x1"), 1000),
        "producer_epoch": of(ProducerEpoch("x0"), ProducerEpoch("x1"), 0),
        "transaction_result": of(False, True),
        "coordinator_epoch": of(0, 0, 0, -1),
        "transaction_version": of(2, 0, 1),
    },
    ApiKey.TXN_OFFSET_COMMIT: {
        "name": TOPIC,
        "generation_id": of(*[-1] * 6, Generation(), Generation(1)),
        "member_id": of(*[""] * 6, Member("a"), Member("b"), "nobody"),
    },
    ApiKey.DESCRIBE_CONFIGS: {
        "configuration_keys[]": CONFIG_KEYS,
        "include_synonyms": of(True, False),
        "include_documentation": of(False, True),
    },
    ApiKey.INCREMENTAL_ALTER_CONFIGS: {
        # Not 9, which is none: Apache Kafka falls over it (-1 without a word).
        "config_operation": of(0, 0, 0, 0, 1, 2, 3),
    },
    ApiKey.ALTER_REPLICA_LOG_DIRS: {
        "name": TOPIC,
        "path": of(LogDirectory(), LogDirectory(), "/not/ours", ""),
    },
    ApiKey.CREATE_PARTITIONS: {"name": TOPIC, "count": of(2, 3, 4, 1, 0, -1)},
    ApiKey.ELECT_LEADERS: {"election_type": of(0, 0, 1, 2)},
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: {"name": TOPIC},
    ApiKey.LIST_PARTITION_REASSIGNMENTS: {"name": TOPIC},
    ApiKey.OFFSET_DELETE: {"name": TOPIC},
    ApiKey.DESCRIBE_CLIENT_QUOTAS: {
        "entity_type": of("user", "user", "client-id", "ip", "nonsense", ""),
        "match_type": of(0, 0, 1, 2, 3),
        "match": of(USER, USER, None, "10.0.0.1"),
        "strict": of(False, True),
    },
    ApiKey.ALTER_CLIENT_QUOTAS: {
        "key": of(
            "producer_byte_rate",
            "consumer_byte_rate",
            "request_percentage",
            "controller_mutation_rate",
            "connection_creation_rate",
            "nonsense",
        ),
        "value": of(1000.0, 5.5, 0.0, -1.0, 1e12),
        "remove": of(False, False, True),
    },
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: {"name": of(USER, Name("other"), "")},
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: {
        "name": of(USER, USER, Name("other"), ""),
        "mechanism": of(1, 1, 2, 0, 3),
        "iterations": of(4096, 4096, 4095, 16_385),
        "salt": of(b"salt", b""),
        # Not empty: of an empty key Java makes no HMAC (-1).
        "salted_password": of(b"p" * 32, b"p"),
    },
    ApiKey.DESCRIBE_QUORUM: {
        "topic_name": of("__cluster_metadata", "__cluster_metadata", T0, ""),
        "partition_index": of(0, 0, 0, 1, -1),
    },
    # Only what changes nothing: the features are everybody's.
    ApiKey.UPDATE_FEATURES: {
        "feature": of("group.version", "metadata.version", "nonsense", ""),
        "max_version_level": of(99, -1),
        "allow_downgrade": of(False, True),
        "upgrade_type": of(1, 1, 2, 3, 9, 0),
        "validate_only": st.just(True),
    },
    ApiKey.DESCRIBE_CLUSTER: {
        "endpoint_type": of(1, 1, 1, 2, 0, 3),
        "include_fenced_brokers": of(False, True),
    },
    ApiKey.DESCRIBE_PRODUCERS: {"name": TOPIC},
    ApiKey.UNREGISTER_BROKER: {"broker_id": of(77, -1)},
    ApiKey.DESCRIBE_TRANSACTIONS: {"transactional_ids[]": TRANSACTIONAL},
    ApiKey.LIST_TRANSACTIONS: {
        "state_filters[]": of("Ongoing", "Empty", "CompleteAbort", "CompleteCommit", "Asleep"),
        "producer_id_filters[]": of(ProducerId("x0"), ProducerId("x1"), 99_999_999),
        "duration_filter": of(-1, -1, 10_000_000),
        "transactional_id_pattern": of(None, Pattern("x.*"), Pattern("x0"), "", "("),
    },
    ApiKey.CONSUMER_GROUP_HEARTBEAT: {
        "member_id": of(*[Member("a", True)] * 8, *[Member("b", True)] * 5, ""),
        "member_epoch": of(
            *[MemberEpoch()] * 12, 0, 0, -1, -2, MemberEpoch(1), MemberEpoch(-1), -3
        ),
        "instance_id": INSTANCE,
        "rack_id": of(None, None, "r", ""),
        "rebalance_timeout_ms": of(300_000, 300_000, 300_000, -1, 0),
        "subscribed_topic_names[]": of(T0, T0, T1, T2, T3, ""),
        "subscribed_topic_regex": of(*[None] * 12, "", "["),
        "server_assignor": of(*[None] * 8, "range", "uniform", "sticky", ""),
        "partitions[]": of(0, 0, 1, 2),
    },
    ApiKey.LIST_CONFIG_RESOURCES: {"resource_types[]": of(2, 4, 8, 16, 32, 3, 0)},
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: {
        "name": TOPIC,
        "response_partition_limit": of(2000, 2000, 2, 1, 0, -1),
    },
}

# Of whom quotas are; never of everybody, which would be the referee, too.
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

# No name twice: Apache Kafka counts it twice, falls over it when the join completes, and never
# answers.
PROTOCOLS: Values = of(
    (("range", SUBSCRIBED),),
    (("range", SUBSCRIBED),),
    (("range", SUBSCRIBED_TOO),),
    (("range", SUBSCRIBED), ("roundrobin", SUBSCRIBED_TOO)),
    (("roundrobin", SUBSCRIBED), ("range", SUBSCRIBED)),
    (("roundrobin", SUBSCRIBED),),
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
# By what a thing is known.
IDENTITY = (
    "name", "topic", "topic_name", "topic_id", "partition_index", "partition", "index", "path",
    "transactional_id", "resource_type", "resource_name", "entity_type", "feature",
    "key", "group_id",
)  # fmt: skip

# Who joins a group: a dynamic member, a static one, one that is not there. A member id that was
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

# Of several that fail, Apache Kafka's hash table decides which one is named; of several markers, it
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

# How often what is nullable is null, where it is not one time in six.
OFTEN_NULL = {"subscribed_topic_names", "topic_partitions", "assignments", "cursor"}
