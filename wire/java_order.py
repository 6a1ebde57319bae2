"""The order of Java's hash tables, where a client sees it."""

from __future__ import annotations

from collections.abc import Iterable


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
    capacity = 1 << (room_for - 1).bit_length()
    while len(different) * 4 > capacity * 3:
        capacity *= 2

    def bucket(key: str) -> int:
        code = java_hash_code(key)
        return (code ^ code >> 16) & (capacity - 1)

    return sorted(different, key=bucket)
