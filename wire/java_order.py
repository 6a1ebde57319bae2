"""The order of Java's hash tables, where a client sees it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

_FIBONACCI: Final = -7046029254386353131


def java_hash_code(text: str) -> int:
    """Java's String.hashCode, as 32 bits without a sign."""
    code_units = text.encode("utf-16-be", "surrogatepass")
    result = 0
    for high, low in zip(code_units[::2], code_units[1::2], strict=True):
        result = (31 * result + (high << 8 | low)) & 0xFFFFFFFF
    return result


def in_map_order(keys: Iterable[str], room_for: int = 16) -> list[str]:
    """Different keys in the order in which a java.util.HashMap or HashSet is gone through.

    `room_for` is the capacity that it was made with. Keys of one bucket keep their order.
    """
    different = list(dict.fromkeys(keys))
    return sorted(different, key=lambda key: map_bucket(key, len(different), room_for))


def map_bucket(key: str, count: int, room_for: int = 16) -> int:
    """The place of a key's bucket in a java.util.HashMap or HashSet of `count` keys."""
    capacity = 1 << (room_for - 1).bit_length()
    while count * 4 > capacity * 3:
        capacity *= 2
    code = java_hash_code(key)
    return (code ^ code >> 16) & (capacity - 1)


def in_timeline_order(keys: Collection[str]) -> list[str]:
    """Different keys, in the order in which they came, in that of a TimelineHashMap of Kafka's.

    It is exact for a table that never had more of them. Of one bucket the last comes first.
    """
    bits = 1
    while len(keys) * 3 > 4 << bits:
        bits += 1

    def bucket(key: str) -> int:
        code = java_hash_code(key)
        signed = code - (code >> 31 << 32)
        return (signed * _FIBONACCI & 0xFFFFFFFFFFFFFFFF) >> (64 - bits)

    found = [*keys]
    found.reverse()
    found.sort(key=bucket)
    return found


def in_set_order(numbers: Collection[int]) -> list[int]:
    """Indexes in the order in which a java.util.HashSet that was made of them is gone through.

    Those of one bucket come in ascending order.
    """
    capacity = 1 << (max(int(len(numbers) / 0.75) + 1, 16) - 1).bit_length()
    return sorted(numbers, key=lambda number: (number & (capacity - 1), number))
