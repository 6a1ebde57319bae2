"""State that is looked up at each scrape: nothing of this is kept for the sake of metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

from kafkalite.cluster.image import NO_LEADER
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
)


def read(services: Services, readings: Readings) -> Iterator[None]:
    """Put down everything; yields after every small piece of work."""
    readings.put("kafkalite_info", 1, version("kafkalite"), services.cluster.cluster_id)
    brokers = services.cluster.image.brokers.values()
    fenced = sum(each.fenced for each in brokers)
    readings.put("kafkalite_nodes", len(brokers) - fenced, "alive")
    readings.put("kafkalite_nodes", fenced, "fenced")
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
    _transactions(services, readings)
    yield from _clients(services, readings)


def _topics(services: Services, readings: Readings) -> Iterator[None]:
    counts: Counter[str] = Counter()
    for topic in list(services.topics.all()):
        received_bytes = received_records = 0
        for partition in topic.partitions:
            received_bytes += partition.received_bytes
            received_records += partition.received_records
            if partition.is_here:
                log, labels = partition.log, (topic.name, str(partition.index))
                readings.put("kafkalite_log_size_bytes", log.size_bytes, *labels)
                readings.put("kafkalite_log_start_offset", log.log_start_offset, *labels)
                readings.put("kafkalite_log_end_offset", log.log_end_offset, *labels)
            counts.update(_standing_of(partition))
        if received_records:
            readings.put("kafkalite_topic_received_bytes_total", received_bytes, topic.name)
            readings.put("kafkalite_topic_received_records_total", received_records, topic.name)
        yield
    readings.put("kafkalite_topics", len(services.topics))
    for name in _COUNTED:
        readings.put(name, counts[name])
    shrink_count, expand_count = services.topics.isr_changes
    readings.put("kafkalite_isr_changes_total", shrink_count, "shrink")
    readings.put("kafkalite_isr_changes_total", expand_count, "expand")


def _standing_of(partition: Partition) -> Iterator[str]:
    """The metrics that count a partition."""
    yield "kafkalite_partitions"
    if partition.leader_id == NO_LEADER:
        yield "kafkalite_offline_partitions"
    if not partition.is_ours:
        return
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
                _lag(services, readings, shard, group_id)
                yield
    for (kind, state), count in states.items():
        readings.put("kafkalite_groups", count, kind, state)


def _lag(services: Services, readings: Readings, shard: Shard, group_id: str) -> None:
    for name, offsets in shard.offsets.of_group(group_id).items():
        topic = services.topics.get(name)
        if topic is None:
            continue
        for index, committed in offsets.items():
            if index < len(topic.partitions) and committed.is_of(topic.topic_id):
                labels = (group_id, name, str(index))
                lag = max(0, topic.partitions[index].high_watermark - committed.offset)
                readings.put("kafkalite_group_committed_offset", committed.offset, *labels)
                readings.put("kafkalite_group_lag_records", lag, *labels)


def _transactions(services: Services, readings: Readings) -> None:
    transactions = list(services.transaction_coordinator.all())
    for state, count in Counter(each.state.title for each in transactions).items():
        readings.put("kafkalite_transactions", count, state)
    began = [
        each.start_timestamp_ms for each in transactions if each.state is TransactionState.ONGOING
    ]
    longest_ms = max(0, services.now_ms() - min(began)) if began else 0
    readings.put("kafkalite_longest_transaction_seconds", longest_ms / 1000)


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
