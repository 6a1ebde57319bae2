"""Values that may stand in a field of one API's requests, where vocabulary.py has none that fit."""

from __future__ import annotations

from uuid import UUID

from hypothesis import strategies as st

from conformance.differential.generated_requests.consumer_protocol import ASSIGNMENTS
from conformance.differential.generated_requests.references import (
    NOBODY,
    ClientInstance,
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
    SubscriptionId,
    TopicId,
)
from conformance.differential.generated_requests.vocabulary import (
    BATCH,
    CONFIG_KEYS,
    DOT,
    G0,
    G1,
    HOUR_MS,
    INSTANCE,
    NAMED_GROUP,
    SESSION_MS,
    T0,
    T1,
    T2,
    T3,
    TOPIC,
    TOPIC_TO_WRITE,
    TRANSACTIONAL,
    UNDERSCORE,
    USER,
    X0,
    X1,
    Values,
    of,
    often,
)
from kafkalite.wire.api_keys import ApiKey

BY_API: dict[ApiKey, dict[str, Values]] = {
    ApiKey.PRODUCE: {
        "name": TOPIC_TO_WRITE,
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
        "retention_time_ms": of(-1, HOUR_MS, 1, 0, -2),
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
        "key_type": of(0, 0, 0, 1, 1, 2, 3, -1),
    },
    ApiKey.JOIN_GROUP: {
        "session_timeout_ms": of(*[SESSION_MS] * 10, 5_999, SESSION_MS + 1),
        "rebalance_timeout_ms": st.just(300_000),
        "protocol_type": often("consumer", "connect", "", times=8),
    },
    ApiKey.SYNC_GROUP: {
        "protocol_type": of(*["consumer"] * 8, None, None, "connect"),
        "protocol_name": of(*["range"] * 8, None, None, "roundrobin"),
        "assignment": ASSIGNMENTS,
    },
    ApiKey.LIST_GROUPS: {
        "states_filter[]": of("Stable", "Empty", "stable", "Dead", "PreparingRebalance", "None"),
        "types_filter[]": of("classic", "consumer", "Classic", "share", "streams", "nonsense"),
    },
    ApiKey.API_VERSIONS: {
        "client_software_name": of("referee", "a b", "", "-"),
        "client_software_version": of("1.0", "1.0-x", "", "."),
    },
    ApiKey.CREATE_TOPICS: {
        "name": of(
            *[*[T3] * 3, T0, T1, DOT, UNDERSCORE] * 2,
            *[T2, "", "a b", ".", "x" * 250, Pattern("t0.x")],
            *["__consumer_offsets", "__cluster_metadata"],
        ),
        "num_partitions": of(1, 2, 3, -1, 0, -2),
        "replication_factor": of(1, 1, 1, 1, -1, 2, 0),
    },
    ApiKey.DELETE_TOPICS: {
        "name": of(*[None] * 3, T0, T1, T2, T3, DOT, UNDERSCORE, ""),
        "topic_names[]": of(T0, T1, T2, T3, T3, DOT, UNDERSCORE, ""),
    },
    ApiKey.DELETE_RECORDS: {
        "name": TOPIC_TO_WRITE,
        "offset": of(0, 1, 2, 3, 5, -1, -1, -2, 100),
    },
    ApiKey.INIT_PRODUCER_ID: {
        "transactional_id": of(*[X0] * 6, X1, X1, X1, None, ""),
        "transaction_timeout_ms": of(*[600_000] * 8, 900_001, 0, -1),
        "producer_id": often(-1, ProducerId(), ProducerId(more=1_000_000), times=2),
        "producer_epoch": often(-1, ProducerEpoch(), ProducerEpoch(more=-1), times=2),
    },
    ApiKey.ADD_PARTITIONS_TO_TXN: {"name": TOPIC_TO_WRITE, "verify_only": of(False, False, True)},
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
    # Not zero, which asks for a random id.
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: {
        "client_instance_id": of(*[ClientInstance("a")] * 6, ClientInstance("b"), UUID(int=1))
    },
    ApiKey.PUSH_TELEMETRY: {
        "client_instance_id": of(*[ClientInstance("a")] * 6, ClientInstance("b"), UUID(int=0)),
        "subscription_id": of(*[SubscriptionId("a")] * 6, SubscriptionId("b"), 1),
        "terminating": often(False, True, times=6),
        "compression_type": of(*[0] * 6, 1, 2, 3, 4, 5, -1),
        "metrics": of(b"", b"metrics", b"metrics of a client" * 100),
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
    # One name at most beside the controllers': of two, Java names them in a hash's order.
    ApiKey.ADD_RAFT_VOTER: {
        "cluster_id": of(None, None, "another", ""),
        "voter_id": of(1, 2, -1),
        "voter_directory_id": of(UUID(int=7), UUID(int=7), UUID(int=0)),
        "name": of("CONTROLLER", "Controller", "other"),
        "host": of("localhost", ""),
        "port": of(9093, 0, 65_535),
        "ack_when_committed": of(True, False),
    },
    ApiKey.REMOVE_RAFT_VOTER: {
        "cluster_id": of(None, None, "another", ""),
        "voter_id": of(1, 2, -1),
        "voter_directory_id": of(UUID(int=7), UUID(int=7), UUID(int=0)),
    },
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
