"""Share groups in the broker: the share coordinator, the share partitions, their tasks.

Both are made, and imported, when the first request needs them. Here they meet: leaders of share
partitions and the group coordinator ask the share coordinator, which in Kafka goes over the
network.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar
from uuid import UUID

import trio

from kafkalite.cluster.image import GROUP_RESOURCE
from kafkalite.cluster.internal_topics import SHARE_STATE_TOPIC
from kafkalite.supervision import every, supervised
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.stored.remove_topic_record import RemoveTopicRecord

if TYPE_CHECKING:
    from kafkalite.cluster.cluster import Cluster
    from kafkalite.config import BrokerConfig
    from kafkalite.coordinators.share_coordinator.coordinator import ShareCoordinator
    from kafkalite.coordinators.share_coordinator.share_state import ShareState
    from kafkalite.coordinators.share_settings import ShareGroupSettings
    from kafkalite.replica.partition import Partition
    from kafkalite.replica.share.share_partition import SharePartitionKey, StateUpdate
    from kafkalite.replica.share.share_partitions import SharePartitions
    from kafkalite.replica.topics import Topics
    from kafkalite.requests.context import RequestContext

T = TypeVar("T")

LATEST: Final = -1
EARLIEST: Final = -2


class ShareServices:
    """All that share groups need, made at their first need."""

    def __init__(
        self, config: BrokerConfig, cluster: Cluster, topics: Topics, now_ms: Callable[[], int]
    ) -> None:
        self._config = config
        self._cluster = cluster
        self._topics = topics
        self._now_ms = now_ms
        self._needed = trio.Event()
        self._coordinator: ShareCoordinator | None = None
        self._partitions: SharePartitions | None = None
        self._settings: ShareGroupSettings | None = None

    async def run(self) -> None:
        """Nothing before the first need; then let time pass for locks, snapshots and pruning."""
        await self._needed.wait()
        coordinator = self.coordinator
        config = coordinator.config
        async with trio.open_nursery() as nursery:
            nursery.start_soon(supervised, "share partitions", self.partitions.run)
            for interval_ms, work in (
                (
                    config.share_coordinator_cold_partition_snapshot_interval_ms,
                    coordinator.snapshot_cold_partitions,
                ),
                (config.share_coordinator_state_topic_prune_interval_ms, coordinator.prune),
            ):
                nursery.start_soon(every, "share state", partial(float, interval_ms / 1000), work)

    @property
    def coordinator(self) -> ShareCoordinator:
        if self._coordinator is None:
            from kafkalite.coordinators.share_coordinator.coordinator import (
                ShareCoordinator,
                ShareCoordinatorConfig,
            )
            from kafkalite.coordinators.share_coordinator.state_log import ShareStateLog

            integer = self._config.integer
            self._coordinator = ShareCoordinator(
                ShareCoordinatorConfig(
                    integer("share.coordinator.snapshot.update.records.per.snapshot"),
                    integer("share.coordinator.cold.partition.snapshot.interval.ms"),
                    integer("share.coordinator.state.topic.prune.interval.ms"),
                ),
                ShareStateLog(self._topics, self._now_ms),
                partition_count=self._partition_count,
                now_ms=self._now_ms,
            )
            self._cluster.subscribe(self._metadata_changed)
            self._needed.set()
        return self._coordinator

    @property
    def partitions(self) -> SharePartitions:
        if self._partitions is None:
            from kafkalite.replica.share.share_partitions import SharePartitions

            self._partitions = SharePartitions(
                self._topics,
                self,
                self.settings,
                find_offset=find_offset,
                most_sessions=partial(self._config.integer, "group.share.max.share.sessions"),
            )
            self._needed.set()
        return self._partitions

    @property
    def settings(self) -> ShareGroupSettings:
        if self._settings is None:
            from kafkalite.coordinators.share_settings import ShareGroupSettings

            configs = self._cluster.image.configs
            self._settings = ShareGroupSettings(
                self._config,
                lambda group_id: configs.get((GROUP_RESOURCE, group_id), {}),
                self._now_ms,
            )
        return self._settings

    def _partition_count(self, topic_id: UUID) -> int:
        topic = self._topics.by_id(topic_id)
        return 0 if topic is None else len(topic.partitions)

    def _metadata_changed(self, records: Sequence[object]) -> None:
        gone = {record.topic_id for record in records if isinstance(record, RemoveTopicRecord)}
        if gone:
            self.coordinator.topics_deleted(gone)
            if self._partitions is not None:
                self._partitions.topics_deleted(gone)

    def when_ready(
        self, context: RequestContext, names: Iterable[str], respond: Callable[[], T]
    ) -> T | Coroutine[Any, Any, T]:
        """`respond()`, which may be the first to need the topic of the states: it is made before.

        That is needed only if one of the topics named exists.
        """
        if self._lacks_topic(names):
            return self._respond_when_made(context, respond)
        return respond()

    async def make_ready(self, context: RequestContext, names: Iterable[str]) -> None:
        """Make the topic of the states, if one of the topics named exists and that is not there."""
        if self._lacks_topic(names):
            await self._topics.ready_internal(SHARE_STATE_TOPIC, context)

    def _lacks_topic(self, names: Iterable[str]) -> bool:
        is_made = self._topics.get(SHARE_STATE_TOPIC) is not None
        return not is_made and any(self._topics.get(name) is not None for name in names)

    async def _respond_when_made(self, context: RequestContext, respond: Callable[[], T]) -> T:
        await self._topics.ready_internal(SHARE_STATE_TOPIC, context)
        return respond()

    # For leaders of share partitions

    def read_state(self, key: SharePartitionKey, leader_epoch: int) -> ShareState:
        """The stored state. Raises KafkaError."""
        self.coordinator.log.ensure()
        return self.coordinator.read(key, leader_epoch)

    def write_state(
        self, key: SharePartitionKey, state_epoch: int, leader_epoch: int, update: StateUpdate
    ) -> None:
        """Make an update durable. Raises KafkaError."""
        from kafkalite.coordinators.share_coordinator.coordinator import Write

        self.coordinator.write(
            key,
            Write(
                state_epoch,
                leader_epoch,
                update.start_offset,
                update.delivery_complete_count,
                update.batches,
            ),
        )

    # For the group coordinator

    def initialize_state(
        self, group_id: str, topic_id: UUID, partition: int, state_epoch: int, start_offset: int
    ) -> None:
        """Begin the state of a share partition. Raises KafkaError."""
        self.coordinator.log.ensure()
        self.coordinator.initialize(_key(group_id, topic_id, partition), state_epoch, start_offset)

    def delete_state(self, group_id: str, topic_id: UUID, partition: int) -> None:
        """Forget the state of a share partition. Raises KafkaError."""
        self.coordinator.log.ensure()
        self.coordinator.delete(_key(group_id, topic_id, partition))

    def describe_state(self, group_id: str, topic_id: UUID, partition: int) -> tuple[int, int, int]:
        """Start offset and delivery complete count (-1: there is none), leader epoch.

        Raises KafkaError.
        """
        self.coordinator.log.ensure()
        state = self.coordinator.summary(_key(group_id, topic_id, partition))
        if state is None:
            return -1, -1, 0
        return state.start_offset, state.delivery_complete_count, state.leader_epoch

    def latest_offset(self, topic_id: UUID, partition: int) -> int:
        """The offset of the next record that consumers see. Raises KafkaError."""
        topic = self._topics.by_id(topic_id)
        if topic is None or partition >= len(topic.partitions):
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return topic.partitions[partition].high_watermark


def _key(group_id: str, topic_id: UUID, partition: int) -> SharePartitionKey:
    from kafkalite.replica.share.share_partition import SharePartitionKey

    return SharePartitionKey(group_id, topic_id, partition)


def find_offset(partition: Partition, timestamp_ms: int) -> int:
    """The offset of a timestamp, or LATEST or EARLIEST. Raises KafkaError(OFFSET_NOT_AVAILABLE)."""
    if timestamp_ms == LATEST:
        return partition.high_watermark
    if timestamp_ms == EARLIEST:
        return partition.log.log_start_offset
    found = partition.log.offset_for_timestamp(timestamp_ms)
    if found is None or found.offset >= partition.high_watermark:
        raise KafkaError(
            ErrorCode.OFFSET_NOT_AVAILABLE,
            f"Offset for timestamp {timestamp_ms} not found for topic partition: "
            f"{partition.topic}-{partition.index}",
        )
    return found.offset
