"""An OffsetCommit of nothing special, straight from its frame to its answer.

Consumers commit what they have read every few seconds, or after every poll, and nearly always all of it is
accepted. For this no message is made of the frame and none of the answer; what is written, and what the
group is told, is the coordinator's affair as ever. Whatever is not exactly this is left to the declared way
(dispatch.py, apis/offset_commit.py), which finds nothing done yet; so errors are only ever answered there.
A test holds the two equal: tests/kafkalite/server/test_plain_commit.py.

    frame, versions 8 and 9                                 version 10
    int16 8, int16 version, int32 correlation id
    int16 length, client id, no tags
    group id, int32 generation, member id, group instance id or null
    topics: name, partitions:                               topics: uuid, partitions:
      int32 index, int64 offset, int32 leader epoch, metadata or null, no tags
    no tags
"""

from __future__ import annotations

from struct import Struct
from struct import error as StructError
from typing import TYPE_CHECKING, Final

from kafkalite.group_coordinator.offset_commit import Committer
from kafkalite.group_coordinator.offset_table import CommittedOffset
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.parse_support import uuid_of

if TYPE_CHECKING:
    from kafkalite.services import Services
    from kafkalite.wire.fields import InMemory

_FIRST_VERSION: Final = 8
_FIRST_TOPIC_ID_VERSION: Final = 10
_LAST_VERSION: Final = 10

_unpack_header = Struct(">hhih").unpack_from
_unpack_generation = Struct(">iB").unpack_from  # and the length of the member id
_unpack_partition = Struct(">iqiB").unpack_from
_PARTITION_BYTES: Final = 17
# Of compact lengths, which are one more: above this they take several bytes.
_LONGEST: Final = 127
_NO_TAGS: Final = b"\0"

# Size, correlation id; no tags, throttle time; topics.
_pack_header = Struct(">ii5xB").pack
_HEADER_BYTES: Final = 10  # without the size
_pack_partition = Struct(">i3x").pack  # index, no error, no tags

# Topic, partition, and what is committed.
_Commit = tuple[str, int, CommittedOffset]


def answer(services: Services, node_id: int, frame: InMemory) -> bytes | None:
    """The answer to a frame whose API key is OffsetCommit's; None if it takes the declared way."""
    size: int
    generation: int
    member_size: int
    try:
        _, version, correlation_id, size = _unpack_header(frame)
        if not _FIRST_VERSION <= version <= _LAST_VERSION or size < 0:
            return None
        start = 10 + size
        # No tags; and perhaps the client id is no text at all.
        if frame[start] or not bytes(frame[10:start]).isascii():
            return None
        group_size = frame[start + 1]
        start += 2
        position = start + group_size - 1
        group_id = str(frame[start:position], "utf-8")
        generation, member_size = _unpack_generation(frame, position)
        start = position + 5
        position = start + member_size - 1
        member_id = str(frame[start:position], "utf-8")
        if not 0 < group_size <= _LONGEST or not 0 < member_size <= _LONGEST:
            return None
        instance_id = None
        if frame[position]:
            start = position + 1
            position += frame[position]
            if position - start >= _LONGEST:
                return None
            instance_id = str(frame[start:position], "utf-8")
        else:
            position += 1
        parts: list[bytes] = []
        commits = _commits(services, frame, position, version, parts)
    except (StructError, ValueError, IndexError):  # ValueError: no UTF-8, half an id
        return None
    if commits is None:
        return None
    coordinator = services.group_coordinator
    committer = Committer(group_id, member_id, instance_id, generation)
    try:
        shard = coordinator.shard_of(group_id, node_id)
        if not coordinator.offsets.commit_plainly(shard, committer, version, commits):
            return None
    except KafkaError:
        return None
    rest = b"".join(parts)
    return _pack_header(_HEADER_BYTES + len(rest), correlation_id, frame[position]) + rest


def _commits(
    services: Services, frame: InMemory, position: int, version: int, parts: list[bytes]
) -> list[_Commit] | None:
    """What is to be committed; None unless all of it is there. Puts the answer's rest into `parts`."""
    index: int
    offset: int
    leader_epoch: int
    now_ms = services.now_ms()
    longest_metadata = services.group_coordinator.config.offset_metadata_max_bytes
    commits: list[_Commit] = []
    topic_count = frame[position]
    position += 1
    if not 1 < topic_count <= _LONGEST:
        return None
    for _ in range(topic_count - 1):
        start = position
        if version >= _FIRST_TOPIC_ID_VERSION:
            position += 16
            topic = services.topics.by_id(uuid_of(bytes(frame[start:position])))
        else:
            size = frame[position]
            position += size
            topic = (
                services.topics.get(str(frame[start + 1 : position], "utf-8"))
                if 0 < size <= _LONGEST
                else None
            )
        partition_count = frame[position]
        if topic is None or not 1 < partition_count <= _LONGEST:
            return None
        position += 1
        parts.append(bytes(frame[start:position]))
        for _ in range(partition_count - 1):
            index, offset, leader_epoch, size = _unpack_partition(frame, position)
            start = position + _PARTITION_BYTES
            position = start + size - 1 if size else start
            if size > _LONGEST or frame[position] or not 0 <= index < len(topic.partitions):
                return None
            metadata = str(frame[start:position], "utf-8") if size > 1 else ""
            if len(metadata) > longest_metadata:
                return None
            position += 1
            committed = CommittedOffset(
                offset, leader_epoch, metadata, now_ms, topic_id=topic.topic_id
            )
            commits.append((topic.name, index, committed))
            parts.append(_pack_partition(index))
        if frame[position]:
            return None
        position += 1
        parts.append(_NO_TAGS)
    parts.append(_NO_TAGS)
    return commits if frame[position:] == _NO_TAGS else None
