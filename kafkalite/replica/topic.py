"""One topic with its open partitions, what opens their logs, and the end of topics."""

from __future__ import annotations

from collections.abc import (
    Callable,
    Collection,
    Container,
    Generator,
    Iterable,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol
from uuid import UUID

from kafkalite.cluster.image import NO_LEADER, NewPartitions, TopicState
from kafkalite.group_coordinator.java_hash import partition_of_key
from kafkalite.log.loggers import logger_of
from kafkalite.requests.slices import Steps, WaitingSteps, release
from kafkalite.requests.topic_names import INTERNAL_TOPICS
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.messages.stored.config_record import ConfigRecord
from kafkalite.wire.messages.stored.remove_topic_record import RemoveTopicRecord
from kafkalite.wire.messages.stored.topic_record import TopicRecord

if TYPE_CHECKING:
    from kafkalite.cluster.cluster import Cluster
    from kafkalite.cluster.image import PartitionState
    from kafkalite.config import BrokerConfig
    from kafkalite.log.config import LogConfig
    from kafkalite.log.log import Log
    from kafkalite.replica.partition import Partition

logger = logger_of(__name__)


TOPICS_AT_ONCE: Final = 500  # that come or go in one change


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
        """The log of a partition, new or as it was; `assigned` are its directories in the
        metadata."""
        ...

    def forgetting(self, topics: Container[str]) -> Generator[Callable[[], None] | None]:
        """Have the disk forget deleted logs of these topics: call what is yielded."""
        ...

    def all_placed(self) -> None:
        """Partitions that were given a directory are open now, or will never be."""
        ...

    def offline_directory_ids(self) -> list[UUID]:
        """The data directories that failed while they were in use."""
        ...

    def delete(self, topic: str, index: int, log: Log) -> None:
        """Its partition is gone: close the log and remove its files."""
        ...


class DirectoryFailed(KafkaError):
    """A data directory failed while new logs were made. Others may take them."""


@dataclass(slots=True, eq=False)
class Topic:
    """A topic with its open partitions; a partition's index is its position."""

    name: str
    topic_id: UUID
    is_internal: bool
    partitions: list[Partition]
    states: list[PartitionState]
    configs: Mapping[str, str]

    def partition(self, index: int) -> Partition | None:
        """A partition by its index, None if there is none."""
        return self.partitions[index] if 0 <= index < len(self.partitions) else None

    def coordinating(self, key: str) -> Partition:
        """The partition of an internal topic whose leader coordinates what has this key."""
        return self.partitions[partition_of_key(key, len(self.partitions))]


def telling_of_growth(changes: Iterable[object], topics: Mapping[UUID, Topic]) -> Steps[None]:
    """Log which topics were created, or have more partitions now."""
    for change in changes:
        if isinstance(change, NewPartitions) and change.topic_id in topics:
            topic = topics[change.topic_id]
            count = len(topic.partitions)
            what = "created" if count == len(change.states) else "has grown"
            logger.info("topic %s %s: %d partition(s)", topic.name, what, count)
            yield


def tell_of_end(topic: Topic) -> None:
    """Log that a topic was deleted."""
    logger.info("topic %s deleted", topic.name)


def without_partitions(state: TopicState, configs: Mapping[str, str]) -> Topic:
    """A topic without its partitions."""
    is_internal = state.name in INTERNAL_TOPICS
    return Topic(state.name, state.topic_id, is_internal, [], state.partitions, configs)


def planned_topics(changes: Iterable[object], there: Container[str]) -> dict[UUID, Topic]:
    """The topics that are to come, by id; not those of a name that is there."""
    configs: dict[str, dict[str, str]] = {}
    new: list[TopicState] = []
    for change in changes:
        if isinstance(change, ConfigRecord):
            configs.setdefault(change.resource_name, {})[change.name] = change.value or ""
        elif isinstance(change, TopicRecord) and change.name not in there:
            new.append(TopicState(change.name, change.topic_id))
    return {each.topic_id: without_partitions(each, configs.get(each.name, {})) for each in new}


def assigned_here(state: PartitionState, node_ids: Collection[int]) -> list[UUID]:
    """The data directories of this process' replicas; none where the metadata name none."""
    if len(state.directories) != len(state.replicas):
        return []
    return [
        directory
        for node_id, directory in zip(state.replicas, state.directories, strict=True)
        if node_id in node_ids
    ]


def log_configs(config: BrokerConfig, topic: Topic) -> Callable[[int], LogConfig]:
    """From a leader to the configs of the logs it leads: they are those of its node.

    The nodes share the logs, and differ only where one has dynamic configs of its own.
    """
    common = config.log_config(topic.configs, NO_LEADER)
    of_their_own = {
        node_id: config.log_config(topic.configs, node_id)
        for node_id, properties in config.dynamic_by_node.items()
        if properties
    }
    return lambda node_id: of_their_own.get(node_id, common)


def deleting(
    cluster: Cluster, logs: PartitionLogs, by_id: Mapping[UUID, Topic], topic_ids: Iterable[UUID]
) -> WaitingSteps[dict[UUID, KafkaError]]:
    """Delete topics; those that do not exist any more are passed over.

    The errors are those of topics that are still there: the metadata cannot be written.
    """
    going = [topic for topic in map(by_id.get, topic_ids) if topic is not None]
    failed: dict[UUID, KafkaError] = {}
    gone: list[Topic] = []
    for start in range(0, len(going), TOPICS_AT_ONCE):
        some = going[start : start + TOPICS_AT_ONCE]
        try:
            yield from cluster.writing(
                [RemoveTopicRecord(topic_id=topic.topic_id) for topic in some]
            )
        except KafkaError as error:
            failed.update((topic.topic_id, error) for topic in some)
        else:
            gone += some
    yield from _ending(logs, gone)
    held = [[*topic.partitions, *topic.states] for topic in gone]
    going.clear()
    gone.clear()
    yield from release(held)
    return failed


def _ending(logs: PartitionLogs, gone: Sequence[Topic]) -> WaitingSteps[None]:
    for topic in gone:
        tell_of_end(topic)
        for partition in topic.partitions:
            partition.deleted()
            logs.delete(partition.topic, partition.index, partition.log)
            yield None
