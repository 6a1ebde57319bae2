"""The coordinators' topics as the coordinators see them: append a batch, read all back.

A coordinator's state is a compacted internal topic, and each of its partitions is one
coordinator's. Here `__consumer_offsets` is given to the group coordinator in the form it asks for
(its OffsetLog).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from kafkalite.group_coordinator.state_log import (
    UNREADABLE,
    ReplayedMarker,
    ReplayedRecord,
    StateRecords,
)
from kafkalite.log.loggers import logger_of
from kafkalite.log.trusted_records import COORDINATOR_SEQUENCE
from kafkalite.requests.topic_names import OFFSETS_TOPIC
from kafkalite.wire.control_records import ControlRecordType, read_end_transaction_marker
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.stored import decode, decode_key, value_class_of
from kafkalite.wire.record_batch import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    RecordBatch,
    iterate_batches,
    records_data,
)
from kafkalite.wire.record_format import WrittenPairs

if TYPE_CHECKING:
    from kafkalite.log.log import Log
    from kafkalite.replica.partition import Partition
    from kafkalite.replica.topics import Topics

logger = logger_of(__name__)

READ_BYTES: Final = 1 << 20
# Nothing is yielded before so much is read.
REPLAYED_BYTES: Final = 1 << 18
# The type of the record of a commit, before its key.
_COMMIT: Final = b"\0\1"

_Stored = tuple[int, bytes, bytes, int, int]
"""A record: its offset, its key, and the data in which its value is, from here (-1: null) to there.
"""

# The error for a client, by that of the coordinator's failed append (Kafka's
# CoordinatorOperationExceptionHelper, TransactionStateManager).
_AS_ANSWERED: Final[Mapping[ErrorCode, ErrorCode]] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
}


def as_answered(error: KafkaError) -> KafkaError:
    """The error for a client whose coordinator could not append to its log; without words, if it
    is told another code."""
    code = _AS_ANSWERED.get(error.code)
    return error if code is None else KafkaError(code)


class ConsumerOffsetsLog:
    """`__consumer_offsets`. `now_ms` stamps the records."""

    def __init__(self, topics: Topics, now_ms: Callable[[], int]) -> None:
        self._by_name = topics.by_name
        self._now_ms = now_ms

    @property
    def partition_count(self) -> int:
        """0 while the topic does not exist."""
        topic = self._by_name.get(OFFSETS_TOPIC)
        return 0 if topic is None else len(topic.partitions)

    def leader_id(self, partition: int) -> int | None:
        """The node of this process that leads the partition, and so coordinates its groups; None if
        no node does."""
        leader_id = self._partition(partition).coordinated_here
        return leader_id if leader_id >= 0 else None

    def end_offset(self, partition: int) -> int:
        """The offset of the partition's next record."""
        return self._partition(partition).log.log_end_offset

    def append(
        self,
        partition: int,
        records: StateRecords,
        *,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
    ) -> int:
        """Append the records as one batch; the first one's offset. Raises KafkaError."""
        now_ms = self._now_ms()
        try:
            target = self._partition(partition)
            _check_size(target.log, records)
            if producer_id == NO_PRODUCER_ID:
                return target.append_trusted(records, now_ms, base_sequence=COORDINATOR_SEQUENCE)
            if producer_epoch == NO_PRODUCER_EPOCH:  # Kafka builds no such batch
                raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
            # Verified before it was asked for (apis/txn_offset_commit.py).
            guard = target.log.start_verification(
                producer_id, NO_SEQUENCE, producer_epoch, supports_epoch_bump=False
            )
            producer = (producer_id, producer_epoch)
            return target.append_trusted(
                records, now_ms, producer, guard, base_sequence=COORDINATOR_SEQUENCE
            )
        except KafkaError as error:
            raise as_answered(error) from error

    def replay(self, partition: int) -> Iterator[ReplayedRecord | ReplayedMarker]:
        """All records and transaction markers that count, in order, up to one that is damaged.

        An offset is left out if the same is committed again in what is read at once.
        """
        log = self._partition(partition).log
        with offline_if_damaged(log):
            for batches in _chunks_of(log, REPLAYED_BYTES):
                yield from _replayed(batches)

    def take_offline(self, partition: int, reason: Exception) -> None:
        """Serve the partition no more: it has a record that is not readable."""
        take_offline(self._partition(partition).log, reason)

    def _partition(self, partition: int) -> Partition:
        topic = self._by_name.get(OFFSETS_TOPIC)
        if topic is None or partition >= len(topic.partitions):
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return topic.partitions[partition]


def _check_size(log: Log, records: StateRecords) -> None:
    """Raise MESSAGE_TOO_LARGE for records that the log will refuse as a batch: to build it takes
    longer."""
    config = log.config
    if isinstance(records, WrittenPairs):
        size = records.size_bytes
    else:
        size = sum([len(key) + (0 if value is None else len(value)) for key, value in records])
    if size > config.max_batch_bytes and config.keeps_batches:
        raise KafkaError(ErrorCode.MESSAGE_TOO_LARGE)


@contextmanager
def offline_if_damaged(log: Log) -> Generator[None]:
    """Take the partition offline if its log cannot be read, so no coordinator serves partial
    state."""
    try:
        yield
    except UNREADABLE as error:
        take_offline(log, error)


def take_offline(log: Log, reason: Exception) -> None:
    log.offline_reason = f"it cannot be read back: {reason}"
    logger.error("partition %s is offline: %s", log.name, log.offline_reason)


def decoded_records_of(
    log: Log, kinds: dict[int, str], read_bytes: int = READ_BYTES
) -> Iterator[tuple[int, Any, Any]]:
    """Offset, key and value (None: a tombstone) of a coordinator's records, in order.

    `kinds` is a table of wire/messages/stored. Records of kinds that only a newer Kafka knows are
    left out. So many bytes are read at once, unless a batch is larger. A damaged log is taken
    offline.
    """
    with offline_if_damaged(log):
        for batch in batches_of(log, read_bytes):
            for stored in () if batch.is_control else _records_of(batch):
                yield from _decoded(stored, kinds)


def last_values_of(log: Log, kinds: dict[int, str]) -> Iterator[tuple[Any, Any]]:
    """Key and value of a coordinator's records, whose last value is all that counts.

    A record is left out if another one has its key in what is read at once. Else it is as
    `decoded_records_of`.
    """
    with offline_if_damaged(log):
        for batches in _chunks_of(log, REPLAYED_BYTES):
            last: dict[bytes, _Stored] = {}
            for batch in batches:
                for stored in () if batch.is_control else _records_of(batch):
                    last[stored[1]] = stored
            for stored in last.values():
                for _, key, value in _decoded(stored, kinds):
                    yield key, value


def _decoded(stored: _Stored, kinds: dict[int, str]) -> Iterator[tuple[int, Any, Any]]:
    offset, key_bytes, data, begin, end = stored
    key = decode_key(key_bytes, kinds)
    if key is not None:
        value = None if begin < 0 else decode(value_class_of(key), data[begin:end])
        yield offset, key, value


def _records_of(batch: RecordBatch) -> Iterator[_Stored]:
    """The records of a batch that have a key. Raises KafkaError."""
    from kafkalite.log.record_scan import scanned  # an empty log has none

    data, base_offset = records_data(batch), batch.base_offset
    for part in scanned(batch, data):
        for offset_delta, _, key, value, value_end, _, _ in part:
            if key is not None:
                yield base_offset + offset_delta, key, data, value, value_end


def batches_of(log: Log, read_bytes: int = READ_BYTES) -> Iterator[RecordBatch]:
    """All batches of a coordinator's log, in order. Raises KafkaError for a damaged one."""
    return chain.from_iterable(_chunks_of(log, read_bytes))


def _chunks_of(log: Log, read_bytes: int) -> Iterator[Iterator[RecordBatch]]:
    """All batches of a coordinator's log, in order, with those that are read together. Raises
    KafkaError for a damaged one."""
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        records = log.read(offset, read_bytes, upper_bound=log.log_end_offset).records
        if isinstance(records, bytes):
            data = records
        else:
            with records:
                data = records.read()
        if not data:
            return
        batches = list(iterate_batches(data))
        if not batches:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"no batch begins at offset {offset}")
        yield map(_valid, batches)
        offset = batches[-1].next_offset


def _valid(batch: RecordBatch) -> RecordBatch:
    batch.ensure_valid()
    return batch


def _replayed(batches: Iterable[RecordBatch]) -> Iterator[ReplayedRecord | ReplayedMarker]:
    """The records of some batches. Commits wait for the next record that is none: until then, one
    takes the place of another for the same partition."""
    commits: dict[bytes, _Stored] = {}
    for batch in batches:
        if batch.is_control:
            yield from _taken(commits)
            marker = read_end_transaction_marker(batch)
            if marker is not None:
                committed = marker.control_type is ControlRecordType.COMMIT
                yield ReplayedMarker(batch.producer_id, committed)
            continue
        producer_id = batch.producer_id if batch.is_transactional else NO_PRODUCER_ID
        for stored in _records_of(batch):
            offset, key, data, begin, end = stored
            if producer_id == NO_PRODUCER_ID and begin >= 0 and key.startswith(_COMMIT):
                commits[key] = stored
                continue
            yield from _taken(commits)
            yield ReplayedRecord(offset, key, None if begin < 0 else data[begin:end], producer_id)
    yield from _taken(commits)


def _taken(commits: dict[bytes, _Stored]) -> Iterator[ReplayedRecord]:
    for offset, key, data, begin, end in commits.values():
        yield ReplayedRecord(offset, key, data[begin:end])
    commits.clear()
