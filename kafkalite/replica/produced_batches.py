"""The shape of the batches in a Produce request: whether each partition has one whole v2 batch.

What is refused here is refused before the partition is looked at (Kafka's
ProduceRequest.validateRecords and RequestUtils.hasTransactionalRecords); what a batch says is the
log's to judge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import UUID

from kafkalite.requests.slices import Steps, batches, cut, release_dict
from kafkalite.wire.api_keys import PRODUCE_BY_ID_SINCE
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.fields import InMemory
from kafkalite.wire.messages.produce import (
    PartitionProduceDataRow,
    PartitionProduceResponseRow,
    TopicProduceDataRow,
)
from kafkalite.wire.record_batch import (
    COMPRESSION_MASK,
    HEADER_BYTES,
    LOG_OVERHEAD,
    LOW_ATTRIBUTES_POSITION,
    MAGIC,
    MAGIC_POSITION,
    TRANSACTIONAL_FLAG,
)

if TYPE_CHECKING:
    from kafkalite.replica.pending_append import PendingAppend
    from kafkalite.replica.topics import Topics

_NOT_THERE: Final = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)
_FIRST_ZSTD_VERSION: Final = 7
# A batch from byte 8: int32 length of what follows it, int32 leader epoch, int8 magic; then
# uint32 checksum, int16 attributes.
_unpack_length: Final = Struct(">i").unpack_from
_unpack_length_and_magic: Final = Struct(">i4xb").unpack_from
_unpack_up_to_attributes: Final = Struct(">i4xB4xH").unpack_from
_UP_TO_MAGIC_BYTES: Final = 17
_SMALLEST_LENGTH: Final = 14
# The size of a larger one is no int32.
_LARGEST_LENGTH: Final = 2**31 - 1 - LOG_OVERHEAD
_ZSTD: Final = 4

# Producer id and epoch. An id whose first byte is this or more is negative: there is no producer.
_PRODUCER: Final = slice(43, 53)
_PRODUCER_ID: Final = 43
_FIRST_NEGATIVE: Final = 128


class Batches(NamedTuple):
    """The shape of all batches of a request together.

    `unreadable` is the error of the first batch whose length or magic is impossible. Apache Kafka
    finds it while it looks for a transactional batch, and stops at the first one
    (RequestUtils.hasTransactionalRecords). `are_whole`: each partition has exactly one whole batch,
    which `check_shape` would take as it is. `has_transactional`: a batch says that it belongs to a
    transaction, as markers do, too. `producers` are the ids and epochs of such batches, as bytes of
    their headers; a batch without an id has none (ReplicaManager.handleProduceAppend).
    """

    unreadable: KafkaError | None
    are_whole: bool
    has_transactional: bool
    producers: frozenset[bytes] | set[bytes]


# By topic and partition.
Malformed = dict[tuple[str, UUID], dict[int, KafkaError]]

WHOLE: Final = Batches(None, are_whole=True, has_transactional=False, producers=frozenset())


def look_at(
    topics: Iterable[tuple[str, UUID, Sequence[PartitionProduceDataRow]]],
    api_version: int,
    before: Batches | None = None,
) -> Batches:
    """The shape of the batches in `topics`, with that of those `before` them."""
    size: int
    length: int
    magic: int
    attributes: int
    are_whole = True
    has_transactional = False
    producers: set[bytes] = set()
    if before is not None:
        _, are_whole, has_transactional, known = before
        producers = set(known)
    for _, _, partitions in topics:
        for _, records in partitions:
            size = 0 if records is None else len(records)
            if records is None or size < HEADER_BYTES:
                are_whole = False
                if has_transactional or records is None:
                    continue
                if problem := _unreadable(records):
                    return Batches(problem, are_whole, has_transactional, producers)
                continue
            length, magic, attributes = _unpack_up_to_attributes(records, 8)
            if length + LOG_OVERHEAD != size or magic != MAGIC:
                are_whole = False
                if not has_transactional and (problem := _unreadable(records)):
                    return Batches(problem, are_whole, has_transactional, producers)
                if length + LOG_OVERHEAD > size or magic != MAGIC:
                    continue  # no batch, or one of a format without transactions
            elif attributes & COMPRESSION_MASK >= _ZSTD and api_version < _FIRST_ZSTD_VERSION:
                are_whole = False
            if attributes & TRANSACTIONAL_FLAG:
                has_transactional = True
                if records[_PRODUCER_ID] < _FIRST_NEGATIVE:
                    producers.add(bytes(records[_PRODUCER]))
    if are_whole and not has_transactional:
        return WHOLE
    return Batches(None, are_whole, has_transactional, producers)


def are_named_twice(topics: Sequence[TopicProduceDataRow]) -> bool:
    """True if a topic has more than one element, or a partition."""
    if len(topics) > 1 and len({(name, topic_id) for name, topic_id, _ in topics}) < len(topics):
        return True
    return any(len(rows) > 1 and len(dict(rows)) < len(rows) for _, _, rows in topics)


def each_once(
    topics: Sequence[TopicProduceDataRow], api_version: int
) -> Steps[tuple[list[TopicProduceDataRow], Malformed]]:
    """The topics and partitions without repetition, and those to be refused in any case.

    The last batch for a partition counts that is not malformed. It is appended, but the response
    is that of the malformed one, as in Apache Kafka (KafkaApis.handleProduceRequest).
    """
    once: dict[tuple[str, UUID], dict[int, InMemory | None]] = {}
    malformed: Malformed = {}
    for name, topic_id, partitions in topics:
        last = once.setdefault((name, topic_id), {})
        for some in cut(partitions):
            for index, records in some:
                if index not in last:
                    last[index] = records
                    continue
                before, after = (shape_error(each, api_version) for each in (last[index], records))
                if error := after or before:
                    malformed.setdefault((name, topic_id), {})[index] = error
                if before is not None or after is None:
                    last[index] = records
            yield
    rows: list[TopicProduceDataRow] = []
    for (name, topic_id), last in once.items():
        left: list[PartitionProduceDataRow] = []
        rows.append((name, topic_id, left))
        for each in batches(last.items()):
            left += each
            yield
        yield
    yield from release_dict(once)
    return rows, malformed


def shape_error(records: InMemory | None, api_version: int) -> KafkaError | None:
    """The error of `check_shape`, if there is one."""
    try:
        check_shape(records, api_version)
    except KafkaError as error:
        return error
    return None


def may_be_refused(batches: Batches, transactional_id: str | None) -> bool:
    """True if a request may be refused as a whole for its batches."""
    return not batches.are_whole or (
        batches.has_transactional and (transactional_id is None or len(batches.producers) > 1)
    )


def look_at_all(
    topics: Sequence[TopicProduceDataRow],
    api_version: int,
    choose: Callable[[TopicProduceDataRow], TopicProduceDataRow] = lambda topic: topic,
) -> Steps[Batches]:
    """`look_at` in slices, at what `choose` leaves of each topic."""
    batches = WHOLE
    for topic in topics:
        name, topic_id, partitions = choose(topic)
        for some in cut(partitions):
            batches = look_at([(name, topic_id, some)], api_version, batches)
            yield
            if batches.unreadable is not None:
                return batches
    return batches


def is_transactional(records: InMemory) -> bool:
    """True if a batch says that it belongs to a transaction. One cut short is left to the log."""
    if len(records) < HEADER_BYTES:
        return False
    return bool(records[LOW_ATTRIBUTES_POSITION] & TRANSACTIONAL_FLAG)


def check_shape(records: InMemory | None, api_version: int) -> InMemory:
    """The one whole v2 batch in `records`. The leader of the partition is checked after that.

    Raises KafkaError with INVALID_RECORD, CORRUPT_MESSAGE, UNSUPPORTED_COMPRESSION_TYPE, or
    UNKNOWN_SERVER_ERROR, which is the whole request's error: Apache Kafka has no code for a length
    beyond an int32, or for a codec that it does not know (ProduceRequest.validateRecords). Bytes
    after the batch that are no whole batch are left out.
    """
    if records is None or (size := _size_of_batch(records)) is None:
        raise KafkaError(ErrorCode.INVALID_RECORD)
    if records[MAGIC_POSITION] != MAGIC:
        raise KafkaError(ErrorCode.INVALID_RECORD)
    if api_version < _FIRST_ZSTD_VERSION:
        _check_codec(records[LOW_ATTRIBUTES_POSITION] & COMPRESSION_MASK)
    if size < len(records):
        if _size_of_batch(records[size:]) is not None:
            raise KafkaError(ErrorCode.INVALID_RECORD)
        records = records[:size]
    return records


def fails_the_request(
    topics: Sequence[TopicProduceDataRow],
    api_version: int,
    choose: Callable[[TopicProduceDataRow], TopicProduceDataRow],
) -> Steps[bool]:
    """True if `check_shape` finds an error of the whole request, in what `choose` leaves."""
    for topic in topics:
        _, _, partitions = choose(topic)
        for some in cut(partitions):
            for _, records in some:
                error = shape_error(records, api_version)
                if error is not None and error.code is ErrorCode.UNKNOWN_SERVER_ERROR:
                    return True
            yield
    return False


def _size_of_batch(records: InMemory) -> int | None:
    """The size of the batch at the beginning; None if it is not whole. Raises KafkaError."""
    if (error := _unreadable(records)) is not None:
        # Without the words: Kafka keeps the exception's error only.
        raise KafkaError(error.code)
    if len(records) < _UP_TO_MAGIC_BYTES:
        return None
    length, _ = _unpack_length_and_magic(records, 8)
    size: int = LOG_OVERHEAD + length
    return size if size <= len(records) else None


def _unreadable(records: InMemory) -> KafkaError | None:
    """The error of a length or a magic that no batch has (ByteBufferLogInputStream)."""
    if len(records) < LOG_OVERHEAD:
        return None
    (length,) = _unpack_length(records, 8)
    if length < _SMALLEST_LENGTH:
        text = f"Record size {length} is less than the minimum record overhead ({_SMALLEST_LENGTH})"
        return KafkaError(ErrorCode.CORRUPT_MESSAGE, text)
    if len(records) < _UP_TO_MAGIC_BYTES:
        return None
    _, magic = _unpack_length_and_magic(records, 8)
    if not 0 <= magic <= MAGIC:
        return KafkaError(ErrorCode.CORRUPT_MESSAGE, f"Invalid magic found in record: {magic}")
    if length > _LARGEST_LENGTH:
        return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
    return None


def _check_codec(codec: int) -> None:
    """Refuse zstd and unknown codecs. From version 7 on the log refuses unknown ones."""
    if codec == _ZSTD:
        raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
    if codec > _ZSTD:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)


def refuse_instead(
    rows: list[PartitionProduceResponseRow],
    errors: Mapping[int, KafkaError],
    pending: Sequence[PendingAppend],
) -> Steps[None]:
    """Respond with errors for partitions that exist, appended to or not."""
    appended: dict[int, PendingAppend] = {}
    for each in pending:
        if each.rows is rows:
            appended[each.position] = each
        yield
    for position, row in enumerate(rows):
        yield
        error = errors.get(row[0])
        if error is None or row[1] in _NOT_THERE:
            continue
        rows[position] = (row[0], error.code, -1, -1, -1, (), error.message, (-1, -1))
        if position in appended:
            each = appended[position]
            each.rows, each.position = [row], 0


def refusal_of(
    existing: Topics,
    api_version: int,
    transactional_id: str | None,
    topics: Sequence[TopicProduceDataRow],
    batches: Batches,
    once: Sequence[TopicProduceDataRow],
) -> Steps[KafkaError | None]:
    """The error for all partitions, before one is looked at (KafkaApis.handleProduceRequest).
    `once`: the topics without repetition."""
    if batches.unreadable is not None:
        return batches.unreadable
    if batches.has_transactional and transactional_id is None:
        return KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    of_known = partial(_only_known, existing, api_version)
    if not batches.are_whole and (yield from fails_the_request(topics, api_version, of_known)):
        return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
    if len(batches.producers) < 2:
        return None
    taken = partial(_only_taken, existing, api_version)
    known = yield from look_at_all(once, api_version, taken)
    if len(known.producers) < 2:
        return None
    return KafkaError(
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        "Transactional records contained more than one producer ID",
    )


def _only_known(
    existing: Topics, api_version: int, topic: TopicProduceDataRow
) -> TopicProduceDataRow:
    """The partitions of a topic that exist."""
    name, topic_id, partitions = topic
    by_id = api_version >= PRODUCE_BY_ID_SINCE
    found = existing.by_id(topic_id) if by_id else existing.get(name)
    count = 0 if found is None else len(found.partitions)
    return name, topic_id, [item for item in partitions if 0 <= item[0] < count]


def _only_taken(
    existing: Topics, api_version: int, topic: TopicProduceDataRow
) -> TopicProduceDataRow:
    """The partitions of a topic that exist, and whose batch is one."""
    name, topic_id, partitions = _only_known(existing, api_version, topic)
    taken = [each for each in partitions if shape_error(each[1], api_version) is None]
    return name, topic_id, taken
