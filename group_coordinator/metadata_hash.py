"""Apache Kafka's hash of a group's topics, kept in the records of its epochs.

It is another one when a topic has come or gone, has grown, or is replicated to other racks; then
the group is assigned anew. Both kinds of broker compute the same, so a group that moves from one to
the other keeps its assignment. Source: org.apache.kafka.coordinator.group.Utils (computeTopicHash,
computeGroupHash); XXH3 of 64 bits over a stream as hash4j writes it: integers little-endian, a
string as its UTF-16 code units followed by their number.
"""

from collections.abc import Iterable, Sequence
from struct import pack
from typing import Final
from uuid import UUID

from xxhash import xxh3_64_digest

from kafkalite.group_coordinator.topics_view import TopicsView

_MAGIC = b"\0"
_MOST_KEPT: Final = 100_000

Racks = Sequence[Sequence[str]]

# Hashes by topic, with what they were made of: a group of 10,000 topics would compute as many anew
# whenever a member joins.
_kept: Final[dict[str, tuple[UUID, int, Racks, int]]] = {}


def metadata_hash(topics: Iterable[str], view: TopicsView) -> int:
    """The hash of a group with these topics; those that do not exist do not count.

    A signed integer of 64 bits; 0 if there is none.
    """
    found: list[int] = []
    for name in sorted(topics):
        topic_id = view.topic_id(name)
        if topic_id is not None:
            count, racks = view.partition_count(name), view.partition_racks(name)
            kept = _kept.get(name)
            if kept is None or kept[0] is not topic_id or kept[1] != count or kept[2] != racks:
                if len(_kept) >= _MOST_KEPT:
                    _kept.clear()
                kept = topic_id, count, racks, topic_hash(topic_id, name, count, racks)
                _kept[name] = kept
            found.append(kept[3])
    return group_hash(found)


def group_hash(topic_hashes: Sequence[int]) -> int:
    """The hash of a group whose topics have these, in the order of their names."""
    return _xxh3(pack(f"<{len(topic_hashes)}q", *topic_hashes)) if topic_hashes else 0


def topic_hash(topic_id: UUID, name: str, partition_count: int, racks: Racks) -> int:
    """The hash of one topic. `racks`: those of each partition's replicas, or nothing if no broker
    has one."""
    if racks:
        partitions = b"".join(
            pack("<i", i)
            + b"".join(_units(rack) + _string(rack) for rack in sorted(of_partition, key=_utf16))
            for i, of_partition in enumerate(racks)
        )
    else:
        partitions = pack(f"<{partition_count}i", *range(partition_count))
    # Java's UUID is two longs, the most significant bits first.
    number = topic_id.bytes
    identity = number[7::-1] + number[:7:-1]
    return _xxh3(_MAGIC + identity + _string(name) + pack("<i", partition_count) + partitions)


def _utf16(text: str) -> bytes:
    """By which Java orders strings."""
    return text.encode("utf-16-be")


def _string(text: str) -> bytes:
    units = text.encode("utf-16-le")
    return units + pack("<i", len(units) // 2)


def _units(text: str) -> bytes:
    """The number of UTF-16 code units: Java's String.length."""
    return pack("<i", len(text.encode("utf-16-le")) // 2)


def _xxh3(data: bytes) -> int:
    digest: bytes = xxh3_64_digest(data)
    return int.from_bytes(digest, "big", signed=True)
