"""THE table of metrics: docs/metrics.md and the text that Prometheus reads are made from it.

Names follow Prometheus' conventions: base units in the name, `_total` for what only grows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final


class Kind(Enum):
    """The types of metrics, as Prometheus names them."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric; `meaning` is its HELP text."""

    name: str
    kind: Kind
    labels: tuple[str, ...]
    meaning: str


# Upper limits in seconds of a histogram's buckets: from what a Produce takes to a long poll.
BUCKETS: Final = (
    *(0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025),
    *(0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
)

_COUNTER, _GAUGE, _HISTOGRAM = Kind.COUNTER, Kind.GAUGE, Kind.HISTOGRAM

_TABLE: Final = (
    Metric("kafkalite_info", _GAUGE, ("version", "cluster_id"), "Always 1; says what runs."),
    # Requests
    Metric("kafkalite_requests_total", _COUNTER, ("api",), "Requests answered."),
    Metric(
        "kafkalite_request_errors_total",
        _COUNTER,
        ("api", "error"),
        "Error codes in answers; an answer about several partitions may have several.",
    ),
    Metric(
        "kafkalite_request_duration_seconds",
        _HISTOGRAM,
        ("api",),
        "From a request's arrival to its answer; long polls include their waiting.",
    ),
    Metric("kafkalite_connections", _GAUGE, (), "Open connections."),
    Metric(
        "kafkalite_event_loop_lag_seconds",
        _HISTOGRAM,
        (),
        "How late the event loop got to a task that was due; tried ten times a second.",
    ),
    Metric(
        "kafkalite_event_loop_longest_turn_seconds",
        _GAUGE,
        (),
        "The longest time for which anything held the event loop since the start.",
    ),
    # Topics
    Metric(
        "kafkalite_topic_received_bytes_total",
        _COUNTER,
        ("topic",),
        "Bytes of record batches that producers wrote since the start.",
    ),
    Metric(
        "kafkalite_topic_received_records_total",
        _COUNTER,
        ("topic",),
        "Records that producers wrote.",
    ),
    Metric(
        "kafkalite_topic_sent_bytes_total",
        _COUNTER,
        ("topic",),
        "Bytes of record batches that consumers were given (the records in them are not counted).",
    ),
    Metric("kafkalite_topics", _GAUGE, (), "Topics, internal ones included."),
    Metric("kafkalite_partitions", _GAUGE, (), "Partitions of all topics."),
    Metric(
        "kafkalite_under_replicated_partitions",
        _GAUGE,
        (),
        "Partitions led here with fewer in-sync replicas than replicas: UnderReplicatedPartitions.",
    ),
    Metric(
        "kafkalite_under_min_isr_partitions",
        _GAUGE,
        (),
        "Partitions led here that take no writes with acks=all: UnderMinIsrPartitionCount.",
    ),
    Metric(
        "kafkalite_at_min_isr_partitions",
        _GAUGE,
        (),
        "Partitions led here with just as many in-sync replicas as such writes need: "
        "AtMinIsrPartitionCount.",
    ),
    Metric("kafkalite_leaders", _GAUGE, (), "Partitions led here: LeaderCount."),
    Metric(
        "kafkalite_offline_partitions",
        _GAUGE,
        (),
        "Partitions without a leader, on any broker: OfflinePartitionsCount.",
    ),
    Metric(
        "kafkalite_reassigning_partitions",
        _GAUGE,
        (),
        "Partitions led here whose replicas are being moved: ReassigningPartitions.",
    ),
    Metric("kafkalite_replicas", _GAUGE, (), "Partitions with a replica here: PartitionCount."),
    Metric(
        "kafkalite_offline_replicas",
        _GAUGE,
        (),
        "Replicas here whose logs have failed: OfflineReplicaCount.",
    ),
    Metric(
        "kafkalite_failed_replicas",
        _GAUGE,
        (),
        "Replicas here that copy nothing until the metadata change: FailedPartitionsCount.",
    ),
    Metric(
        "kafkalite_replica_max_lag_records",
        _GAUGE,
        (),
        "Records that a replica here lacks of what its leader has committed, at most: MaxLag.",
    ),
    Metric(
        "kafkalite_isr_changes_total",
        _COUNTER,
        ("change",),
        "In-sync replicas of partitions led here that shrank or expanded: IsrShrinksPerSec and "
        "IsrExpandsPerSec.",
    ),
    Metric(
        "kafkalite_metadata_offset",
        _GAUGE,
        (),
        "The last record of the metadata that was taken in: last-applied-record-offset.",
    ),
    # Logs
    Metric(
        "kafkalite_log_size_bytes",
        _GAUGE,
        ("topic", "partition"),
        "Size of a partition's log.",
    ),
    Metric(
        "kafkalite_log_start_offset",
        _GAUGE,
        ("topic", "partition"),
        "The first offset that can be read.",
    ),
    Metric(
        "kafkalite_log_end_offset",
        _GAUGE,
        ("topic", "partition"),
        "The offset of the next record.",
    ),
    Metric(
        "kafkalite_log_directory_online",
        _GAUGE,
        ("directory",),
        "1 while a data directory can be written, 0 once it has failed.",
    ),
    # Groups
    Metric("kafkalite_groups", _GAUGE, ("type", "state"), "Groups by type and state."),
    Metric("kafkalite_group_members", _GAUGE, ("group",), "Members of a group."),
    Metric(
        "kafkalite_group_committed_offset",
        _GAUGE,
        ("group", "topic", "partition"),
        "The offset a group has committed.",
    ),
    Metric(
        "kafkalite_group_lag_records",
        _GAUGE,
        ("group", "topic", "partition"),
        "Offsets between what a group has committed and the high watermark.",
    ),
    # Share groups
    Metric("kafkalite_share_sessions", _GAUGE, (), "Share sessions here: ShareSessionsCount."),
    Metric(
        "kafkalite_share_session_partitions",
        _GAUGE,
        (),
        "The partitions that they fetch: SharePartitionsCount.",
    ),
    Metric(
        "kafkalite_share_session_evictions_total",
        _COUNTER,
        (),
        "Share sessions that ended with their connection: ShareSessionEvictionsPerSec.",
    ),
    Metric(
        "kafkalite_share_fetched_partitions_total",
        _COUNTER,
        ("outcome",),
        "Partitions that share fetches asked for (asked) and that gave records (acquired): "
        "RequestTopicPartitionsFetchRatio.",
    ),
    Metric(
        "kafkalite_share_partition_loads_total",
        _COUNTER,
        (),
        "Share partitions that were opened with what is stored of them.",
    ),
    Metric(
        "kafkalite_share_partition_load_seconds_total",
        _COUNTER,
        (),
        "The time that this took: PartitionLoadTimeMs.",
    ),
    Metric(
        "kafkalite_share_in_flight_records",
        _GAUGE,
        ("group", "topic", "partition"),
        "Records of an open share partition from its start offset to the last one delivered: "
        "InFlightMessageCount.",
    ),
    Metric(
        "kafkalite_share_in_flight_batches",
        _GAUGE,
        ("group", "topic", "partition"),
        "The batches that they are: InFlightBatchCount.",
    ),
    Metric(
        "kafkalite_share_lock_timeouts_total",
        _COUNTER,
        ("group", "topic", "partition"),
        "Records of an open share partition whose lock ran out: AcquisitionLockTimeoutPerSec.",
    ),
    Metric(
        "kafkalite_share_acknowledged_records_total",
        _COUNTER,
        ("type",),
        "Records that members of share groups acknowledged: RecordAcknowledgementsPerSec.",
    ),
    Metric(
        "kafkalite_share_state_writes_total",
        _COUNTER,
        (),
        "Updates of states that the share coordinator wrote: write-total.",
    ),
    # Transactions
    Metric("kafkalite_transactions", _GAUGE, ("state",), "Transactional ids by state."),
    Metric(
        "kafkalite_transactions_ended_total",
        _COUNTER,
        ("outcome",),
        "Ends of transactions that producers asked for and were granted.",
    ),
    Metric(
        "kafkalite_longest_transaction_seconds",
        _GAUGE,
        (),
        "Age of the transaction that is open for longest; 0 if none is.",
    ),
    # Security
    Metric(
        "kafkalite_successful_authentication_total",
        _COUNTER,
        (),
        "Logins by SASL, and by TLS where there is no SASL.",
    ),
    Metric(
        "kafkalite_failed_authentication_total",
        _COUNTER,
        (),
        "Logins by SASL and TLS that failed.",
    ),
    Metric(
        "kafkalite_authorization_total",
        _COUNTER,
        ("decision",),
        "Questions to the authorizer, by its decision: allowed or denied.",
    ),
    # Clients
    Metric(
        "kafkalite_client_instances",
        _GAUGE,
        (),
        "Client instances that asked which metrics they shall push (KIP-714).",
    ),
    Metric(
        "kafkalite_client_info",
        _GAUGE,
        (
            "client_id",
            "client_instance_id",
            "client_software_name",
            "client_software_version",
            "client_source_address",
        ),
        "Always 1; says whose the pushed metrics are.",
    ),
    # Nodes
    Metric("kafkalite_nodes", _GAUGE, ("state",), "Registered nodes: alive or fenced."),
)

METRICS: Final[Mapping[str, Metric]] = {metric.name: metric for metric in _TABLE}
