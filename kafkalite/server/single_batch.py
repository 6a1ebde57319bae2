"""A Produce of a single batch, straight from its frame to its answer.

librdkafka sends one partition per Produce request, and so does everybody whose partitions are led by
as many brokers: one batch, from a producer that is in no transaction, and then nothing goes wrong.
For this no message is made of the frame and none of the answer. Whatever is not exactly this is left
to the declared way (dispatch.py, apis/produce.py), which finds nothing done yet; so errors are only
ever answered there. A test holds the two equal: tests/kafkalite/server/test_single_batch.py.

    frame, versions 9 to 12                                 and version 13
    int16 0, int16 version, int32 correlation id
    int16 length, client id, no tags
    null transactional id, int16 acks, int32 timeout
    1 topic, name, 1 partition                              1 topic, uuid, 1 partition
    int32 index, records, no tags x 3
"""

from __future__ import annotations

from struct import Struct
from struct import error as StructError
from typing import TYPE_CHECKING, Final

from kafkalite.log.plain_append import NOT_PLAIN
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.parse_support import uuid_of

if TYPE_CHECKING:
    from kafkalite.services import Services
    from kafkalite.wire.fields import InMemory

_FIRST_VERSION: Final = 9
_FIRST_TOPIC_ID_VERSION: Final = 13
_LAST_VERSION: Final = 13

_unpack_header = Struct(">hhih").unpack_from
# Tags, null, acks, timeout, topics (plus one, as compact lengths are), then the name's length or id.
_unpack_up_to_name = Struct(">BBhiBB").unpack_from
_unpack_up_to_id = Struct(">BBhiB16s").unpack_from
_unpack_partition = Struct(">BiBBB").unpack_from  # partitions, index, up to three bytes of length
_UP_TO_NAME: Final = 10
_UP_TO_ID: Final = 25
_NO_TAGS_AT_THE_END: Final = b"\0\0\0"
_ONE: Final = 2  # in a compact length

# The answer: size, correlation id, tags, topics; after name or id: partitions, index, no error,
# base offset, no log append time, log start offset, no record errors, no message, tags of partition
# and topic, throttle time, tags.
_pack_header = Struct(">iixB").pack
_pack_partition = Struct(">Bihqqq").pack
_REST: Final = b"\1\0\0\0" + b"\0\0\0\0" + b"\0"
_ANSWER_BYTES: Final = 4 + 1 + 1 + 31 + len(_REST)
_NO_TIME: Final = -1


def answer(services: Services, node_id: int, frame: InMemory) -> bytes | None:
    """The answer to a frame whose API key is Produce's; None if it takes the declared way."""
    index: int
    try:
        _, version, correlation_id, client_id_size = _unpack_header(frame)
        if not _FIRST_VERSION <= version <= _LAST_VERSION or client_id_size < 0:
            return None
        position = 10 + client_id_size
        if not bytes(frame[10:position]).isascii():  # perhaps it is no text at all
            return None
        if version >= _FIRST_TOPIC_ID_VERSION:
            tags, transactional_id, acks, _, topics, name = _unpack_up_to_id(frame, position)
            topic = services.topics.by_id(uuid_of(name))
            position += _UP_TO_ID
        else:
            tags, transactional_id, acks, _, topics, size = _unpack_up_to_name(frame, position)
            start = position + _UP_TO_NAME - 1
            position += _UP_TO_NAME + size - 1
            name = frame[start:position]
            topic = services.topics.get(str(name[1:], "utf-8")) if 1 < size < 128 else None
        partitions, index, size, second, third = _unpack_partition(frame, position)
    except (StructError, UnicodeDecodeError, IndexError):
        return None
    # acks: 1 or -1.
    if topic is None or tags or transactional_id or acks * acks != 1 or topics != _ONE:
        return None
    position += 6
    if size > 127:
        size = size & 127 | (second & 127) << 7
        position += 1
        if second > 127:
            size |= third << 14
            position += 1
            if third > 127:
                return None
    end = position + size - 1
    if partitions != _ONE or frame[end:] != _NO_TAGS_AT_THE_END or topic.is_internal:
        return None
    if not 0 <= index < len(topic.partitions):
        return None
    partition = topic.partitions[index]
    if partition.leader_id != node_id:
        return None
    try:
        base_offset = partition.append_plain(memoryview(frame)[position:end], acks)
    except KafkaError:
        return None
    if base_offset == NOT_PLAIN:
        return None
    return b"".join(
        (
            _pack_header(_ANSWER_BYTES + len(name), correlation_id, _ONE),
            name,
            _pack_partition(_ONE, index, 0, base_offset, _NO_TIME, partition.log.log_start_offset),
            _REST,
        )
    )
