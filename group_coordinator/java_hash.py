"""Java's hashes of texts, where a client sees what follows from them.

The partition of an internal topic whose leader coordinates a key (a group, a transactional id or a
share partition): every Kafka computes the same one. And the order of a java.util.HashMap.
"""

from functools import lru_cache


def java_hash_code(text: str) -> int:
    """Java's String.hashCode, as 32 bits without a sign."""
    code_units = text.encode("utf-16-be", "surrogatepass")
    result = 0
    for high, low in zip(code_units[::2], code_units[1::2], strict=True):
        result = (31 * result + (high << 8 | low)) & 0xFFFFFFFF
    return result


@lru_cache(maxsize=65_536)
def java_hash(text: str) -> int:
    """The absolute value of Java's String.hashCode; 0 for the smallest int, which has none (Kafka's
    Utils.abs)."""
    result = java_hash_code(text)
    return 0 if result == 1 << 31 else min(result, (1 << 32) - result)


def java_map_position(key: str, key_count: int, room_for: int = 16) -> int:
    """The place of a text among `key_count` keys when a java.util.HashMap is gone through.

    `room_for` is what the map was made for. Keys with the same place come in the order they were
    put in.
    """
    capacity = 1 << (room_for - 1).bit_length()
    while key_count * 4 > capacity * 3:
        capacity *= 2
    code = java_hash_code(key)
    return (code ^ code >> 16) & (capacity - 1)


def partition_of_key(key: str, partition_count: int) -> int:
    """Source: Kafka's GroupMetadataManager.partitionFor, and its like for other coordinators."""
    return java_hash(key) % partition_count
