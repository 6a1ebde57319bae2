"""The topics of a broker under controllers: partitions led, followed, or only known of.

Nothing is decided here. The controllers are asked for a topic that a client needs, and the client
asks again. Source: ReplicaManager.applyDelta, DefaultAutoTopicCreationManager.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from uuid import UUID

from kafkalite.cluster.image import PartitionState, TopicState
from kafkalite.cluster.observed_cluster import ObservedCluster
from kafkalite.cluster.topic_creation import CreatedTopic, NewTopic, internal_topic
from kafkalite.log.config import LogConfig
from kafkalite.log.log import Log
from kafkalite.log.loggers import logger_of
from kafkalite.log.open_files import OpenFiles
from kafkalite.log.opening import offline_log
from kafkalite.replica.partition import Partition
from kafkalite.replica.partition_logs import PartitionLogs
from kafkalite.replica.replicated_partition import ReplicatedPartition
from kafkalite.replica.topic import assigned_here, log_configs, without_partitions
from kafkalite.replica.topics import Topic, Topics
from kafkalite.replication.replica import Replica
from kafkalite.replication.replicas import Replicas
from kafkalite.replication.roles import Action
from kafkalite.replication.throttle import is_named
from kafkalite.requests.slices import Steps, WaitingSteps, at_once, mapped
from kafkalite.wire.errors import ErrorCode, KafkaError

logger = logger_of(__name__)


class ReplicatedTopics(Topics):
    """All topics of the cluster; open are the partitions with a replica here.

    `opening` opens those that there are at the start. The metadata must not change meanwhile.
    """

    def __init__(
        self,
        cluster: ObservedCluster,
        logs: PartitionLogs,
        replicas: Replicas,
        *,
        node_id: int,
        ask_for: Callable[[NewTopic], KafkaError | None],
        tell_directory: Callable[[UUID, int, UUID], None],
    ) -> None:
        """`ask_for` a topic at the controllers, unless they refused it not long ago;
        `tell_directory` where a replica lies."""
        self._node_id = node_id
        self._observed = cluster
        self._replicas = replicas
        self._partition_logs = logs
        self._ask_for = ask_for
        self._tell_directory = tell_directory
        # By name: gone, and not closed yet.
        self._removed: dict[str, Topic] = {}
        config = cluster.config.log_config({}, node_id)
        self._elsewhere = offline_log(
            Path("elsewhere"), config, "no replica here", now_ms=lambda: 0, open_files=OpenFiles()
        )
        super().__init__(cluster, logs, at_start=())

    # -- what clients ask for

    def creating_all(
        self, new_topics: Sequence[NewTopic], *, validate_only: bool = False
    ) -> WaitingSteps[list[CreatedTopic | KafkaError]]:
        """Ask the controllers for topics. Each comes to UNKNOWN_TOPIC_OR_PARTITION: not yet, or to
        a refusal that stands."""
        refusals = yield from mapped(self._ask_for, new_topics)
        return [each or KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) for each in refusals]

    def creating_internal(self, name: str) -> WaitingSteps[Topic]:
        """An internal topic, asked for at its first need.

        Raises KafkaError(COORDINATOR_NOT_AVAILABLE): not yet.
        """
        topic = self.get(name)
        if topic is None:
            self._ask_for(internal_topic(self._cluster.config, name))
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        yield None
        return topic

    # -- what follows from a change

    def _open_partition(
        self, topic: Topic, index: int, state: PartitionState, config: LogConfig
    ) -> Partition:
        partition = ReplicatedPartition(topic.name, topic.topic_id, index, self._elsewhere, state)
        self._take(topic, partition, state)
        return partition

    def _change_partition(self, topic: Topic, index: int) -> None:
        partition = topic.partitions[index]
        assert isinstance(partition, ReplicatedPartition)
        self._take(topic, partition, topic.states[index])

    def _take(self, topic: Topic, partition: ReplicatedPartition, state: PartitionState) -> None:
        if partition.replica is None and self._node_id in state.replicas:
            log = self._open_log(topic, partition.index, state, self._log_config(topic, state))
            replica = Replica(
                self._replicas, topic.name, topic.topic_id, partition.index, log, partition.changed
            )
            partition.hold(replica)
            self._throttle(topic, replica)
            self._replicas.add(replica)
        if partition.replica is not None:
            self._change_replica(topic, partition, partition.replica, state)
        else:
            partition.take(state)

    def _change_replica(
        self,
        topic: Topic,
        partition: ReplicatedPartition,
        replica: Replica,
        state: PartitionState,
    ) -> None:
        try:
            action = replica.change(state)
        except KafkaError as error:
            logger.error("%r: cannot lead: %s", replica, error)
            action = Action.LEAD
        if action is Action.NOTHING:
            return
        if action is Action.DELETE:
            logger.info("%s-%d: no replica here any more", topic.name, partition.index)
            self._close(partition, replica)
        partition.take(state)

    def _log_config(self, topic: Topic, state: PartitionState) -> LogConfig:
        return self._cluster.config.log_config(topic.configs, self._node_id)

    def _open_log(self, topic: Topic, index: int, state: PartitionState, config: LogConfig) -> Log:
        failed = self._partition_logs.offline_directory_ids()
        log = super()._open_log(topic, index, state, config)
        if self._partition_logs.offline_directory_ids() != failed:
            return self._open_log(topic, index, state, config)  # if it is new, another takes it
        directory_id = self._partition_logs.directory_id(topic.name, index)
        assigned = assigned_here(state, self._cluster.config.node_ids)
        if directory_id is not None and [directory_id] != assigned:
            self._tell_directory(topic.topic_id, index, directory_id)
        return log

    def _directories(self, state: PartitionState) -> list[UUID]:
        """The same as in one process, without a directory that is gone for good, as a new disk
        stands in its place: others have the records, and the log begins again, empty.

        While a directory does not work, it may be that one.
        Source: Partition.createLogInAssignedDirectoryId.
        """
        assigned = super()._directories(state)
        here = self._partition_logs.directory_ids
        is_gone = not self._partition_logs.manager.has_failed and set(assigned).isdisjoint(here)
        return [] if is_gone else assigned

    def _close(self, partition: ReplicatedPartition, replica: Replica) -> None:
        self._replicas.remove(replica)
        log = partition.log
        partition.let_go(self._elsewhere)
        self._logs.delete(partition.topic, partition.index, log)

    def _remove(self, topic_id: UUID) -> None:
        """The topic is gone; its partitions are closed later."""
        topic = self._by_id.pop(topic_id)
        del self.by_name[topic.name]
        self._removed[topic.name] = topic

    def _take_in(self, state: TopicState) -> None:
        at_once(self._closing(self._removed.pop(state.name, None)))
        super()._take_in(state)

    def opening(self) -> Steps[None]:
        """Open what the image has at the start, one partition a step."""
        for state in self._cluster.image.topics.values():
            topic = without_partitions(state, self._cluster.image.topic_configs(state.name))
            config_on = log_configs(self._cluster.config, topic)
            opened: list[Partition] = []
            for index, each in enumerate(state.partitions):
                config = config_on(each.leader_id)
                opened.append(self._open_partition(topic, index, each, config))
                yield
            self._opened[topic.topic_id] = opened
            self._take_in(state)

    def taking_in(self, changes: Sequence[object], offset: int) -> WaitingSteps[None]:
        """Take in what the controllers decided (see ObservedCluster.taking_in).

        The logs of new partitions are opened before anything is seen of them, those of topics that
        are gone are closed after that.
        """
        yield from self.opening_ahead(changes)
        yield from self._observed.taking_in(changes, offset)
        while self._removed:
            _, topic = self._removed.popitem()
            yield from self._closing(topic)

    def _closing(self, topic: Topic | None) -> Steps[None]:
        for partition in () if topic is None else topic.partitions:
            assert isinstance(partition, ReplicatedPartition)
            partition.deleted()
            if partition.replica is not None:
                self._close(partition, partition.replica)
            yield

    def _configure(self, topic: Topic | None) -> None:
        if topic is None:
            return
        topic.configs = self._cluster.image.topic_configs(topic.name)
        config = self._cluster.config.log_config(topic.configs, self._node_id)
        for partition in topic.partitions:
            if partition.log is not self._elsewhere:
                partition.log.config = config
            assert isinstance(partition, ReplicatedPartition)
            if partition.replica is not None:
                self._throttle(topic, partition.replica)

    def _throttle(self, topic: Topic, replica: Replica) -> None:
        """Throttle the replica as the topic's configs have it."""

        def has(side: str) -> bool:
            text = topic.configs.get(f"{side}.replication.throttled.replicas", "")
            return is_named(text, replica.index, self._node_id)

        replica.is_throttled_as_leader = has("leader")
        replica.is_throttled_as_follower = has("follower")

    @property
    def isr_changes(self) -> tuple[int, int]:
        proposals = self._replicas.proposals
        return proposals.shrink_count, proposals.expand_count

    def here(self) -> Sequence[ReplicatedPartition]:
        """The partitions that have a replica on this broker."""
        return [
            partition
            for topic in self.all()
            for partition in topic.partitions
            if isinstance(partition, ReplicatedPartition) and partition.is_here
        ]
