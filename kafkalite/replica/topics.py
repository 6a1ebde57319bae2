"""Topics: what exists, with its partitions open; creating, deleting and growing them.

The names and numbers are the metadata image's; this adds the live `Partition`s. A change is checked
first, then written as metadata records; the partitions follow when those come from the cluster.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final, TypeVar
from uuid import UUID

from kafkalite.cluster.image import NewPartitions, PartitionState, TopicState
from kafkalite.cluster.new_partitions import gathered
from kafkalite.cluster.operation_size import checking_partition_count
from kafkalite.cluster.topic_creation import (
    CreatedTopic,
    Growth,
    NewTopic,
    TopicCreation,
    internal_topic,
)
from kafkalite.log.loggers import logger_of
from kafkalite.log.said_once import SaidOnce
from kafkalite.replica.partition import Partition
from kafkalite.replica.topic import (
    DirectoryFailed,
    PartitionLogs,
    Topic,
    assigned_here,
    deleting,
    log_configs,
    planned_topics,
    telling_of_growth,
    without_partitions,
)
from kafkalite.replica.topic_plans import carried_out
from kafkalite.requests.in_turn import InTurn
from kafkalite.requests.slices import Steps, WaitingSteps, at_once, in_slices, release
from kafkalite.wire.api_keys import TOPIC_RESOURCE
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.stored.config_record import ConfigRecord
from kafkalite.wire.messages.stored.partition_change_record import PartitionChangeRecord
from kafkalite.wire.messages.stored.partition_record import PartitionRecord
from kafkalite.wire.messages.stored.remove_topic_record import RemoveTopicRecord
from kafkalite.wire.messages.stored.topic_record import TopicRecord

if TYPE_CHECKING:
    from kafkalite.cluster.cluster import Cluster
    from kafkalite.log.config import LogConfig
    from kafkalite.log.log import Log
    from kafkalite.requests.context import RequestContext

A = TypeVar("A")
T = TypeVar("T")

_NOT_CREATED: Final = "an internal topic cannot be created"
_OF_PARTITIONS: Final = (TopicRecord, NewPartitions, PartitionRecord, RemoveTopicRecord)

__all__ = ["CreatedTopic", "NewTopic", "PartitionLogs", "Topic", "Topics"]


class Topics:
    """All topics, open."""

    def __init__(
        self, cluster: Cluster, logs: PartitionLogs, at_start: Iterable[TopicState] | None = None
    ) -> None:
        """Opens the logs of everything that is there, or `at_start`."""
        self._cluster = cluster
        self._logs = logs
        self.by_name: dict[str, Topic] = {}
        self._by_id: dict[UUID, Topic] = {}
        self._subscribers: list[Callable[[], None]] = []
        self._creation = TopicCreation(cluster)
        self.changes = InTurn()
        self._trouble = SaidOnce(_NOT_CREATED, logger_of(__name__), logging.WARNING)
        # Partitions that are open, and shown with the next change.
        self._opened: dict[UUID, list[Partition]] = {}
        self._was_configured = self._have_defaults_changed = False  # since they were opened
        for state in cluster.image.topics.values() if at_start is None else at_start:
            self._take_in(state)
        cluster.subscribe(self._metadata_changed)
        cluster.config.subscribe(self._configs_changed)

    def get(self, name: str) -> Topic | None:
        """A topic by name."""
        return self.by_name.get(name)

    def by_id(self, topic_id: UUID) -> Topic | None:
        """A topic by id."""
        return self._by_id.get(topic_id)

    def name_of(self, topic_id: UUID) -> str | None:
        """The name of a topic, by its id."""
        topic = self._by_id.get(topic_id)
        return None if topic is None else topic.name

    def partition(self, where: str | UUID, index: int) -> Partition:
        """A partition by its topic's name or id. Raises KafkaError(UNKNOWN_TOPIC_OR_PARTITION)."""
        topic = self.by_name.get(where) if isinstance(where, str) else self._by_id.get(where)
        found = topic.partition(index) if topic else None
        if found is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return found

    def all(self) -> Iterable[Topic]:
        """All topics; internal ones, too."""
        return self.by_name.values()

    def __len__(self) -> int:
        return len(self.by_name)

    @property
    def isr_changes(self) -> tuple[int, int]:
        """The proposals that shrank and expanded in-sync replicas: one process makes none."""
        return 0, 0

    def subscribe(self, callback: Callable[[], None]) -> None:
        """Call `callback` after topics or partitions came or went."""
        self._subscribers.append(callback)

    # Changes

    def create(self, new: NewTopic) -> None:
        """Create one topic, now. Raises KafkaError."""
        at_once(self.creating(new))

    def creating(self, new: NewTopic) -> WaitingSteps[None]:
        """Create one topic. Raises KafkaError."""
        (result,) = yield from self.creating_all([new])
        if isinstance(result, KafkaError):
            raise result

    def creating_all(
        self, new_topics: Sequence[NewTopic], *, validate_only: bool = False
    ) -> WaitingSteps[list[CreatedTopic | KafkaError]]:
        """Create topics; for each the created topic or its error."""
        return self.changes.do(self._create_all(new_topics, validate_only=validate_only))

    def _create_all(
        self, new_topics: Sequence[NewTopic], *, validate_only: bool
    ) -> WaitingSteps[list[CreatedTopic | KafkaError]]:
        try:
            yield from checking_partition_count(self._cluster.config, new_topics)
        except KafkaError as error:
            return [error] * len(new_topics)
        plan = self._creation.records
        return (yield from self._carry_out(new_topics, plan, validate_only=validate_only))

    def _carry_out(
        self,
        wanted: Sequence[A],
        plan: Callable[[A], Steps[tuple[T, list[object]]]],
        *,
        validate_only: bool,
    ) -> WaitingSteps[list[T | KafkaError]]:
        add = None if validate_only else partial(self._add, alive=self._cluster.alive)
        try:
            return (yield from carried_out(wanted, plan, add))
        finally:
            self._logs.all_placed()

    def create_internal(self, name: str) -> Topic:
        """The same as `creating_internal`, now."""
        return at_once(self.creating_internal(name))

    def creating_internal(self, name: str) -> WaitingSteps[Topic]:
        """An internal topic, created at its first need with the configs that Kafka gives it.

        Raises KafkaError, for instance when its replication factor is above the number of nodes.
        """
        if name not in self.by_name:
            try:
                yield from self.creating(internal_topic(self._cluster.config, name))
            except KafkaError as error:
                if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:  # another was faster
                    raise
        return self.by_name[name]

    async def ready_internal(self, name: str, context: RequestContext) -> None:
        """Create a missing internal topic in slices; what prevents it is logged."""
        if name not in self.by_name:
            try:
                await in_slices(self.creating_internal(name), context)
            except KafkaError as error:
                if error.code is not ErrorCode.COORDINATOR_NOT_AVAILABLE:  # it is on its way
                    self._trouble.failed(error)

    def deleting(self, topic_ids: Iterable[UUID]) -> WaitingSteps[dict[UUID, KafkaError]]:
        """Delete topics that exist. Errors are of those that stay: no metadata can be written."""
        return self.changes.do(deleting(self._cluster, self._logs, self._by_id, topic_ids))

    def growing_all(
        self, growths: Sequence[Growth], *, validate_only: bool = False
    ) -> WaitingSteps[list[KafkaError | None]]:
        """Give topics more partitions; for each its error, or None. None is named twice."""
        plan = self._planned_growth
        return self.changes.do(self._carry_out(growths, plan, validate_only=validate_only))

    def _planned_growth(self, growth: Growth) -> Steps[tuple[None, list[object]]]:
        return None, (yield from self._creation.growth_records(growth))

    def _add(self, records: list[object], alive: frozenset[int]) -> WaitingSteps[None]:
        """Open logs, then show them by the records that were planned when `alive` lived."""
        changes = yield from gathered(records)
        failed = self._logs.offline_directory_ids()
        try:
            yield from self.opening_ahead(changes)
            if self._logs.offline_directory_ids() != failed:
                raise DirectoryFailed(ErrorCode.KAFKA_STORAGE_ERROR)
            yield from self._cluster.writing(records, changes)
        except KafkaError:
            for partition in chain.from_iterable(self._opened.values()):
                self._logs.delete(partition.topic, partition.index, partition.log)
                yield None
            raise
        finally:
            self._opened.clear()
        if self._was_configured:
            for change in changes:
                if isinstance(change, NewPartitions):
                    self._configure(self._by_id.get(change.topic_id))
        yield from telling_of_growth(changes, self._by_id)
        yield from release([records])
        yield from self._cluster.catching_up_with(alive)

    def opening_ahead(self, changes: Sequence[object]) -> WaitingSteps[None]:
        """Open the partitions that are to come, unless an older topic still has the name."""
        yield from self._logs.forgetting({t.name for t in changes if isinstance(t, TopicRecord)})
        self._was_configured = False
        topics = planned_topics(changes, self.by_name)
        for change in changes:
            if isinstance(change, NewPartitions):
                topic = topics.get(change.topic_id) or self._by_id.get(change.topic_id)
                if topic is None:
                    continue
                opened = self._opened[change.topic_id] = []
                config_on = log_configs(self._cluster.config, topic)
                for index, each in enumerate(change.states, len(topic.partitions)):
                    on = config_on(each.leader_id)
                    opened.append(self._open_partition(topic, index, each, on))
                    yield None

    # Consequences of a change

    def _metadata_changed(self, records: Sequence[object]) -> Steps[None] | None:
        new, configured = set[str](), set[str]()
        for record in records:
            if isinstance(record, ConfigRecord):  # of which there are the most
                if record.resource_type == TOPIC_RESOURCE:
                    configured.add(record.resource_name)
            elif isinstance(record, TopicRecord):
                new.add(record.name)
                if (state := self._cluster.image.topics_by_id.get(record.topic_id)) is not None:
                    self._take_in(state)
            elif isinstance(record, NewPartitions):
                self._open_partitions(self._by_id[record.topic_id])
            elif isinstance(record, PartitionRecord):
                topic = self._by_id[record.topic_id]
                is_known = record.partition_id < len(topic.partitions)
                self._open_partitions(topic)
                if is_known:
                    self._change_partition(topic, record.partition_id)
            elif isinstance(record, PartitionChangeRecord):
                self._change_partition(self._by_id[record.topic_id], record.partition_id)
            elif isinstance(record, RemoveTopicRecord):
                self._remove(record.topic_id)
        if any(isinstance(record, _OF_PARTITIONS) for record in records):
            for subscriber in self._subscribers:
                subscriber()
        names = self.by_name if self._have_defaults_changed else configured - new
        self._have_defaults_changed = False
        return self._configuring(list(names)) if names else None

    def _take_in(self, state: TopicState) -> None:
        topic = without_partitions(state, self._cluster.image.topic_configs(state.name))
        self.by_name[topic.name] = topic
        self._by_id[topic.topic_id] = topic
        self._open_partitions(topic)

    def _open_partitions(self, topic: Topic) -> None:
        """Open the partitions that the image has and the topic has not. Some were opened ahead."""
        topic.partitions.extend(self._opened.pop(topic.topic_id, ()))
        if len(topic.partitions) == len(topic.states):
            return
        config_on = log_configs(self._cluster.config, topic)
        for index, state in enumerate(topic.states[len(topic.partitions) :], len(topic.partitions)):
            config = config_on(state.leader_id)
            topic.partitions.append(self._open_partition(topic, index, state, config))

    def _open_partition(
        self, topic: Topic, index: int, state: PartitionState, config: LogConfig
    ) -> Partition:
        return Partition(
            topic.name,
            topic.topic_id,
            index,
            self._open_log(topic, index, state, config),
            leader_id=state.leader_id,
            leader_epoch=state.leader_epoch,
            replicas=state.replicas,
            in_sync_replicas=state.in_sync_replicas,
        )

    def _open_log(self, topic: Topic, index: int, state: PartitionState, config: LogConfig) -> Log:
        assigned = self._directories(state)
        return self._logs.open(topic.name, topic.topic_id, index, config, assigned)

    def _directories(self, state: PartitionState) -> list[UUID]:
        """The data directories, of which one must have a partition's log if none has it now."""
        return assigned_here(state, self._cluster.config.node_ids)

    def _log_config(self, topic: Topic, state: PartitionState) -> LogConfig:
        return log_configs(self._cluster.config, topic)(state.leader_id)

    def reopen(self) -> Iterator[object]:
        """Open again the logs that passing trouble, such as a full disk, kept shut; one a step."""
        has_changed = False
        for topic in list(self.by_name.values()):
            for partition in topic.partitions:
                if partition.log.may_come_back and not partition.is_deleted:
                    at = topic.states[partition.index]
                    log = self._open_log(topic, partition.index, at, self._log_config(topic, at))
                    if log.offline_reason is None:
                        partition.log_moved(log)
                        has_changed = True
                yield partition
        for subscriber in self._subscribers if has_changed else ():
            subscriber()

    def _change_partition(self, topic: Topic, index: int) -> None:
        state, partition = topic.states[index], topic.partitions[index]
        config = self._cluster.config
        if partition.leader_id != state.leader_id and any(config.dynamic_by_node.values()):
            partition.log.config = log_configs(config, topic)(state.leader_id)
        partition.leader_id = state.leader_id
        partition.leader_epoch = state.leader_epoch
        partition.replicas = state.replicas
        partition.in_sync_replicas = state.in_sync_replicas
        partition.metadata_changed()

    def _remove(self, topic_id: UUID) -> None:
        """The topic is gone; its partitions are closed by the change that deletes it."""
        topic = self._by_id.pop(topic_id)
        del self.by_name[topic.name]

    def _configure(self, topic: Topic | None) -> None:
        self._was_configured = True
        if topic is None:
            return
        topic.configs = self._cluster.image.topic_configs(topic.name)
        config_on = log_configs(self._cluster.config, topic)
        for partition in topic.partitions:
            partition.log.config = config_on(partition.leader_id)
            partition.look_again()

    def _configuring(self, names: Sequence[str]) -> Steps[None]:
        """Configure topics by their own configs and the broker's, one a step: each may be large."""
        for count, name in enumerate(names):
            if count:
                yield
            self._configure(self.by_name.get(name))

    def _configs_changed(self) -> None:
        """Defaults of topics have changed, by a change of the metadata: it configures them."""
        self._was_configured = True
        self._have_defaults_changed = True
