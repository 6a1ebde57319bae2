"""The cleaner's map: the last offset of each key. Source: Kafka's SkimpyOffsetMap."""

from __future__ import annotations

import hashlib

# Longer keys are remembered by a digest, as Kafka remembers all keys (by MD5).
_LONGEST_KEY_KEPT = 32


class OffsetMap:
    """The last offset of each key, for at most `max_keys` of them."""

    def __init__(self, max_keys: int, first_dirty_offset: int) -> None:
        self._max_keys = max_keys
        self._offsets: dict[bytes, int] = {}
        # Records up to here are in the map, or older than all that are.
        self.latest_offset = first_dirty_offset - 1

    def put(self, key: bytes, offset: int) -> bool:
        """Note a key's offset; False when there is no room for another."""
        if len(self._offsets) >= self._max_keys:
            return False
        self._offsets[_digest(key)] = offset
        return True

    def get(self, key: bytes) -> int:
        """The key's last offset, -1 if it is not in the map."""
        return self._offsets.get(_digest(key), -1)


def _digest(key: bytes) -> bytes:
    if len(key) <= _LONGEST_KEY_KEPT:
        return key
    return hashlib.blake2b(key, digest_size=_LONGEST_KEY_KEPT + 1).digest()
