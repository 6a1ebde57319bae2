"""GroupCoordinator: puts the parts together that coordinate the groups of this process.

Each group belongs to one partition of `__consumer_offsets`, and is coordinated where that partition
is led: on being elected the coordinator loads the partition into a `Shard`, on resigning it
forgets it. Loading may take a while, in which its groups are refused. All decisions are plain
functions of the shard (classic_protocol.py and its neighbours). Requests are routed to them by
admin_api.py, classic_api.py, consumer_api.py, share_api.py, streams_api.py and offset_router.py.
Every method there takes the caller's context and a wire message, and returns the response message,
with refusals as error codes. Here the records of groups are written, and their timeouts end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final
from uuid import UUID, uuid4

import trio

from kafkalite.clock import Clock
from kafkalite.group_coordinator.admin_api import GroupAdministration
from kafkalite.group_coordinator.classic_api import ClassicGroupRequests
from kafkalite.group_coordinator.classic_group import ClassicGroup
from kafkalite.group_coordinator.classic_in_consumer import ClassicInConsumer
from kafkalite.group_coordinator.classic_protocol import ClassicProtocol
from kafkalite.group_coordinator.config import GroupConfig
from kafkalite.group_coordinator.consumer_api import ConsumerGroupRequests
from kafkalite.group_coordinator.consumer_group import ConsumerGroup
from kafkalite.group_coordinator.consumer_protocol import ConsumerProtocol
from kafkalite.group_coordinator.group_overrides import GroupOverrides
from kafkalite.group_coordinator.happenings import Happenings
from kafkalite.group_coordinator.offset_api import OffsetRequests
from kafkalite.group_coordinator.offset_deletion import OffsetDeletion
from kafkalite.group_coordinator.offset_router import OffsetRouter
from kafkalite.group_coordinator.protocol_change import ProtocolChange
from kafkalite.group_coordinator.services import GroupServices
from kafkalite.group_coordinator.shard import Group, Shard
from kafkalite.group_coordinator.shards import Shards
from kafkalite.group_coordinator.state_log import UNREADABLE, OffsetLog, StateRecord
from kafkalite.group_coordinator.timers import AT_ONCE, Timer, Timers
from kafkalite.group_coordinator.topics_view import TopicsView
from kafkalite.wire.api_codec import drained
from kafkalite.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from kafkalite.group_coordinator.interventions import Interventions
    from kafkalite.group_coordinator.later_modules import Loading
    from kafkalite.group_coordinator.share_api import ShareGroupRequests
    from kafkalite.group_coordinator.share_group import ShareGroup
    from kafkalite.group_coordinator.share_keeper import ShareStateKeeper
    from kafkalite.group_coordinator.streams_api import StreamsGroupRequests

# A sweep over offsets lets others have their turn after this many.
_OFFSETS_AT_ONCE: Final = 256
_REST_OF_SWEEP_SECONDS: Final = 0.001
_GROUPS_AT_ONCE: Final = 256


class GroupCoordinator:
    """All groups coordinated by this process, for each of its nodes.

    Sessions follow `clock`, and rebalances, which living members wait for, the time of trio.
    `configs_of(group_id)` returns what a group has configured for itself. `share_state` is called
    at the first need of the share coordinator. `load` takes the steps that load a partition, at
    once or little by little. A function that a step yields is best called by a thread.
    """

    def __init__(
        self,
        config: GroupConfig,
        log: OffsetLog,
        topics: TopicsView,
        *,
        clock: Clock,
        configs_of: Callable[[str], Mapping[str, str]] = lambda group_id: {},
        share_state: Callable[[], ShareStateKeeper] | None = None,
        load: Callable[[Loading], object] = drained,
        new_uuid: Callable[[], UUID] = uuid4,
    ) -> None:
        self.config = config
        self._log = log
        self._load = load
        self._clock = clock
        self._sessions = Timers(clock.time, self._wake_earlier)
        self._phases = Timers(trio.current_time, self._wake_earlier)
        self.happenings = Happenings()
        self._services = services = GroupServices(
            config=config,
            overrides=GroupOverrides(config, configs_of),
            topics=topics,
            sessions=self._sessions,
            phases=self._phases,
            now_ms=clock.now_ms,
            save=self.save,
            happenings=self.happenings,
            new_uuid=new_uuid,
        )
        clock.subscribe(self._wake_earlier)
        self._nap: trio.CancelScope | None = None
        self._sweep = Timer(self._expire_some_offsets)
        # The rest of a sweep.
        self._expiry: Iterator[int] | None = None
        self._running = False
        self._leaders: dict[int, int | None] = {}
        self.shards = shards = Shards(log)
        self._classic = classic = ClassicProtocol(services)
        self._consumer = consumer = ConsumerProtocol(services)
        change = ProtocolChange(services, classic, self._replace)
        consumer.members_gone = change.downgrade_without
        deletion = OffsetDeletion(log, topics)
        self._offsets = offsets = OffsetRequests(services, log, classic, deletion)
        self.offset_router = OffsetRouter(offsets, deletion, topics, shards)
        self.classic = ClassicGroupRequests(
            shards, services, classic, ClassicInConsumer(services, consumer, change)
        )
        self.consumer = ConsumerGroupRequests(shards, services, consumer, change)
        self._share_state = share_state
        self._share: ShareGroupRequests | None = None
        self._streams: StreamsGroupRequests | None = None
        self.administration = GroupAdministration(
            shards, deletion, self._unload, self._delete_share_state
        )
        self._interventions: Interventions | None = None

    @property
    def interventions(self) -> Interventions:
        """For someone who tests a client; imported at the first need."""
        if self._interventions is None:
            from kafkalite.group_coordinator.interventions import Interventions

            self._interventions = Interventions(
                self.shards,
                self._sessions,
                self._classic,
                self._consumer,
                self._services.overrides,
                self._offsets,
                self.happenings,
                self._sweep,
                self._expiry_steps,
            )
        return self._interventions

    @property
    def share(self) -> ShareGroupRequests:
        """Share groups; imported at their first need."""
        if self._share is None:
            from kafkalite.group_coordinator.share_api import ShareGroupRequests
            from kafkalite.group_coordinator.share_protocol import ShareProtocol
            from kafkalite.group_coordinator.share_states import ShareStates

            assert self._share_state is not None
            states = ShareStates(self._services, self._share_state(), self._has)
            protocol = ShareProtocol(self._services, states)
            self._share = ShareGroupRequests(self.shards, self._services, protocol, states)
        return self._share

    def _has(self, group: Group) -> bool:
        return any(
            shard.groups.get(group.group_id) is group for shard in self.shards.loaded.values()
        )

    async def _delete_share_state(self, group: ShareGroup) -> None:
        await self.share.states.delete_all(group)

    @property
    def streams(self) -> StreamsGroupRequests:
        """Streams groups; imported at their first need."""
        if self._streams is None:
            from kafkalite.group_coordinator.streams_api import StreamsGroupRequests
            from kafkalite.group_coordinator.streams_protocol import StreamsProtocol

            self._streams = StreamsGroupRequests(self.shards, StreamsProtocol(self._services))
        return self._streams

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Load the groups, then let time pass: without this task, no timeout ever ends."""
        self._running = True
        self.leaders_changed()
        self._sessions.set(self._sweep, self.config.offsets_retention_check_interval_ms / 1000)
        task_status.started()
        while True:
            self._sessions.expire_due(AT_ONCE)
            self._phases.expire_due(AT_ONCE)
            with trio.CancelScope(deadline=self._next_time()) as self._nap:
                await trio.sleep_forever()

    def _next_time(self) -> float:
        """The time to look next, by trio's clock."""
        return min(self._clock.trio_deadline(self._sessions.next_time()), self._phases.next_time())

    def _wake_earlier(self) -> None:
        if self._nap is not None:
            self._nap.deadline = self._next_time()

    # The groups of this node

    def leaders_changed(self) -> None:
        """Load the partitions of `__consumer_offsets` that are led here now, drop the others."""
        if not self._running:
            return
        leaders = {p: self._log.leader_id(p) for p in range(self._log.partition_count)}
        for partition in self._leaders.keys() | leaders.keys():
            before, now = self._leaders.get(partition), leaders.get(partition)
            if before != now and before is not None:
                self.resigned(partition)
            if before != now and now is not None:
                self.elected(partition)
        self._leaders = leaders

    def elected(self, partition: int) -> None:
        """The partition of `__consumer_offsets` is led here now: load it.

        Members have not been able to reach anybody meanwhile, so their sessions begin anew.
        """
        shard = self.shards.loading[partition] = Shard(partition)
        self._load(self._loading(shard))

    def _loading(self, shard: Shard) -> Loading:
        """Load a partition, one record a step, unless the coordinator resigns meanwhile.

        Nothing else is written to the partition meanwhile: no group is found, and a marker is
        refused.
        """
        from kafkalite.group_coordinator.later_modules import to_import

        partition, now_ms = shard.partition, self._clock.now_ms()
        watched: list[Group] = []
        try:
            for entry in self._log.replay(partition) if self.shards.is_wanted(shard) else ():
                if (needed := to_import(entry)) is not None:
                    yield needed
                try:
                    shard.apply(entry, now_ms)
                except UNREADABLE as error:
                    self._log.take_offline(partition, error)
                    break
                yield None
                if not self.shards.is_wanted(shard):
                    return
            for expression in _expressions_of(shard):
                from kafkalite.group_coordinator.expressions import look_at

                yield partial(look_at, expression, list(self._services.topics.names()))
                if not self.shards.is_wanted(shard):
                    return
            for group in list(shard.groups.values()):
                self._watch(group)
                watched.append(group)
                yield None
                if not self.shards.is_wanted(shard):
                    return
            if self.shards.is_wanted(shard):
                watched.clear()
                self.shards.loaded[partition] = shard
        finally:
            for group in watched:
                self._unload(group, ErrorCode.NOT_COORDINATOR)
            if self.shards.is_wanted(shard):
                del self.shards.loading[partition]

    def _watch(self, group: Group) -> None:
        """Let the sessions of a group's members begin."""
        if isinstance(group, ClassicGroup):
            self._classic.rebalances.watch(group)
            for member in group.members.values():
                self._classic.watch(group, member)
            return
        group.topics_changed()
        if isinstance(group, ConsumerGroup):
            self._consumer.watch(group)
        elif group.group_type == "share":
            self.share.protocol.watch(group)
        else:
            self.streams.protocol.watch(group)

    def resigned(self, partition: int) -> None:
        """The partition is led elsewhere, or gone: waiting members are told to look for the new
        coordinator."""
        self.shards.loading.pop(partition, None)
        shard = self.shards.loaded.pop(partition, None)
        if shard is not None:
            for group in shard.groups.values():
                self._unload(group, ErrorCode.NOT_COORDINATOR)

    def _unload(self, group: Group, error_code: ErrorCode) -> None:
        if isinstance(group, ClassicGroup):
            self._classic.unload(group, error_code)
        else:
            group.close_timers()

    def _replace(self, group: Group) -> None:
        self.shards.loaded[self.partition_for(group.group_id)].groups[group.group_id] = group

    def topics_changed(self, names: Collection[str]) -> None:
        """Topics have come, grown or gone: groups that subscribe to them will be assigned anew."""
        for shard in self.shards.loaded.values():
            for group in shard.groups.values():
                if not isinstance(group, ClassicGroup) and group.depends_on(names):
                    group.topics_changed()

    def stop(self) -> None:
        """Send parked members away, for good."""
        self._running = False
        for partition in (*self.shards.loaded, *self.shards.loading):
            self.resigned(partition)

    def partition_for(self, group_id: str) -> int:
        """The partition of `__consumer_offsets` that a group belongs to (Shards.partition_for)."""
        return self.shards.partition_for(group_id)

    def save(self, group_id: str, records: Sequence[StateRecord]) -> None:
        """Write records of a group. Raises KafkaError with the code to answer.

        Modern groups apply their changes before they are written. If they cannot be written, the
        group's partition is loaded anew.
        """
        partition = self.partition_for(group_id)
        try:
            self._log.append(partition, records)
        except KafkaError:
            shard = self.shards.loaded.get(partition)
            group = None if shard is None else shard.groups.get(group_id)
            if group is not None and not isinstance(group, ClassicGroup):
                self.resigned(partition)
                self.elected(partition)
            raise

    # Offsets

    def transaction_ended(self, partition: int, producer_id: int, *, committed: bool) -> None:
        """A marker has been written to a partition of `__consumer_offsets`."""
        shard = self.shards.loaded.get(partition)
        if shard is not None:
            counts = shard.offsets.end_transaction(producer_id, committed=committed)
            if self.happenings.committed is not None:
                for group_id, count in counts.items():
                    self.happenings.committed(group_id, count)

    def topics_deleted(self, gone: Mapping[str, UUID]) -> Generator[None, None, None]:
        """Delete the offsets of topics that are gone: their ids, by name. In steps."""
        topic_ids = set(gone.values())
        # A shard that cannot be written is loaded anew meanwhile.
        for partition, shard in list(self.shards.loaded.items()):
            with suppress(KafkaError):  # logged where it was raised; the offsets expire
                for _ in self._offsets.forget_topics(shard, gone):
                    yield
                    if self.shards.loaded.get(partition) is not shard:
                        break
            for number, group in enumerate(list(shard.groups.values())):
                if group.group_type == "share":
                    self.share.states.topics_deleted(group, topic_ids)
                if number % _GROUPS_AT_ONCE == 0:
                    yield

    def _expire_some_offsets(self) -> None:
        """Continue the sweep over expired offsets; other timers have their turn in between."""
        steps, self._expiry = self._expiry or self._expiry_steps(), None
        self._sessions.set(self._sweep, self.config.offsets_retention_check_interval_ms / 1000)
        left = _OFFSETS_AT_ONCE
        for looked_at in steps:
            left -= looked_at
            if left <= 0:
                self._expiry = steps
                self._sessions.set(self._sweep, _REST_OF_SWEEP_SECONDS)
                return

    def _expiry_steps(self) -> Iterator[int]:
        """Yields the number of offsets that were looked at in each step, and one for the step."""
        for partition, shard in list(self.shards.loaded.items()):
            for looked_at, gone in self._offsets.expire(shard):
                if gone is not None:
                    self._unload(gone, ErrorCode.COORDINATOR_NOT_AVAILABLE)
                yield looked_at + 1
                if self.shards.loaded.get(partition) is not shard:
                    break


def _expressions_of(shard: Shard) -> list[str]:
    """The regular expressions that members of the partition's groups subscribe by."""
    groups = [group for group in shard.groups.values() if isinstance(group, ConsumerGroup)]
    return list(dict.fromkeys(each for group in groups for each in group.expressions))
