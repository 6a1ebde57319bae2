"""A Fetch in no session, straight from its frame to its answer.

librdkafka, kafka-python and aiokafka name their partitions in every Fetch. Where there is enough to
answer with and nothing to say besides records (no transaction among them was aborted, either), no
message is made of the frame and none of the answer. Whatever is not exactly this is left to the declared
way (dispatch.py, apis/fetch.py), from its beginning: so it is there that errors are answered, and that
requests wait. A test holds the two equal: tests/kafkalite/server/test_plain_fetch.py.

    frame, versions 12 to 14                                versions 15 to 17
    int16 1, int16 version, int32 correlation id
    int16 length, client id, no tags
    int32 replica id -1
    int32 max wait, min bytes, max bytes, int8 isolation level, int32 no session, int32 epoch -1
    topics: name (12) or uuid, partitions:
      int32 index, leader epoch, int64 offset, int32 last fetched epoch -1, int64 log start offset,
      int32 max bytes, no tags
    no topics to forget, no rack, no tags
"""

from __future__ import annotations

from struct import Struct
from struct import error as StructError
from typing import TYPE_CHECKING, Final

from kafkalite.log.open_files import close_slices
from kafkalite.log.page_cache import NotCached, cached_only
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.fields import unsigned_varint
from kafkalite.wire.parse_support import uuid_of

if TYPE_CHECKING:
    from kafkalite.replica.partition import Partition
    from kafkalite.services import Services
    from kafkalite.wire.fields import InMemory, Records

_FIRST_VERSION: Final = 12
_FIRST_TOPIC_ID_VERSION: Final = 13
_FIRST_REPLICA_STATE_VERSION: Final = 15
_LAST_VERSION: Final = 17

_unpack_header = Struct(">hhih").unpack_from
# Tags, replica id; max wait, min bytes, max bytes, isolation level, session id and epoch, topics.
_unpack_to_14 = Struct(">BiiiibiiB").unpack_from
_unpack_from_15 = Struct(">BiiibiiB").unpack_from
_TO_14_BYTES: Final = 27
_FROM_15_BYTES: Final = 23
_unpack_partition = Struct(">iiqiqiB").unpack_from
_PARTITION_BYTES: Final = 33
# Of compact lengths, which are one more: above this they take several bytes.
_LONGEST: Final = 127
# Nothing forgotten, no rack, no tags.
_AT_THE_END: Final = b"\1\1\0"
_CONSUMER: Final = -1
_READ_COMMITTED: Final = 1
_ISOLATION_LEVELS: Final = (0, _READ_COMMITTED)
_NO_EPOCH: Final = -1
_NO_TAGS: Final = b"\0"

# Size, correlation id; no tags, throttle time, error, session; topics.
_pack_header = Struct(">ii11xB").pack
_HEADER_BYTES: Final = 16  # without the size
# Index, no error, high watermark, last stable offset, log start offset, aborted transactions, no
# preferred replica.
_pack_partition = Struct(">ixxqqqBi").pack
# By isolation level: READ_UNCOMMITTED did not ask for them, READ_COMMITTED gets a list without any.
_NONE_ABORTED: Final = (0, 1)
_NO_REPLICA: Final = -1


# What the answer's part begins with (the topic, where it is another one), index, partition, offset, bytes.
_Wanted = tuple[bytes, int, "Partition", int, int]


def answer(services: Services, node_id: int, frame: InMemory) -> list[Records] | None:
    """The answer's chunks to a frame whose API key is Fetch's; None if it takes the declared way."""
    try:
        _, version, correlation_id, client_id_size = _unpack_header(frame)
        if not _FIRST_VERSION <= version <= _LAST_VERSION or client_id_size < 0:
            return None
        position = 10 + client_id_size
        if not bytes(frame[10:position]).isascii():  # perhaps it is no text at all
            return None
        replica_id = _CONSUMER
        if version < _FIRST_REPLICA_STATE_VERSION:
            tags, replica_id, *rest = _unpack_to_14(frame, position)
            position += _TO_14_BYTES
        else:
            tags, *rest = _unpack_from_15(frame, position)
            position += _FROM_15_BYTES
        max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, epoch, topics = rest
        if tags or replica_id != _CONSUMER or session_id or epoch != -1:
            return None
        if isolation_level not in _ISOLATION_LEVELS or not 1 < topics <= _LONGEST:
            return None
        wanted = _wanted(services, node_id, frame, position, version, topics - 1)
    except (StructError, ValueError, IndexError):  # ValueError: no UTF-8, half an id
        return None
    if wanted is None:
        return None
    max_bytes = min(max_bytes, services.config.integer("fetch.max.bytes"))
    if max_wait_ms <= 0:
        min_bytes = 0
    return _read(wanted, correlation_id, topics, max_bytes, min_bytes, isolation_level)


def _wanted(
    services: Services, node_id: int, frame: InMemory, position: int, version: int, topic_count: int
) -> list[_Wanted] | None:
    """What is asked for; None unless all of it is there, and this node's to give."""
    index: int
    offset: int
    max_bytes: int
    wanted: list[_Wanted] = []
    names: set[bytes] = set()
    before = b""
    for _ in range(topic_count):
        start = position
        if version >= _FIRST_TOPIC_ID_VERSION:
            position += 16
            name = bytes(frame[start:position])
            topic = services.topics.by_id(uuid_of(name))
        else:
            position += frame[position]
            name = bytes(frame[start:position])
            topic = services.topics.get(str(name[1:], "utf-8")) if 1 < name[0] <= _LONGEST else None
        count = frame[position]
        if topic is None or not 1 < count <= _LONGEST or name in names:
            return None
        names.add(name)
        before += name + bytes((count,))
        position += 1
        indexes: set[int] = set()
        for _ in range(count - 1):
            index, leader_epoch, offset, last_epoch, _, max_bytes, tags = _unpack_partition(
                frame, position
            )
            position += _PARTITION_BYTES
            if tags or last_epoch != _NO_EPOCH or not 0 <= index < len(topic.partitions):
                return None
            partition = topic.partitions[index]
            if partition.leader_id != node_id:
                return None
            if leader_epoch not in (_NO_EPOCH, partition.leader_epoch):
                return None
            wanted.append((before, index, partition, offset, max_bytes))
            indexes.add(index)
            before = b""
        if len(indexes) < count - 1 or frame[position]:
            return None
        position += 1
        before = _NO_TAGS
    return wanted if frame[position:] == _AT_THE_END else None


def _read(
    wanted: list[_Wanted],
    correlation_id: int,
    topics: int,
    max_bytes: int,
    min_bytes: int,
    isolation_level: int,
) -> list[Records] | None:
    """The answer's chunks; None for an error, too little, an aborted transaction, a disk to wait for."""
    chunks: list[Records] = []
    parts: list[bytes] = []
    remaining = max_bytes
    found = 0
    committed_only = isolation_level == _READ_COMMITTED
    none_aborted = _NONE_ABORTED[isolation_level]
    try:
        for before, index, partition, offset, partition_max_bytes in wanted:
            with cached_only:
                result = partition.read(
                    offset,
                    min(remaining, partition_max_bytes),
                    committed_only=committed_only,
                    minimum_one_batch=not found,
                )
            records, log = result.records, partition.log
            if result.aborted_transactions:
                close_slices((*chunks, records))
                return None
            parts.append(before)
            parts.append(
                _pack_partition(
                    index,
                    log.high_watermark,
                    log.last_stable_offset,
                    log.log_start_offset,
                    none_aborted,
                    _NO_REPLICA,
                )
            )
            size = len(records)
            parts.append(unsigned_varint(size + 1))
            if size:
                found += size
                remaining = max(0, remaining - size)
                chunks += (b"".join(parts), records)
                parts.clear()
            parts.append(_NO_TAGS)
    except (KafkaError, NotCached):
        close_slices(chunks)
        return None
    if found < min_bytes:
        close_slices(chunks)
        return None
    parts += (_NO_TAGS, _NO_TAGS)
    chunks.append(b"".join(parts))
    size = _HEADER_BYTES + sum(map(len, chunks))
    first = chunks[0]
    assert isinstance(first, bytes)  # it begins with the topic
    chunks[0] = _pack_header(size, correlation_id, topics) + first
    return chunks
