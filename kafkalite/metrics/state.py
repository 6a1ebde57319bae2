"""State that is looked up at each scrape: nothing of this is kept for the sake of metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

from kafkalite.cluster.image import NO_LEADER, PartitionState
from kafkalite.coordinators.transaction_coordinator.transaction import TransactionState
from kafkalite.metrics.table import METRICS

if TYPE_CHECKING:
    from kafkalite.group_coordinator.shard import Shard
    from kafkalite.metrics.readings import Readings
    from kafkalite.replica.partition import Partition
    from kafkalite.services import Services

_COUNTED: Final = (
    "kafkalite_partitions",
    "kafkalite_leaders",
    "kafkalite_under_replicated_partitions",
    "kafkalite_under_min_isr_partitions",
    "kafkalite_at_min_isr_partitions",
    "kafkalite_offline_partitions",
    "kafkalite_reassigning_partitions",
    "kafkalite_replicas",
    "kafkalite_offline_replicas",
    "kafkalite_failed_replicas",
)


def read(services: Services, readings: Readings) -> Iterator[None]:
    """Put down everything; yields after every small piece of work."""
    readings.put("kafkalite_info", 1, version("kafkalite"), services.cluster.cluster_id)
    brokers = services.cluster.image.brokers.values()
    fenced = sum(each.fenced for each in brokers)
    readings.put("kafkalite_nodes", len(brokers) - fenced, "alive")
    readings.put("kafkalite_nodes", fenced, "fenced")
    readings.put("kafkalite_metadata_offset", services.cluster.image.offset)
    for directory in services.logs.manager.directories:
        online = directory.failure is None
        readings.put("kafkalite_log_directory_online", int(online), str(directory.path))
    authorizer = services.security.authorizer
    if authorizer is not None:
        readings.put("kafkalite_authorization_total", authorizer.allowed_count, "allowed")
        readings.put("kafkalite_authorization_total", authorizer.denied_count, "denied")
    yield
    yield from _topics(services, readings)
    yield from _groups(services, readings)
    yield from _share_groups(services, readings)
    yield from _transactions(services, readings)
    yield from _clients(services, readings)


def _topics(services: Services, readings: Readings) -> Iterator[None]:
    counts: Counter[str] = Counter()
    max_lag = 0
    for topic in list(services.topics.all()):
        received_bytes = received_records = 0
        for partition in list(topic.partitions):
            received_bytes += partition.received_bytes
            received_records += partition.received_records
            if partition.is_here:
                log, labels = partition.log, (topic.name, str(partition.index))
                readings.put("kafkalite_log_size_bytes", log.size_bytes, *labels)
                readings.put("kafkalite_log_start_offset", log.log_start_offset, *labels)
                readings.put("kafkalite_log_end_offset", log.log_end_offset, *labels)
                fetch_state = partition.fetch_state
                max_lag = max(max_lag, (fetch_state and fetch_state.lag) or 0)
            counts.update(_standing_of(partition, topic.states[partition.index]))
            yield
        if received_records:
            readings.put("kafkalite_topic_received_bytes_total", received_bytes, topic.name)
            readings.put("kafkalite_topic_received_records_total", received_records, topic.name)
        yield
    readings.put("kafkalite_topics", len(services.topics))
    for name in _COUNTED:
        readings.put(name, counts[name])
    readings.put("kafkalite_replica_max_lag_records", max_lag)
    shrink_count, expand_count = services.topics.isr_changes
    readings.put("kafkalite_isr_changes_total", shrink_count, "shrink")
    readings.put("kafkalite_isr_changes_total", expand_count, "expand")


def _standing_of(partition: Partition, known: PartitionState) -> Iterator[str]:
    """The metrics that count a partition."""
    yield "kafkalite_partitions"
    if partition.is_here:
        yield "kafkalite_replicas"
        if partition.log.offline_reason is not None:
            yield "kafkalite_offline_replicas"
        fetch_state = partition.fetch_state
        if fetch_state is not None and fetch_state.is_stopped:
            yield "kafkalite_failed_replicas"
    if partition.leader_id == NO_LEADER:
        yield "kafkalite_offline_partitions"
    if not partition.is_ours:
        return
    if known.adding_replicas or known.removing_replicas:
        yield "kafkalite_reassigning_partitions"
    in_sync, needed = len(partition.in_sync_replicas), partition.needed_in_sync
    if partition.leader_id != NO_LEADER:
        yield "kafkalite_leaders"
    if in_sync < len(partition.replicas):
        yield "kafkalite_under_replicated_partitions"
    if in_sync < needed:
        yield "kafkalite_under_min_isr_partitions"
    if in_sync == needed:
        yield "kafkalite_at_min_isr_partitions"


def _groups(services: Services, readings: Readings) -> Iterator[None]:
    states: Counter[tuple[str, str]] = Counter()
    for node_id in services.config.node_ids:
        for shard in services.group_coordinator.shards.shards_of(node_id):
            for group_id, group in list(shard.groups.items()):
                states[group.group_type, group.state.value] += 1
                readings.put("kafkalite_group_members", len(group.members), group_id)
                yield
                yield from _lag(services, readings, shard, group_id)
    for (kind, state), count in states.items():
        readings.put("kafkalite_groups", count, kind, state)


def _lag(services: Services, readings: Readings, shard: Shard, group_id: str) -> Iterator[None]:
    for name, offsets in list(shard.offsets.of_group(group_id).items()):
        yield
        topic = services.topics.get(name)
        if topic is None:
            continue
        for index, committed in list(offsets.items()):
            if index < len(topic.partitions) and committed.is_of(topic.topic_id):
                labels = (group_id, name, str(index))
                lag = max(0, topic.partitions[index].high_watermark - committed.offset)
                readings.put("kafkalite_group_committed_offset", committed.offset, *labels)
                readings.put("kafkalite_group_lag_records", lag, *labels)
            yield


def _share_groups(services: Services, readings: Readings) -> Iterator[None]:
    share = services.share
    readings.put("kafkalite_share_state_writes_total", share.state_write_count)
    partitions = share.opened_partitions
    session_count = 0 if partitions is None else partitions.session_count
    readings.put("kafkalite_share_sessions", session_count)
    if partitions is None:
        return
    from kafkalite.replica.share.acknowledgement import AcknowledgeType

    counts = partitions.counts
    readings.put("kafkalite_share_session_partitions", partitions.session_partition_count)
    readings.put("kafkalite_share_session_evictions_total", counts.evictions)
    readings.put("kafkalite_share_fetched_partitions_total", counts.asked, "asked")
    readings.put("kafkalite_share_fetched_partitions_total", counts.acquired, "acquired")
    readings.put("kafkalite_share_partition_loads_total", counts.loads)
    readings.put("kafkalite_share_partition_load_seconds_total", counts.load_seconds)

    for kind in AcknowledgeType:
        if kind is AcknowledgeType.GAP:  # Apache Kafka counts none
            continue
        count = partitions.acknowledged[kind]
        readings.put("kafkalite_share_acknowledged_records_total", count, kind.name.lower())
    for each in partitions.opened():
        key = each.key
        labels = (key.group_id, partitions.topic_name(key.topic_id) or "", str(key.partition))
        readings.put("kafkalite_share_in_flight_records", each.in_flight_count, *labels)
        readings.put("kafkalite_share_in_flight_batches", len(each.batches), *labels)
        readings.put("kafkalite_share_lock_timeouts_total", each.lock_timeout_count, *labels)
        yield


def _transactions(services: Services, readings: Readings) -> Iterator[None]:
    counts: Counter[str] = Counter()
    began_ms = now_ms = services.now_ms()
    for each in list(services.transaction_coordinator.all()):
        counts[each.state.title] += 1
        if each.state is TransactionState.ONGOING:
            began_ms = min(began_ms, each.start_timestamp_ms)
        yield
    for state, count in counts.items():
        readings.put("kafkalite_transactions", count, state)
    readings.put("kafkalite_longest_transaction_seconds", (now_ms - began_ms) / 1000)


def _clients(services: Services, readings: Readings) -> Iterator[None]:
    telemetry = services.telemetry
    readings.put("kafkalite_client_instances", telemetry.instance_count)
    if not telemetry.has_pushed:
        return
    labels = METRICS["kafkalite_client_info"].labels
    for client in telemetry.pushed:
        own = (client.attributes[label] for label in labels)
        readings.put("kafkalite_client_info", 1, *own)
        readings.pushed += client.gauges.items()
        readings.pushed += client.sums.items()
        yield
