"""The work of one ShareFetch: read and acquire from every partition of the session.

Of each partition, reading and acquiring is one plain function, so that no other request acquires in
between. Once there are as many records as wanted, the other partitions are only looked at for
errors.

The partitions get their turn as the session says, but for one thing. When the fetch looks for what
there is, it reads those that no fetch has looked at before at their next offset; if that makes an
answer, the others are read as well, apart from these, and their records come first. Who asks for
few records sees it, and each of the two readings may take one batch that is larger than all bytes
asked for. Source: Kafka's DelayedShareFetch, ShareFetchUtils, SharePartitionManager.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from kafkalite.log.open_files import FileSlice
from kafkalite.replica.share.aborted import without_aborted
from kafkalite.replica.share.acquisition import Acquired, Wanted, acquire
from kafkalite.replica.share.share_partition import SharePartition, SharePartitionKey
from kafkalite.replica.share.share_sessions import TopicPartitionId
from kafkalite.requests.disk_threads import off_loop
from kafkalite.requests.slices import Steps, WaitingSteps, at_once, batches, cut
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import RecordBatch, iterate_batches

if TYPE_CHECKING:
    from kafkalite.log.reading import Aborted
    from kafkalite.replica.partition import Partition
    from kafkalite.replica.share.share_partitions import SharePartitions
    from kafkalite.requests.purgatory import Watchers

# Read at once: many share fetches want fewer records than this holds, and it is small enough for
# memory that was used before.
_STEP_BYTES: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Limits:
    """The bytes, for all partitions together, that make an answer."""

    min_bytes: int
    max_bytes: int


@dataclass(slots=True)
class Fetched:
    """The answer for one partition: records, of which some are acquired; or why there are none."""

    records: bytes = b""
    acquired: Sequence[Acquired] = ()
    error: KafkaError | None = None


_Open = tuple[TopicPartitionId, "Partition", SharePartition]


@dataclass(slots=True)
class _Read:
    offset: int
    data: bytes
    batches: list[RecordBatch]
    aborted: Sequence[Aborted]


class ShareReader:
    """One member's fetch of partitions that this node leads, or should."""

    def __init__(
        self,
        partitions: SharePartitions,
        node_id: int,
        group_id: str,
        wanted: Wanted,
        limits: Limits,
    ) -> None:
        self._partitions = partitions
        self._node_id = node_id
        self._group_id = group_id
        self._wanted = wanted
        self._limits = limits
        self._committed_only = partitions.settings.reads_committed_only(group_id)
        self._open: list[_Open] = []
        self._failed: dict[TopicPartitionId, KafkaError] = {}
        # The partitions that `has_enough` looked at for the first time, when it said yes last.
        self._new: set[TopicPartitionId] = set()
        self._partition_bytes = 0
        self._left_bytes = limits.max_bytes
        self._count = 0  # of the records acquired
        self.acquired_count = 0
        """The partitions that gave records."""

    def opening(self, wanted: Sequence[TopicPartitionId]) -> WaitingSteps[None]:
        """Open these partitions. One may begin at a time, which is looked for in the log."""
        for some in cut(wanted):
            yield from off_loop(partial(self._open_some, deque(some)))
            yield None

    def _open_some(self, unopened: deque[TopicPartitionId]) -> None:
        """Called again, it goes on where it had to wait for the disk."""
        while unopened:
            where = unopened[0]
            try:
                partition = self._partitions.find_partition(where, self._node_id)
                key = SharePartitionKey(self._group_id, where.topic_id, where.partition)
                self._open.append((where, partition, self._partitions.open(key, partition)))
            except KafkaError as error:
                self._failed[where] = error
            unopened.popleft()

    @property
    def has_only_errors(self) -> bool:
        return not self._open

    def watching(self) -> Steps[list[Watchers]]:
        """The watchers of all that can make `has_enough` true."""
        watched: list[Watchers] = []
        for some in cut(self._open):
            watched += [partition.watchers for _, partition, _ in some]
            watched += [self._partitions.watchers_of(share.key) for _, _, share in some]
            yield
        return watched

    def has_enough(self) -> bool:
        """True if there is enough to acquire by now, or something that must be answered."""
        return at_once(self.looking())

    def looking(self) -> Steps[bool]:
        """`has_enough` in steps."""
        self._new.clear()
        acquirable: list[_Open] = []
        for some in cut(self._open):
            for opened in some:
                if not self._is_ours(opened):
                    return True
                if opened[2].can_acquire:
                    acquirable.append(opened)
            yield
        new: set[TopicPartitionId] = set()
        size = 0
        is_enough = False
        for some in cut(acquirable):
            for where, partition, share in some:
                if share.is_fenced:
                    return True
                if share.look():
                    new.add(where)
                offset = share.next_fetch_offset()
                end_offset = partition.read_limit(committed_only=self._committed_only)
                if offset > end_offset or offset < partition.log.log_start_offset:
                    share.looked_at = None  # reading it says why not
                    is_enough = True
                elif offset < end_offset and size < self._limits.min_bytes:
                    size += self._available_bytes(partition, offset, len(acquirable))
            yield
        if is_enough or (acquirable and size >= self._limits.min_bytes):
            self._new = new
            return True
        return False

    def _is_ours(self, opened: _Open) -> bool:
        """True if this node leads the partition as it did when it was opened."""
        _, partition, share = opened
        return partition.leader_id == self._node_id and self._partitions.get(share.key) is share

    def _available_bytes(self, partition: Partition, offset: int, count: int) -> int:
        most = max(1, self._limits.max_bytes // count)
        if self._limits.min_bytes <= 1:
            return 1
        try:
            result = partition.read(offset, most, committed_only=self._committed_only)
        except KafkaError:
            return self._limits.min_bytes
        size = len(result.records)
        if isinstance(result.records, FileSlice):
            result.records.close()
        if partition.ends_early(result, committed_only=self._committed_only):
            return self._limits.min_bytes
        # A first batch that is larger comes whole, and counts no more than was asked for.
        return min(size, most)

    def reading(self, answers: dict[TopicPartitionId, Fetched]) -> WaitingSteps[None]:
        """Acquire what there is, and add the answers."""
        for opened in (yield from self._readings()):
            for some in cut(opened):
                unread = deque(some)
                while unread:
                    yield from off_loop(partial(self._read_some, unread, answers))
                    yield None
            self._left_bytes = self._limits.max_bytes
        if self._failed:
            for failed in batches(self._failed.items()):
                answers.update((where, Fetched(error=failure)) for where, failure in failed)
                yield None

    def _readings(self) -> Steps[tuple[list[_Open], list[_Open]]]:
        """The partitions in the order in which they are read, those of one reading together."""
        known: list[_Open] = []
        new: list[_Open] = []
        for some in cut(self._open):
            for opened in some:
                if opened[2].can_acquire:
                    (new if opened[0] in self._new else known).append(opened)
            yield
        self._partition_bytes = max(1, self._limits.max_bytes // max(1, len(known) + len(new)))
        return known, new

    def _read_some(self, unread: deque[_Open], answers: dict[TopicPartitionId, Fetched]) -> None:
        """Read up to the first that gives records. Called again, it goes on."""
        while unread:
            where, partition, share = unread[0]
            if self._partitions.get(share.key) is share:
                try:
                    self._partitions.find_partition(where, self._node_id)
                    fetched = self._take(partition, share)
                except KafkaError as error:
                    fetched = self._failure(partition, share, error)
                answers[where] = fetched
                if fetched.records:
                    unread.popleft()
                    return
            unread.popleft()

    def _take(self, partition: Partition, share: SharePartition) -> Fetched:
        """The records that one partition gives. Raises KafkaError, even if none are wanted."""
        wanted_count = self._wanted.max_records - self._count
        if wanted_count <= 0:
            # To read nothing tells of an offset that is gone, or of a log that is offline.
            partition.log.read(share.next_fetch_offset(), 0, upper_bound=0)
            return Fetched()
        most = min(self._left_bytes, self._partition_bytes)
        must = self._left_bytes == self._limits.max_bytes
        read = self._read(partition, share, wanted_count, most, must=must)
        self._left_bytes -= len(read.data)
        fetched = self._acquire(share, read, wanted_count)
        self._count += sum(each.record_count for each in fetched.acquired)
        return fetched

    def _failure(self, partition: Partition, share: SharePartition, error: KafkaError) -> Fetched:
        if error.code is ErrorCode.OFFSET_OUT_OF_RANGE:
            share.log_start_moved(partition.log.log_start_offset)
            return Fetched()
        self._partitions.drop_if_fenced(share.key, error)
        return Fetched(error=error)

    def _read(
        self, partition: Partition, share: SharePartition, wanted: int, most: int, *, must: bool
    ) -> _Read:
        """Whole batches of one segment, as in Kafka, and as many as it takes to acquire so many
        records. Raises KafkaError."""
        first_offset = offset = share.next_fetch_offset()
        segment = -1
        last_wanted = share.reach(offset, wanted)
        read = _Read(first_offset, b"", [], ())
        parts: list[bytes] = []
        aborted: list[Aborted] = []
        while most > 0 and offset <= last_wanted:
            result = partition.read(
                offset,
                min(most, _STEP_BYTES),
                committed_only=self._committed_only,
                minimum_one_batch=must or bool(parts),
            )
            records = result.records
            if parts and result.segment_base_offset != segment:
                if isinstance(records, FileSlice):
                    records.close()
                break
            segment = result.segment_base_offset
            if isinstance(records, FileSlice):
                with records:
                    records = records.read()
            batches = list(iterate_batches(records))
            if not batches:
                break
            size = sum(batch.size_bytes for batch in batches)
            if parts and size > most:
                break
            parts.append(records[:size])
            read.batches += batches
            aborted += result.aborted_transactions or ()
            most -= size
            offset = batches[-1].next_offset
        read.data = b"".join(parts)
        read.aborted = aborted
        return read

    def _acquire(self, share: SharePartition, read: _Read, most: int) -> Fetched:
        wanted = replace(self._wanted, max_records=most)
        acquired = acquire(share, wanted, read.offset, read.batches)
        if acquired:
            self._partitions.watch_locks(share.key, share.lock_deadline())
        if self._committed_only:
            acquired = without_aborted(share, acquired, read.batches, read.aborted)
        if not acquired:
            return Fetched()
        self.acquired_count += 1
        return Fetched(_slice(read, acquired), acquired)


def _slice(read: _Read, acquired: Sequence[Acquired]) -> bytes:
    """The batches from the one with the first acquired offset to the one with the last."""
    first_offset, last_offset = acquired[0].first_offset, acquired[-1].last_offset
    start = end = 0
    for batch in read.batches:
        if batch.base_offset > last_offset:
            break
        if batch.base_offset <= first_offset:
            start = end
        end += batch.size_bytes
    return read.data[start:end]
