"""One partition as its leader sees it: a log, a high watermark, a leader epoch, and who waits.

Everything a client does to records goes through here, in plain functions that never wait, and hence
are atomic among the broker's tasks. A request that waits is one of `watchers`: appends tell them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final
from uuid import UUID

from kafkalite.log.accepted_batch import AcceptedBatch
from kafkalite.log.joined_writes import JoinedWrites
from kafkalite.log.leader_epochs import check_leader_epoch, divergence
from kafkalite.log.log import AppendInfo, AppendOrigin, Log, ReadResult
from kafkalite.log.trusted_records import Pairs
from kafkalite.log.verification import VerificationGuard
from kafkalite.requests.purgatory import Watchers
from kafkalite.wire.compression import Compression
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import NO_SEQUENCE, NO_TIMESTAMP

if TYPE_CHECKING:
    from kafkalite.replication.fetch_state import FetchState

ALL_IN_SYNC: Final = -1  # required acks

# DeleteRecords' offset for everything there is.
_UP_TO_HIGH_WATERMARK: Final = -1

# With these codes a client is told who leads the partition instead (KIP-951).
LEADER_CHANGED: Final = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)

_READ_UNCOMMITTED: Final = 0
_READ_COMMITTED: Final = 1


def is_isolation_level(number: int) -> bool:
    """True if there is such a level. For others Kafka fails (IsolationLevel.forId)."""
    return number in (_READ_UNCOMMITTED, _READ_COMMITTED)


def is_read_committed(isolation_level: int) -> bool:
    """True if only what was committed is to be read."""
    return isolation_level == _READ_COMMITTED


class Partition:
    """A partition's log with what the cluster knows about it.

    `leader_id`, `leader_epoch`, `replicas` and `in_sync_replicas` are the metadata image's, set by
    the code that changes it, which calls `metadata_changed` after that.
    """

    __slots__ = (
        "_epoch_start_offset",
        "_known_epoch",
        "_known_leader_id",
        "in_sync_replicas",
        "index",
        "is_deleted",
        "leader_epoch",
        "leader_id",
        "leadership",
        "log",
        "received_bytes",
        "received_records",
        "replicas",
        "topic",
        "topic_id",
        "watchers",
    )

    def __init__(
        self,
        topic: str,
        topic_id: UUID,
        index: int,
        log: Log,
        *,
        leader_id: int,
        leader_epoch: int,
        replicas: list[int],
        in_sync_replicas: list[int],
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.index = index
        self.log = log
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.replicas = replicas
        self.in_sync_replicas = in_sync_replicas
        self.is_deleted = False
        self.watchers = Watchers()
        # The batches that producers wrote since the start, for the metrics.
        self.received_bytes = 0
        self.received_records = 0
        # Counts leaders. It stays the same when the leader of one epoch is that of the next.
        self.leadership = 0
        self._known_leader_id = leader_id
        self._known_epoch = leader_epoch
        self._epoch_start_offset = self._find_epoch_start()
        self._advance_high_watermark()

    def __repr__(self) -> str:
        return f"<Partition {self.topic}-{self.index}>"

    def log_moved(self, log: Log) -> None:
        """The log lies in another data directory now; it is the same in all else."""
        self.log = log
        self._advance_high_watermark()
        self.watchers.check_and_complete()

    @property
    def coordinator_id(self) -> int:
        """The coordinator of the groups or transactions kept here: the leader, -1 if the log is
        offline."""
        return self.leader_id if self.log.offline_reason is None else -1

    @property
    def coordinated_here(self) -> int:
        """The node of this process that coordinates what is kept here; -1 if none does."""
        return self.coordinator_id

    @property
    def is_here(self) -> bool:
        """True if this process has the log."""
        return True

    @property
    def is_ours(self) -> bool:
        """True unless another process leads it."""
        return True

    @property
    def fetch_state(self) -> FetchState | None:
        """The progress of a replica that copies another process' log; None if there is none."""
        return None

    @property
    def needed_in_sync(self) -> int:
        """The number of replicas that must be in sync for a write with acks=all."""
        return self.log.config.needed_in_sync(len(self.replicas))

    @property
    def has_enough_in_sync(self) -> bool:
        """True if as many replicas are in sync as a write with acks=all needs."""
        in_sync = len(self.in_sync_replicas)
        return in_sync == len(self.replicas) or in_sync >= self.needed_in_sync

    @property
    def is_latest_unknown(self) -> bool:
        """True if the high watermark may be below the last leader's: never in one process."""
        return False

    @property
    def high_watermark(self) -> int:
        """Up to where consumers may read."""
        return self.log.high_watermark

    @property
    def last_stable_offset(self) -> int:
        """Up to where READ_COMMITTED consumers may read: the first open transaction's begin."""
        return self.log.last_stable_offset

    def _advance_high_watermark(self) -> None:
        # The minimum over the in-sync replicas, which share this log: unless they are too few.
        if self.has_enough_in_sync:
            self.log.advance_high_watermark(self.log.visible_end_offset)

    def look_again(self) -> None:
        """More may be seen: it is on the disk, or fewer replicas are needed; or a flush failed."""
        self._advance_high_watermark()
        self.watchers.check_and_complete()

    def _find_epoch_start(self) -> int:
        epochs = self.log.leader_epochs.entries
        if epochs and epochs[-1][0] == self.leader_epoch:
            return epochs[-1][1]
        return self.log.log_end_offset

    def current_leader(self, told: set[int]) -> tuple[int, int]:
        """The leader's id and epoch, for a client that asked another node.

        `told` are the nodes whose endpoints the response names: the leader becomes one of them.
        """
        told.add(self.leader_id)
        return self.leader_id, self.leader_epoch

    def check_leader(self, node_id: int, current_leader_epoch: int, *, leader_only: bool) -> None:
        """Refuse a request that `node_id` cannot answer, or that was meant for another epoch.

        Epoch -1 skips that check (KIP-320). A replica that does not lead may be read from
        where `leader_only` is false (KIP-392). Raises KafkaError with FENCED_LEADER_EPOCH,
        UNKNOWN_LEADER_EPOCH or NOT_LEADER_OR_FOLLOWER; a node without a replica knows no epoch.
        A log that is offline answers nothing but KAFKA_STORAGE_ERROR, whatever is in memory
        (ReplicaManager.getPartitionOrError, Partition.getLocalLog).
        """
        if node_id != self.leader_id and node_id not in self.replicas:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if self.log.offline_reason is not None and self.is_here:
            self.log.check_online()
        check_leader_epoch(current_leader_epoch, self.leader_epoch)
        if leader_only and node_id != self.leader_id:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def append(
        self,
        records: bytes | bytearray | memoryview,
        *,
        required_acks: int = ALL_IN_SYNC,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        verification_guard: VerificationGuard | None = None,
        transaction_version: int = 0,
        checked: Callable[[], AcceptedBatch] | None = None,
        briefly: bool = False,
        now_ms: int = NO_TIMESTAMP,
        joined: JoinedWrites | None = None,
    ) -> AppendInfo:
        """`Log.append`; moves the high watermark and wakes the requests that wait for it.

        Raises KafkaError: NOT_ENOUGH_REPLICAS as `check_in_sync`, and what `Log.append` raises.
        """
        if required_acks == ALL_IN_SYNC:
            self.check_in_sync()
        log = self.log
        info = log.append(
            records,
            leader_epoch=self.leader_epoch,
            origin=origin,
            verification_guard=verification_guard,
            transaction_version=transaction_version,
            checked=checked,
            briefly=briefly,
            now_ms=now_ms,
            joined=joined,
        )
        self.received_bytes += len(records)
        self.received_records += info.last_offset - info.base_offset + 1
        self._advance_high_watermark()
        self.watchers.check_and_complete()
        return info

    def append_trusted(
        self,
        pairs: Pairs,
        timestamp: int,
        producer: tuple[int, int] | None = None,
        verification_guard: VerificationGuard | None = None,
        codec: Compression = Compression.NONE,
        base_sequence: int = NO_SEQUENCE,
    ) -> int:
        """`append` of a coordinator's keys and values as one batch; its base offset."""
        self.check_in_sync()
        log = self.log
        base_offset = log.append_trusted(
            pairs,
            timestamp,
            self.leader_epoch,
            producer,
            verification_guard,
            codec,
            base_sequence,
        )
        self._advance_high_watermark()
        self.watchers.check_and_complete()
        return base_offset

    def check_in_sync(self) -> None:
        """Refuse an append with acks=all while fewer replicas are in sync than min.insync.replicas
        asks for. Raises KafkaError: NOT_ENOUGH_REPLICAS, or KAFKA_STORAGE_ERROR where none is in
        sync because the log is offline."""
        if self.has_enough_in_sync:
            return
        if self.is_here:
            self.log.check_online()
        raise KafkaError(
            ErrorCode.NOT_ENOUGH_REPLICAS,
            f"{len(self.in_sync_replicas)} replicas of {self.topic}-{self.index} are in sync, "
            f"min.insync.replicas asks for {self.needed_in_sync}",
        )

    def read_limit(self, *, committed_only: bool) -> int:
        """The offset before which a consumer's read ends."""
        return self.log.last_stable_offset if committed_only else self.log.high_watermark

    def read(
        self,
        offset: int,
        max_bytes: int,
        *,
        committed_only: bool = False,
        minimum_one_batch: bool = True,
    ) -> ReadResult:
        """Read from `offset` on, for a consumer. The records are to be closed by the caller.

        Raises KafkaError (OFFSET_OUT_OF_RANGE).
        """
        return self.log.read(
            offset,
            max_bytes,
            upper_bound=self.read_limit(committed_only=committed_only),
            minimum_one_batch=minimum_one_batch,
            with_aborted_transactions=committed_only,
        )

    def ends_early(self, result: ReadResult, *, committed_only: bool) -> bool:
        """True if a read ended with its segment, and a later one has more: it is not waited for
        (LogOffsetMetadata.onOlderSegment)."""
        last = self.log.segments.floor(self.read_limit(committed_only=committed_only))
        return last is not None and 0 <= result.segment_base_offset < last.base_offset

    def divergence(self, fetch_offset: int, last_fetched_epoch: int) -> tuple[int, int] | None:
        """The epoch and end offset where a reader's log parts from ours; None if it does not.

        Raises KafkaError(OFFSET_OUT_OF_RANGE).
        """
        return divergence(
            *self.end_offset_for_epoch(last_fetched_epoch),
            last_fetched_epoch=last_fetched_epoch,
            fetch_offset=fetch_offset,
            log_start=self.log.log_start_offset,
        )

    def delete_records_before(self, offset: int) -> int:
        """Move the log start up to `offset`, -1 for the high watermark; the offset that was meant.

        `low_watermark` tells when no replica has earlier records. Raises KafkaError:
        POLICY_VIOLATION for a log that is compacted only, OFFSET_OUT_OF_RANGE.
        """
        config = self.log.config
        if config.compact and not config.delete:
            raise KafkaError(
                ErrorCode.POLICY_VIOLATION,
                f"Records of partition {self.topic}-{self.index} can not be deleted due to the "
                "configured policy",
            )
        if offset == _UP_TO_HIGH_WATERMARK:
            offset = self.high_watermark
        if offset < 0:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
        self.log.delete_records_before(offset)
        self.watchers.check_and_complete()
        return offset

    def reach(self, node_id: int, offset: int) -> tuple[int, float] | None:
        """(end of the log, last time at the leader's end) of a follower that has an offset.

        None if it has not. In one process all share the log."""
        log = self.log
        has_offset = log.log_start_offset <= offset <= log.log_end_offset
        return (log.log_end_offset, 0.0) if has_offset else None

    @property
    def low_watermark(self) -> int:
        """The smallest log start offset of all living replicas, which here share one log."""
        return self.log.log_start_offset

    def metadata_changed(self) -> None:
        """Leader, epoch or replicas have changed: requests that wait check their conditions."""
        if self._known_leader_id != self.leader_id:
            self._known_leader_id = self.leader_id
            self.leadership += 1
        if self._known_epoch != self.leader_epoch:
            self._known_epoch = self.leader_epoch
            self._epoch_start_offset = self._find_epoch_start()
        self.look_again()

    def deleted(self) -> None:
        """The topic was deleted: requests that wait get an error."""
        self.is_deleted = True
        self.watchers.check_and_complete()

    def epoch_of(self, offset: int) -> int:
        """The leader epoch in which `offset` was or will be written; -1 if that is forgotten."""
        if offset >= self._epoch_start_offset:
            return self.leader_epoch
        return self.log.leader_epochs.epoch_of(offset)

    def end_offset_for_epoch(self, leader_epoch: int) -> tuple[int, int]:
        """(epoch, its end offset) for the largest epoch not above `leader_epoch`; (-1, -1) if none.

        The current epoch counts even before its first batch: Kafka notes an epoch at the election,
        kafkalite at the first append in it (LeaderEpochFileCache.endOffsetFor).
        """
        log = self.log
        if leader_epoch == self.leader_epoch:
            return leader_epoch, log.log_end_offset
        if leader_epoch == -1 or leader_epoch > self.leader_epoch:
            return -1, -1
        latest = log.leader_epochs.latest
        if latest == -1:
            return leader_epoch, self._epoch_start_offset
        if leader_epoch > latest:
            return latest, self._epoch_start_offset
        return log.end_offset_for_epoch(leader_epoch)
