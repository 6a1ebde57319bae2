"""Topics: what exists, with its partitions open; creating, deleting and growing them.

The names and numbers are the metadata image's; this adds the live `Partition`s. A change is checked
first (with Kafka's words for what is wrong), then written as metadata records; the partitions
follow when those records come back from the cluster, the same way for every kind of change.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

from kafkalite.cluster.image import NO_LEADER, TOPIC_RESOURCE, PartitionState, TopicState
from kafkalite.cluster.internal_topics import INTERNAL_TOPICS
from kafkalite.cluster.topic_creation import CreatedTopic, NewTopic, TopicCreation, internal_topic
from kafkalite.replica.partition import Partition
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.messages.stored.config_record import ConfigRecord
from kafkalite.wire.messages.stored.partition_change_record import PartitionChangeRecord
from kafkalite.wire.messages.stored.partition_record import PartitionRecord
from kafkalite.wire.messages.stored.remove_topic_record import RemoveTopicRecord
from kafkalite.wire.messages.stored.topic_record import TopicRecord

if TYPE_CHECKING:
    from kafkalite.cluster.cluster import Cluster
    from kafkalite.log.config import LogConfig
    from kafkalite.log.log import Log

__all__ = ["CreatedTopic", "NewTopic", "PartitionLogs", "Topic", "Topics"]


class PartitionLogs(Protocol):
    """Opens and deletes the logs of partitions; the broker's, on disk."""

    def open(
        self,
        topic: str,
        topic_id: UUID,
        index: int,
        config: LogConfig,
        assigned: Collection[UUID] = (),
    ) -> Log:
        """The log of a partition, new or as it was; `assigned` are its directories in the metadata."""
        ...

    def all_placed(self) -> None:
        """Partitions that were given a directory are open now, or will never be."""
        ...

    def delete(self, topic: str, index: int, log: Log) -> None:
        """Its partition is gone: close the log and remove its files."""
        ...


@dataclass(slots=True, eq=False)
class Topic:
    """A topic with its open partitions; a partition's index is its position."""

    name: str
    topic_id: UUID
    is_internal: bool
    partitions: list[Partition]
    states: list[PartitionState]
    configs: Mapping[str, str]


class Topics:
    """All topics, open."""

    def __init__(self, cluster: Cluster, logs: PartitionLogs) -> None:
        """Opens the logs of everything that is there."""
        self._cluster = cluster
        self._logs = logs
        self._by_name: dict[str, Topic] = {}
        self._by_id: dict[UUID, Topic] = {}
        self._subscribers: list[Callable[[], None]] = []
        self._creation = TopicCreation(cluster)
        for state in cluster.image.topics.values():
            self._add(state)
        cluster.subscribe(self._metadata_changed)
        cluster.config.subscribe(self._configs_changed)

    def get(self, name: str) -> Topic | None:
        """A topic by name."""
        return self._by_name.get(name)

    def by_id(self, topic_id: UUID) -> Topic | None:
        """A topic by id."""
        return self._by_id.get(topic_id)

    def all(self) -> Iterable[Topic]:
        """All topics; internal ones, too."""
        return self._by_name.values()

    def __len__(self) -> int:
        return len(self._by_name)

    def __iter__(self) -> Iterator[Topic]:
        return iter(self._by_name.values())

    def subscribe(self, callback: Callable[[], None]) -> None:
        """Call `callback` after topics or partitions came or went."""
        self._subscribers.append(callback)

    # Changes

    def create(self, new: NewTopic, *, validate_only: bool = False) -> CreatedTopic:
        """Create one topic. Raises KafkaError."""
        (result,) = self.create_all([new], validate_only=validate_only)
        if isinstance(result, KafkaError):
            raise result
        return result

    def create_all(
        self, new_topics: Sequence[NewTopic], *, validate_only: bool = False
    ) -> list[CreatedTopic | KafkaError]:
        """Create topics in one change: for each what came of it, or why not."""
        records: list[object] = []
        results: list[CreatedTopic | KafkaError] = []
        for new in new_topics:
            try:
                created, creation_records = self._creation.records(new)
            except KafkaError as error:
                results.append(error)
            else:
                results.append(created)
                records.extend(creation_records)
        if not validate_only:
            self._cluster.write(records)
        self._logs.all_placed()
        return results

    def create_internal(self, name: str) -> Topic:
        """An internal topic, created at its first need with the configs that Kafka gives it.

        Raises KafkaError, for instance when its replication factor is above the number of nodes.
        """
        topic = self.get(name)
        if topic is None:
            self.create(internal_topic(self._cluster.config, name))
            topic = self._by_name[name]
        return topic

    def delete(self, topic_ids: Iterable[UUID]) -> None:
        """Delete topics in one change. They must exist."""
        self._cluster.write([RemoveTopicRecord(topic_id=topic_id) for topic_id in topic_ids])

    def add_partitions(
        self,
        name: str,
        total_count: int,
        assignments: Sequence[Sequence[int]] | None = None,
        *,
        validate_only: bool = False,
    ) -> None:
        """Grow a topic to `total_count` partitions. Raises KafkaError."""
        records = self._creation.growth_records(name, total_count, assignments)
        if not validate_only:
            self._cluster.write(records)
        self._logs.all_placed()

    # What follows from a change

    def _metadata_changed(self, records: Sequence[object]) -> None:
        image = self._cluster.image
        changed = False
        for record in records:
            if isinstance(record, TopicRecord):
                changed = True
                state = image.topics_by_id.get(record.topic_id)
                if state is not None:
                    self._add(state)
            elif isinstance(record, PartitionRecord):
                changed = True
                topic = self._by_id[record.topic_id]
                is_known = record.partition_id < len(topic.partitions)
                self._open_partitions(topic)
                if is_known:
                    self._change_partition(topic, record.partition_id)
            elif isinstance(record, PartitionChangeRecord):
                self._change_partition(self._by_id[record.topic_id], record.partition_id)
            elif isinstance(record, RemoveTopicRecord):
                changed = True
                self._remove(record.topic_id)
            elif isinstance(record, ConfigRecord) and record.resource_type == TOPIC_RESOURCE:
                self._configure(self._by_name.get(record.resource_name))
        if changed:
            for subscriber in self._subscribers:
                subscriber()

    def _add(self, state: TopicState) -> None:
        topic = Topic(
            state.name,
            state.topic_id,
            state.name in INTERNAL_TOPICS,
            [],
            state.partitions,
            self._cluster.image.topic_configs(state.name),
        )
        self._by_name[topic.name] = topic
        self._by_id[topic.topic_id] = topic
        self._open_partitions(topic)

    def _open_partitions(self, topic: Topic) -> None:
        """Open what the image has and this has not."""
        if len(topic.partitions) == len(topic.states):
            return
        for index in range(len(topic.partitions), len(topic.states)):
            topic.partitions.append(self._open_partition(topic, index, topic.states[index]))

    def _open_partition(self, topic: Topic, index: int, state: PartitionState) -> Partition:
        config = self._log_configs(topic)(state.leader_id)
        return Partition(
            topic.name,
            topic.topic_id,
            index,
            self._logs.open(topic.name, topic.topic_id, index, config, self._assigned(state)),
            leader_id=state.leader_id,
            leader_epoch=state.leader_epoch,
            replicas=state.replicas,
            in_sync_replicas=state.in_sync_replicas,
        )

    def reopen(self) -> Iterator[object]:
        """Open again the logs that could not be opened for what passes, a full disk, say; one a step."""
        has_changed = False
        for topic in list(self._by_name.values()):
            for partition in topic.partitions:
                if partition.log.may_come_back and not partition.is_deleted:
                    state = topic.states[partition.index]
                    log = self._logs.open(
                        topic.name,
                        topic.topic_id,
                        partition.index,
                        self._log_configs(topic)(state.leader_id),
                        self._assigned(state),
                    )
                    if log.offline_reason is None:
                        partition.log_moved(log)
                        has_changed = True
                yield partition
        if has_changed:
            for subscriber in self._subscribers:
                subscriber()

    def _log_configs(self, topic: Topic) -> Callable[[int], LogConfig]:
        """From a leader to the configs of the logs it leads: they are those of its node.

        The nodes share the logs, and differ only where one has dynamic configs of its own.
        """
        config = self._cluster.config
        common = config.log_config(topic.configs, NO_LEADER)
        of_their_own = {
            node_id: config.log_config(topic.configs, node_id)
            for node_id, properties in config.dynamic_by_node.items()
            if properties
        }
        return lambda node_id: of_their_own.get(node_id, common)

    def _assigned(self, state: PartitionState) -> list[UUID]:
        """The data directories of this process' replicas; none where the metadata name none."""
        if len(state.directories) != len(state.replicas):
            return []
        here = self._cluster.config.node_ids
        return [
            directory
            for node_id, directory in zip(state.replicas, state.directories, strict=True)
            if node_id in here
        ]

    def _change_partition(self, topic: Topic, index: int) -> None:
        state, partition = topic.states[index], topic.partitions[index]
        if partition.leader_id != state.leader_id and any(
            self._cluster.config.dynamic_by_node.values()
        ):
            partition.log.config = self._log_configs(topic)(state.leader_id)
        partition.leader_id = state.leader_id
        partition.leader_epoch = state.leader_epoch
        partition.replicas = state.replicas
        partition.in_sync_replicas = state.in_sync_replicas
        partition.metadata_changed()

    def _remove(self, topic_id: UUID) -> None:
        topic = self._by_id.pop(topic_id)
        del self._by_name[topic.name]
        for partition in topic.partitions:
            partition.deleted()
            self._logs.delete(topic.name, partition.index, partition.log)

    def _configure(self, topic: Topic | None) -> None:
        if topic is None:
            return
        topic.configs = self._cluster.image.topic_configs(topic.name)
        config_on = self._log_configs(topic)
        for partition in topic.partitions:
            partition.log.config = config_on(partition.leader_id)

    def _configs_changed(self) -> None:
        """The broker's configs, which stand behind those of the topics."""
        for topic in self._by_name.values():
            self._configure(topic)
