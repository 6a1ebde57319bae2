"""Share groups in the broker: the share coordinator, the share partitions, their tasks.

Both are made, and imported, when the first request needs them. Here they meet: in one process
leaders of share partitions and the group coordinator ask the share coordinator itself. Among
several processes they ask it by the network, wherever it is (share_persister.py). If states are not
to be kept, neither is asked (unkept_share_states.py).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

import trio

from kafkalite.config.choices import keeps_share_states
from kafkalite.coordinators.group_configs import group_configs
from kafkalite.coordinators.loading import Loading
from kafkalite.coordinators.unstored import Unstored, for_each
from kafkalite.requests.slices import (
    LongWork,
    at_once,
    batches,
    few_or_in_slices,
    in_slices_of_task,
)
from kafkalite.requests.suspension import has_to_wait
from kafkalite.requests.topic_names import SHARE_STATE_TOPIC
from kafkalite.supervision import every, supervised
from kafkalite.wire.compression import Compression
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.messages.stored.remove_topic_record import RemoveTopicRecord

if TYPE_CHECKING:
    from kafkalite.clock import Clock
    from kafkalite.cluster.cluster import Cluster
    from kafkalite.config import BrokerConfig
    from kafkalite.coordinators.share_coordinator.coordinator import ShareCoordinator
    from kafkalite.coordinators.share_coordinator.linger import Linger
    from kafkalite.coordinators.share_coordinator.share_state import ShareState
    from kafkalite.coordinators.share_persister import SharePersister
    from kafkalite.coordinators.share_settings import ShareGroupSettings
    from kafkalite.coordinators.unkept_share_states import UnkeptShareStates
    from kafkalite.group_coordinator.share_keeper import ShareStateKeeper
    from kafkalite.replica.share.share_partition import SharePartitionKey, StateUpdate
    from kafkalite.replica.share.share_partitions import SharePartitions
    from kafkalite.replica.share.share_sessions import TopicPartitionId
    from kafkalite.replica.topics import Topics
    from kafkalite.requests.context import RequestContext
    from kafkalite.requests.slices import Steps

T = TypeVar("T")
Respond = Callable[[], T | Coroutine[Any, Any, T]]


class ShareServices:
    """All that share groups need, made at their first need.

    `load` takes the steps in which the share coordinator loads. `persister` asks it where it may be
    another process.
    """

    def __init__(
        self,
        config: BrokerConfig,
        cluster: Cluster,
        topics: Topics,
        clock: Clock,
        *,
        load: Callable[[Steps[None]], object] = at_once,
        persister: SharePersister | None = None,
    ) -> None:
        self._load = load
        self._keeps_states = keeps_share_states(config)
        self.persister = persister if self._keeps_states else None
        self._config = config
        self._cluster = cluster
        self._topics = topics
        self._clock = clock
        self._now_ms = clock.now_ms
        self._needed = trio.Event()
        self._long_work = LongWork()
        self._loading = Loading(self)
        self._coordinator: ShareCoordinator | None = None
        self._partitions: SharePartitions | None = None
        self._settings: ShareGroupSettings | None = None
        if persister is not None:
            persister.lost = self._lost
            cluster.subscribe(lambda records: self._leaders_changed())
            topics.subscribe(self._logs_changed)

    async def run(self) -> None:
        """Wait for the first need; then run the timers of locks, snapshots and pruning."""
        async with trio.open_nursery() as nursery:
            if self.persister is not None:
                nursery.start_soon(supervised, "share states", self.persister.run)
            nursery.start_soon(supervised, "many share states", self._long_work.run)
            await self._needed.wait()
            nursery.start_soon(supervised, "share groups", self._run)

    async def _run(self) -> None:
        coordinator = self.coordinator
        config = coordinator.config
        async with trio.open_nursery() as nursery:
            nursery.start_soon(supervised, "share partitions", self.partitions.run)
            if coordinator.log.linger is not None:
                nursery.start_soon(supervised, "share state", coordinator.log.linger.run)
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
                ShareStateLog(
                    self._topics,
                    self._now_ms,
                    codec=Compression(integer("share.coordinator.state.topic.compression.codec")),
                    read_bytes=integer("share.coordinator.load.buffer.size"),
                    linger_seconds=self.linger_seconds,
                ),
                partition_count=self._partition_count,
                now_ms=self._now_ms,
                load=self._load,
                lost=self._lost,
            )
            self._cluster.subscribe(self._metadata_changed)
            self._needed.set()
        return self._coordinator

    @property
    def is_loading(self) -> bool:
        """True while states that this process is asked for are being loaded."""
        return self._keeps_states and self.persister is None and self.coordinator.is_loading

    @property
    def state_write_count(self) -> int:
        """The updates of states that were written since the start."""
        return 0 if self._coordinator is None else self._coordinator.write_count

    @property
    def linger_seconds(self) -> float:
        """The time that updates of states wait for others, as configured; 0 for -1, which lets
        the broker choose."""
        return max(0, self._config.integer("share.coordinator.append.linger.ms")) / 1000

    @property
    def linger(self) -> Linger | None:
        """The updates of states that are still to be written; None if none ever waits."""
        return None if self._coordinator is None else self._coordinator.log.linger

    @property
    def partitions(self) -> SharePartitions:
        if self._partitions is None:
            from kafkalite.replica.share.share_partitions import SharePartitions

            self._partitions = SharePartitions(
                self._topics,
                self.persister or self._states,
                self.settings,
                most_sessions=partial(self._config.integer, "group.share.max.share.sessions"),
                clock=self._clock,
                later=self._take_later,
            )
            self._needed.set()
        return self._partitions

    @property
    def keeper(self) -> ShareStateKeeper:
        """The share coordinator for the group coordinator."""
        if self.persister is not None:
            return self.persister
        from kafkalite.group_coordinator.share_keeper import LocalKeeper

        return LocalKeeper(self._states, self._long_work, self._loading)

    @property
    def _states(self) -> ShareServices | UnkeptShareStates:
        """The states, where no other process is asked for them."""
        if self._keeps_states:
            return self
        from kafkalite.coordinators.unkept_share_states import UnkeptShareStates

        return UnkeptShareStates()

    @property
    def opened_partitions(self) -> SharePartitions | None:
        """`partitions` if they were needed already."""
        return self._partitions

    @property
    def settings(self) -> ShareGroupSettings:
        if self._settings is None:
            from kafkalite.coordinators.share_settings import ShareGroupSettings

            configs = self._cluster.image.configs
            self._settings = ShareGroupSettings(
                self._config,
                partial(group_configs, configs),
                self._now_ms,
            )
        return self._settings

    def _take_later(self, steps: Steps[None]) -> None:
        self._long_work.start(partial(in_slices_of_task, steps))

    def _partition_count(self, topic_id: UUID) -> int:
        topic = self._topics.by_id(topic_id)
        return 0 if topic is None else len(topic.partitions)

    def _metadata_changed(self, records: Sequence[object]) -> Steps[None] | None:
        gone = {record.topic_id for record in records if isinstance(record, RemoveTopicRecord)}
        return self._topics_deleted(gone) if gone else None

    def _topics_deleted(self, gone: Collection[UUID]) -> Steps[None]:
        yield from self.coordinator.topics_deleted(gone)
        if self._partitions is not None:
            yield from self._partitions.topics_deleted(gone)

    def _logs_changed(self) -> None:
        """Topics, or their partitions, came or went, or a log was opened again."""
        if (steps := self._leaders_changed()) is not None:
            self._take_later(steps)

    def _leaders_changed(self) -> Steps[None] | None:
        """Partitions may be led elsewhere, or here: among several processes."""
        topic = self._topics.get(SHARE_STATE_TOPIC)
        partitions = () if topic is None else topic.partitions
        if self._coordinator is not None or any(p.coordinated_here >= 0 for p in partitions):
            self.coordinator.leaders_changed()
        return None if self._partitions is None else self._partitions.leaders_changed()

    def _lost(self, key: SharePartitionKey) -> None:
        if self._partitions is not None:
            self._partitions.drop(key)

    def when_ready(
        self, context: RequestContext, names: Iterable[str], respond: Respond[T]
    ) -> T | Coroutine[Any, Any, T]:
        """`respond()`. Before it, the topic of the states is created if it is missing and one of
        the topics named exists."""
        if at_once(self._lacks_topic(names)):
            return self._respond_when_made(context, respond)
        return respond()

    async def make_ready(self, context: RequestContext, names: Iterable[str]) -> None:
        """Create the topic of the states if it is missing and one of the topics named exists.
        States may be asked for after that: those that are kept here are loaded then."""
        await context.connection.move_to_task()
        if await in_slices_of_task(self._lacks_topic(names)):
            await self._topics.ready_internal(SHARE_STATE_TOPIC, context)
        await self._loading.ended()

    def _lacks_topic(self, names: Iterable[str]) -> Steps[bool]:
        if self._keeps_states and self._topics.get(SHARE_STATE_TOPIC) is None:
            for name in names:
                if self._topics.get(name) is not None:
                    return True
                yield
        return False

    async def _respond_when_made(self, context: RequestContext, respond: Respond[T]) -> T:
        await self._topics.ready_internal(SHARE_STATE_TOPIC, context)
        response: Any = respond()
        made: T = await response if has_to_wait(response) else response
        return made

    # For leaders of share partitions

    async def fetch_states(
        self,
        context: RequestContext,
        group_id: str,
        wanted: Sequence[TopicPartitionId],
        *,
        is_long: bool,
    ) -> None:
        """Have the states of share partitions that are to be opened at hand (`open`)."""
        if not self._keeps_states:
            return
        await self._topics.ready_internal(SHARE_STATE_TOPIC, context)
        finding = self._not_open(context.node_id, group_id, wanted)
        missing = await few_or_in_slices(finding, context, is_long=is_long)
        if missing and self.persister is not None:
            await context.connection.move_to_task()
            await for_each(self.persister.fetch, missing)
        elif missing and self._loading.is_under_way:
            await context.connection.move_to_task()
            await self._loading.ended()

    def _not_open(
        self, node_id: int, group_id: str, wanted: Sequence[TopicPartitionId]
    ) -> Steps[list[tuple[SharePartitionKey, int]]]:
        """The share partitions that are to be opened, each with its leader epoch."""
        found: list[tuple[SharePartitionKey, int]] = []
        for some in batches(wanted):
            for where in some:
                key = _key(group_id, *where)
                with suppress(KafkaError):  # ShareReader says so
                    partition = self.partitions.find_partition(where, node_id)
                    if self.partitions.get(key) is None:
                        found.append((key, partition.leader_epoch))
            yield
        return found

    def unstored(self, group_id: str) -> Unstored:
        """To note what the acknowledgements of a request rest on."""
        return Unstored(self.persister, group_id)

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
        return self._topics.partition(topic_id, partition).high_watermark


def _key(group_id: str, topic_id: UUID, partition: int) -> SharePartitionKey:
    from kafkalite.replica.share.share_partition import SharePartitionKey

    return SharePartitionKey(group_id, topic_id, partition)
