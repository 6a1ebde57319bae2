"""The group coordinator's place in the broker: its config, its topics, its elections.

The coordinator knows no broker (see group_coordinator/). It is told here what it may know: the
configuration in its own terms, the topics there are, and, when the metadata changes, that leaders
of `__consumer_offsets` are others, that topics have come, grown or gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from kafkalite.cluster.image import GROUP_RESOURCE, NewPartitions
from kafkalite.coordinators.coordinator_log import ConsumerOffsetsLog
from kafkalite.group_coordinator.config import GroupConfig
from kafkalite.group_coordinator.coordinator import GroupCoordinator
from kafkalite.wire.messages.stored.partition_record import PartitionRecord
from kafkalite.wire.messages.stored.remove_topic_record import RemoveTopicRecord
from kafkalite.wire.messages.stored.topic_record import TopicRecord

if TYPE_CHECKING:
    from kafkalite.clock import Clock
    from kafkalite.cluster.cluster import Cluster
    from kafkalite.config import BrokerConfig
    from kafkalite.coordinators.share_adapter import ShareServices
    from kafkalite.replica.topics import Topics


def open_group_coordinator(
    config: BrokerConfig,
    cluster: Cluster,
    topics: Topics,
    clock: Clock,
    share: ShareServices,
) -> GroupCoordinator:
    """The coordinator of all groups of this process. It works once its `run` does."""
    groups = group_config(config)

    def dynamic_configs_changed() -> None:
        interval_ms = config.integer("group.consumer.assignment.interval.ms")
        groups.group_consumer_assignment_interval_ms = interval_ms
        interval_ms = config.integer("group.share.assignment.interval.ms")
        groups.group_share_assignment_interval_ms = interval_ms
        interval_ms = config.integer("group.streams.assignment.interval.ms")
        groups.group_streams_assignment_interval_ms = interval_ms

    config.subscribe(dynamic_configs_changed)
    coordinator = GroupCoordinator(
        groups,
        ConsumerOffsetsLog(topics, clock.now_ms),
        TopicNames(topics),
        clock=clock,
        configs_of=lambda group_id: cluster.image.configs.get((GROUP_RESOURCE, group_id), {}),
        share_state=lambda: share,
    )
    watcher = _Watcher(coordinator, topics)
    cluster.subscribe(watcher.metadata_changed)
    return coordinator


def group_config(config: BrokerConfig) -> GroupConfig:
    """The broker's configs about groups."""
    integer = config.integer
    return GroupConfig(
        group_min_session_timeout_ms=integer("group.min.session.timeout.ms"),
        group_max_session_timeout_ms=integer("group.max.session.timeout.ms"),
        group_initial_rebalance_delay_ms=integer("group.initial.rebalance.delay.ms"),
        group_max_size=integer("group.max.size"),
        offset_metadata_max_bytes=integer("offset.metadata.max.bytes"),
        offsets_retention_minutes=integer("offsets.retention.minutes"),
        offsets_retention_check_interval_ms=integer("offsets.retention.check.interval.ms"),
        rebalance_protocols=config.items("group.coordinator.rebalance.protocols"),
        group_consumer_session_timeout_ms=integer("group.consumer.session.timeout.ms"),
        group_consumer_min_session_timeout_ms=integer("group.consumer.min.session.timeout.ms"),
        group_consumer_max_session_timeout_ms=integer("group.consumer.max.session.timeout.ms"),
        group_consumer_heartbeat_interval_ms=integer("group.consumer.heartbeat.interval.ms"),
        group_consumer_min_heartbeat_interval_ms=integer(
            "group.consumer.min.heartbeat.interval.ms"
        ),
        group_consumer_max_heartbeat_interval_ms=integer(
            "group.consumer.max.heartbeat.interval.ms"
        ),
        group_consumer_max_size=integer("group.consumer.max.size"),
        group_consumer_assignors=config.items("group.consumer.assignors"),
        group_consumer_migration_policy=(
            config.string("group.consumer.migration.policy") or ""
        ).lower(),
        group_consumer_assignment_interval_ms=integer("group.consumer.assignment.interval.ms"),
        group_consumer_min_assignment_interval_ms=integer(
            "group.consumer.min.assignment.interval.ms"
        ),
        group_consumer_max_assignment_interval_ms=integer(
            "group.consumer.max.assignment.interval.ms"
        ),
        group_share_session_timeout_ms=integer("group.share.session.timeout.ms"),
        group_share_min_session_timeout_ms=integer("group.share.min.session.timeout.ms"),
        group_share_max_session_timeout_ms=integer("group.share.max.session.timeout.ms"),
        group_share_heartbeat_interval_ms=integer("group.share.heartbeat.interval.ms"),
        group_share_min_heartbeat_interval_ms=integer("group.share.min.heartbeat.interval.ms"),
        group_share_max_heartbeat_interval_ms=integer("group.share.max.heartbeat.interval.ms"),
        group_share_max_size=integer("group.share.max.size"),
        group_share_assignment_interval_ms=integer("group.share.assignment.interval.ms"),
        group_share_min_assignment_interval_ms=integer("group.share.min.assignment.interval.ms"),
        group_share_max_assignment_interval_ms=integer("group.share.max.assignment.interval.ms"),
        group_share_initialize_retry_interval_ms=integer(
            "group.share.initialize.retry.interval.ms"
        ),
        group_streams_session_timeout_ms=integer("group.streams.session.timeout.ms"),
        group_streams_min_session_timeout_ms=integer("group.streams.min.session.timeout.ms"),
        group_streams_max_session_timeout_ms=integer("group.streams.max.session.timeout.ms"),
        group_streams_heartbeat_interval_ms=integer("group.streams.heartbeat.interval.ms"),
        group_streams_min_heartbeat_interval_ms=integer("group.streams.min.heartbeat.interval.ms"),
        group_streams_max_heartbeat_interval_ms=integer("group.streams.max.heartbeat.interval.ms"),
        group_streams_max_size=integer("group.streams.max.size"),
        group_streams_assignment_interval_ms=integer("group.streams.assignment.interval.ms"),
        group_streams_min_assignment_interval_ms=integer(
            "group.streams.min.assignment.interval.ms"
        ),
        group_streams_max_assignment_interval_ms=integer(
            "group.streams.max.assignment.interval.ms"
        ),
        group_streams_num_standby_replicas=integer("group.streams.num.standby.replicas"),
        group_streams_max_standby_replicas=integer("group.streams.max.standby.replicas"),
        group_streams_initial_rebalance_delay_ms=integer(
            "group.streams.initial.rebalance.delay.ms"
        ),
    )


class TopicNames:
    """The topics there are, for the coordinator."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics

    def partition_count(self, topic: str) -> int:
        found = self._topics.get(topic)
        return 0 if found is None else len(found.partitions)

    def topic_id(self, topic: str) -> UUID | None:
        found = self._topics.get(topic)
        return None if found is None else found.topic_id

    def topic_name(self, topic_id: UUID) -> str | None:
        found = self._topics.by_id(topic_id)
        return None if found is None else found.name

    def names(self) -> Iterable[str]:
        return (topic.name for topic in self._topics.all())


class _Watcher:
    """Tells the coordinator what has become of topics. Knows the names of those that go."""

    def __init__(self, coordinator: GroupCoordinator, topics: Topics) -> None:
        self._coordinator = coordinator
        self._names = {topic.topic_id: topic.name for topic in topics.all()}

    def metadata_changed(self, records: Sequence[object]) -> None:
        changed: set[str] = set()
        gone: dict[str, UUID] = {}
        for record in records:
            match record:
                case TopicRecord():
                    self._names[record.topic_id] = record.name
                case PartitionRecord() | NewPartitions() if record.topic_id in self._names:
                    changed.add(self._names[record.topic_id])
                case RemoveTopicRecord():
                    name = self._names.pop(record.topic_id, None)
                    if name is not None:
                        gone[name] = record.topic_id
                        changed.add(name)
                case _:
                    pass
        if gone:
            self._coordinator.topics_deleted(gone)
        self._coordinator.leaders_changed()
        if changed:
            self._coordinator.topics_changed(changed)
