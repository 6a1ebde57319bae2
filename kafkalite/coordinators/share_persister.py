"""The states of share partitions, kept by share coordinators on whatever broker.

A leader of share partitions decides at once, as in one process. Its decisions are written to the
share coordinator in order, one request for a share partition at a time, and the answers to members
wait for that (`pending`). If one cannot be written, the share partition is dropped, and begins anew
with what was stored. The stored state is fetched before a share partition is opened (`fetch`).

A group coordinator asks for states to be begun, deleted and told. Source: Kafka's
DefaultStatePersister, SharePartition, NetworkPartitionMetadataClient.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Final, TypeVar
from uuid import UUID

import trio

from kafkalite.coordinators.latest_offsets import LatestOffsets
from kafkalite.coordinators.share_coordinator.share_state import (
    NO_START_OFFSET,
    ShareState,
    batches_from,
)
from kafkalite.coordinators.share_state_requests import (
    DELETE,
    INITIALIZE,
    MOST_IN_ONE,
    READ,
    SUMMARIZE,
    WRITE,
    Operation,
    ShareStateRequests,
)
from kafkalite.coordinators.unstored import for_each
from kafkalite.replica.share.share_partition import SharePartitionKey, StateUpdate
from kafkalite.requests.disk_threads import in_thread
from kafkalite.requests.slices import Steps, in_slices_of_task
from kafkalite.supervision import supervised
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages import (
    delete_share_group_state,
    initialize_share_group_state,
    read_share_group_state,
    read_share_group_state_summary,
    write_share_group_state,
)

if TYPE_CHECKING:
    from kafkalite.group_coordinator.share_keeper import Offsets, Refusals, SeenStates

_NO_EPOCH: Final = -1


class PendingWrite:
    """Updates on their way to the share coordinator; `error` is final once they are `done`.

    Each stays one of its own, as in Kafka: see `state_batch.combine` for what members notice of
    this.
    """

    def __init__(self, state_epoch: int, leader_epoch: int, update: StateUpdate) -> None:
        self.state_epoch = state_epoch
        self.leader_epoch = leader_epoch
        self.updates = [update]
        self.done = trio.Event()
        self.error: KafkaError | None = None

    def takes(self, state_epoch: int, leader_epoch: int) -> bool:
        """True if a later update, of these epochs, may go along."""
        is_same = (self.state_epoch, self.leader_epoch) == (state_epoch, leader_epoch)
        return is_same and len(self.updates) < MOST_IN_ONE

    def end(self, error: KafkaError | None) -> None:
        self.error = error
        self.done.set()


class _Writes:
    """The updates of one share partition: the one under way, and those that came meanwhile."""

    def __init__(self) -> None:
        self.under_way: PendingWrite | None = None
        self.waiting: list[PendingWrite] = []


class _Read:
    """A stored state that was asked for."""

    def __init__(self, leader_epoch: int) -> None:
        self.leader_epoch = leader_epoch
        self.done = trio.Event()
        self.outcome: ShareState | KafkaError = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)


class SharePersister:
    """`lost(key)` is called when an update of a share partition could not be written."""

    def __init__(
        self,
        requests: ShareStateRequests,
        latest_offsets: LatestOffsets,
    ) -> None:
        self._requests = requests
        self._latest_offsets = latest_offsets
        self.lost: Callable[[SharePartitionKey], None] = lambda key: None
        self._writes: dict[SharePartitionKey, _Writes] = {}
        self._reads: dict[SharePartitionKey, _Read] = {}
        self._send, self._receive = trio.open_memory_channel[Callable[[], Awaitable[object]]](inf)

    async def run(self) -> None:
        """Write what leaders decide, and do what is to be done soon, for ever."""
        async with trio.open_nursery() as nursery:
            async for work in self._receive:
                nursery.start_soon(supervised, "share states", work)

    async def close(self) -> None:
        """Give the connections back."""
        await self._requests.close()
        await self._latest_offsets.close()

    # For leaders of share partitions

    async def fetch(self, key: SharePartitionKey, leader_epoch: int) -> None:
        """Have the stored state at hand for `read_state`, or the reason why there is none."""
        pending = self.pending(key)
        if pending is not None:
            await pending.done.wait()
        read = self._reads.get(key)
        if read is not None and read.leader_epoch == leader_epoch:
            await read.done.wait()
            return
        self._reads[key] = read = _Read(leader_epoch)
        part = read_share_group_state.PartitionData(
            partition=key.partition, leader_epoch=leader_epoch
        )
        try:
            found = await self._requests.ask(READ, key, part)
            read.outcome = ShareState(
                state_epoch=found.state_epoch,
                start_offset=found.start_offset,
                batches=batches_from(found.state_batches),
            )
        except KafkaError as error:
            read.outcome = error
        finally:
            read.done.set()

    def read_state(self, key: SharePartitionKey, leader_epoch: int) -> ShareState:
        """The state as it was fetched; it is good for one use. Raises KafkaError."""
        read = self._reads.pop(key, None)
        if read is None or read.leader_epoch != leader_epoch:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if isinstance(read.outcome, KafkaError):
            raise read.outcome
        return read.outcome

    def write_state(
        self, key: SharePartitionKey, state_epoch: int, leader_epoch: int, update: StateUpdate
    ) -> None:
        """Begin to make an update durable."""
        self._reads.pop(key, None)
        writes = self._writes.get(key)
        if writes is None:
            writes = self._writes[key] = _Writes()
            self._send.send_nowait(partial(self._write_all, key, writes))
        last = writes.waiting[-1] if writes.waiting else None
        if last is not None and last.takes(state_epoch, leader_epoch):
            last.updates.append(update)
        else:
            writes.waiting.append(PendingWrite(state_epoch, leader_epoch, update))

    def pending(self, key: SharePartitionKey) -> PendingWrite | None:
        """The last update that is not stored yet, None for none."""
        writes = self._writes.get(key)
        if writes is None:
            return None
        return writes.waiting[-1] if writes.waiting else writes.under_way

    async def _write_all(self, key: SharePartitionKey, writes: _Writes) -> None:
        error: KafkaError | None = None
        try:
            while writes.waiting and error is None:
                writes.under_way = writes.waiting.pop(0)
                error = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)  # should this task end
                error = await self._write(key, writes.under_way)
                if error is None:
                    writes.under_way.end(None)
                    writes.under_way = None
        finally:
            self._writes.pop(key, None)
            for write in (writes.under_way, *writes.waiting):
                if write is not None:
                    write.end(error)
            writes.under_way = None
            writes.waiting.clear()
            if error is not None:
                self.lost(key)

    async def _write(self, key: SharePartitionKey, write: PendingWrite) -> KafkaError | None:
        parts = [
            write_share_group_state.PartitionData(
                partition=key.partition,
                state_epoch=write.state_epoch,
                leader_epoch=write.leader_epoch,
                start_offset=update.start_offset,
                delivery_complete_count=update.delivery_complete_count,
                state_batches=[
                    write_share_group_state.StateBatch(*batch) for batch in update.batches
                ],
            )
            for update in write.updates
        ]
        try:
            await self._requests.ask(WRITE, key, *parts)
        except KafkaError as error:
            return error
        return None

    # For the group coordinator (its ShareStateKeeper)

    @property
    def seen_here(self) -> SeenStates | None:
        """None: they are on whatever broker."""
        return None

    def soon(self, work: Callable[[], Awaitable[object]], count: int) -> None:
        """Do this in a task, about however many partitions it is."""
        self._send.send_nowait(work)

    async def by_thread(self, work: Callable[[], None]) -> None:
        await in_thread(work)

    async def in_steps(self, steps: Steps[T], count: int) -> T:
        return await in_slices_of_task(steps)

    async def initialize_states(
        self, group_id: str, state_epoch: int, offsets: Offsets
    ) -> Refusals:
        part = partial(initialize_share_group_state.PartitionData, state_epoch=state_epoch)
        parts = (
            (topic_id, index, part(partition=index, start_offset=start_offset))
            for topic_id, partitions in offsets.items()
            for index, start_offset in partitions.items()
        )
        return await self._ask_each(INITIALIZE, group_id, parts)

    async def delete_states(
        self, group_id: str, partitions: Mapping[UUID, Collection[int]]
    ) -> Refusals:
        parts = (
            (topic_id, index, delete_share_group_state.PartitionData(partition=index))
            for topic_id, indexes in partitions.items()
            for index in indexes
        )
        return await self._ask_each(DELETE, group_id, parts)

    async def _ask_each(
        self, operation: Operation, group_id: str, parts: Iterable[tuple[UUID, int, object]]
    ) -> Refusals:
        """Ask about each partition at once; the refusals. A part has the partition before it."""
        refused: dict[tuple[UUID, int], KafkaError] = {}

        async def ask(topic_id: UUID, index: int, part: object) -> None:
            try:
                key = SharePartitionKey(group_id, topic_id, index)
                await self._requests.ask(operation, key, part)
            except KafkaError as error:
                refused[topic_id, index] = error

        await for_each(ask, parts)
        return refused

    async def seen(self, group_id: str, partitions: Mapping[UUID, Collection[int]]) -> _Seen:
        """The states of partitions, and the ends of those that have one."""
        seen = _Seen()

        async def see(topic_id: UUID, index: int) -> None:
            part = read_share_group_state_summary.PartitionData(
                partition=index, leader_epoch=_NO_EPOCH
            )
            try:
                key = SharePartitionKey(group_id, topic_id, index)
                found = await self._requests.ask(SUMMARIZE, key, part)
                seen.states[topic_id, index] = (
                    found.start_offset,
                    found.delivery_complete_count,
                    found.leader_epoch,
                )
            except KafkaError as error:
                seen.states[topic_id, index] = error

        await for_each(
            see,
            ((topic_id, index) for topic_id, indexes in partitions.items() for index in indexes),
        )
        begun = [
            where
            for where, state in seen.states.items()
            if not isinstance(state, KafkaError) and state[0] != NO_START_OFFSET
        ]
        seen.latest = await self._latest_offsets.find(begun)
        return seen


class _Seen:
    """The states that were found (the group coordinator's SeenStates)."""

    def __init__(self) -> None:
        self.states: dict[tuple[UUID, int], tuple[int, int, int] | KafkaError] = {}
        self.latest: Mapping[tuple[UUID, int], int | KafkaError] = {}

    def describe_state(self, group_id: str, topic_id: UUID, partition: int) -> tuple[int, int, int]:
        return _found(self.states, topic_id, partition)

    def latest_offset(self, topic_id: UUID, partition: int) -> int:
        return _found(self.latest, topic_id, partition)


T = TypeVar("T")


def _found(known: Mapping[tuple[UUID, int], T | KafkaError], topic_id: UUID, index: int) -> T:
    outcome = known.get((topic_id, index), KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    if isinstance(outcome, KafkaError):
        raise outcome
    return outcome
