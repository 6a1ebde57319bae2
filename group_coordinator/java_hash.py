"""The partition of an internal topic whose leader coordinates a key: a group, a transactional id or
a share partition. Every Kafka computes the same one."""

from functools import lru_cache
from typing import Final

from kafkalite.wire.java_order import java_hash_code

# Hashes of longer texts are not kept: 65,536 of those, of 32 KB each, would take 2 GB.
_LONG: Final = 256


def java_hash(text: str) -> int:
    """The absolute value of Java's String.hashCode; 0 for the smallest int, which has none (Kafka's
    Utils.abs). It takes two milliseconds for a text of 32 KB."""
    return _computed(text) if len(text) > _LONG else _kept(text)


def _computed(text: str) -> int:
    result = java_hash_code(text)
    return 0 if result == 1 << 31 else min(result, (1 << 32) - result)


@lru_cache(maxsize=65_536)
def _kept(text: str) -> int:
    return _computed(text)


def partition_of_key(key: str, partition_count: int) -> int:
    """Source: Kafka's GroupMetadataManager.partitionFor, and its like for other coordinators."""
    return java_hash(key) % partition_count
