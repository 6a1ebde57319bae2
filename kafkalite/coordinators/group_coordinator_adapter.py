"""The group coordinator's place in the broker: its config, its topics, its elections.

The coordinator does not import the broker (see group_coordinator/). This module tells it what it
needs to know: its configuration, the topics that exist, and after each change of the metadata the
leaders of `__consumer_offsets` and the topics that were created, grown or deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from msgspec.structs import fields

from kafkalite.cluster.image import NewPartitions
from kafkalite.config.choices import consumer_assignors
from kafkalite.coordinators.coordinator_log import ConsumerOffsetsLog
from kafkalite.coordinators.group_configs import group_configs
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
    from kafkalite.requests.slices import Steps, WaitingSteps


DYNAMIC = tuple(f"group.{each}.assignment.interval.ms" for each in ("consumer", "share", "streams"))
"""Kafka has no other of the group configs among its dynamic ones (GroupCoordinatorConfig)."""


def open_group_coordinator(
    config: BrokerConfig,
    cluster: Cluster,
    topics: Topics,
    clock: Clock,
    share: ShareServices,
    load: Callable[[WaitingSteps[None]], object],
) -> GroupCoordinator:
    """The coordinator of all groups of this process. It works once its `run` does."""
    groups = group_config(config)

    def dynamic_configs_changed() -> None:
        for name in DYNAMIC:
            setattr(groups, name.replace(".", "_"), config.integer(name))

    config.subscribe(dynamic_configs_changed)
    coordinator = GroupCoordinator(
        groups,
        ConsumerOffsetsLog(topics, clock.now_ms),
        TopicNames(topics, cluster),
        clock=clock,
        configs_of=lambda group_id: group_configs(cluster.image.configs, group_id),
        share_state=lambda: share.keeper,
        load=load,
        new_uuid=lambda: cluster.ids.uuid("member"),
    )
    watcher = _Watcher(coordinator, topics)
    cluster.subscribe(watcher.metadata_changed)
    topics.subscribe(coordinator.leaders_changed)  # also when a log is opened again
    return coordinator


def group_config(config: BrokerConfig) -> GroupConfig:
    """The broker's configs about groups: each field has the name of its config (GroupConfig)."""
    policy = config.string("group.consumer.migration.policy") or ""
    return GroupConfig(
        rebalance_protocols=config.items("group.coordinator.rebalance.protocols"),
        group_consumer_assignors=consumer_assignors(config.items("group.consumer.assignors")),
        group_consumer_migration_policy=policy.lower(),
        **{
            field.name: config.integer(field.name.replace("_", "."))
            for field in fields(GroupConfig)
            if isinstance(field.default, int)
        },
    )


class TopicNames:
    """The topics there are, for the coordinator."""

    def __init__(self, topics: Topics, cluster: Cluster) -> None:
        self._topics = topics
        self._cluster = cluster

    def partition_count(self, topic: str) -> int:
        found = self._topics.get(topic)
        return 0 if found is None else len(found.partitions)

    def partition_racks(self, topic: str) -> Sequence[Sequence[str]]:
        image = self._cluster.image
        racks = image.racks
        state = image.topics.get(topic) if racks else None
        if state is None:
            return ()
        return [
            [racks[each] for each in partition.replicas if each in racks]
            for partition in state.partitions
        ]

    def topic_id(self, topic: str) -> UUID | None:
        found = self._topics.get(topic)
        return None if found is None else found.topic_id

    def topic_name(self, topic_id: UUID) -> str | None:
        return self._topics.name_of(topic_id)

    def names(self) -> Iterable[str]:
        # Copied, as threads ask for them, too.
        return self._topics.by_name.copy()


class _Watcher:
    """Tells the coordinator what has become of topics. Knows the names of those that go."""

    def __init__(self, coordinator: GroupCoordinator, topics: Topics) -> None:
        self._coordinator = coordinator
        self._names = {topic.topic_id: topic.name for topic in topics.all()}

    def metadata_changed(self, records: Sequence[object]) -> Steps[None] | None:
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
        self._coordinator.leaders_changed()
        if changed:
            self._coordinator.topics_changed(changed)
        return self._coordinator.topics_deleted(gone) if gone else None
