"""The cleaner's map: the last offset of each key. Source: Kafka's SkimpyOffsetMap."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

from kafkalite.log.record_scan import ScannedRecord

# Longer keys are remembered by a digest, as Kafka remembers all keys (by MD5). A digest takes
# longer than everything else that is done for a key.
_LONGEST_KEY_KEPT: Final = 64


class OffsetMap:
    """The last offset of each key, for at most `max_keys` of them."""

    def __init__(self, max_keys: int, first_dirty_offset: int) -> None:
        self._max_keys = max_keys
        self._first_dirty_offset = first_dirty_offset
        self._offsets: dict[bytes, int] = {}
        # Records up to here are in the map, or older than all that are.
        self.latest_offset = first_dirty_offset - 1

    def put(self, records: Sequence[ScannedRecord], base_offset: int) -> bool:
        """Note the dirty records of a batch that have a key; False when there is no room for
        another one."""
        offsets, max_keys, first = self._offsets, self._max_keys, self._first_dirty_offset
        for offset_delta, _, key, _, _, _, _ in records:
            offset = base_offset + offset_delta
            if key is not None and offset >= first:
                if len(offsets) >= max_keys:
                    return False
                offsets[key if len(key) <= _LONGEST_KEY_KEPT else _digest(key)] = offset
        return True

    def get(self, key: bytes) -> int:
        """The key's last offset, -1 if it is not in the map."""
        return self._offsets.get(key if len(key) <= _LONGEST_KEY_KEPT else _digest(key), -1)

    def still_valid(
        self, records: Sequence[ScannedRecord], base_offset: int, *, keeps_tombstones: bool
    ) -> list[ScannedRecord]:
        """The records of a batch that are the last of their keys, as far as the map knows."""
        latest = self.latest_offset
        kept: list[ScannedRecord] = []
        for record in records:
            offset_delta, _, key, value, _, _, _ = record
            offset = base_offset + offset_delta
            if offset > latest or (
                key is not None and offset >= self.get(key) and (value >= 0 or keeps_tombstones)
            ):
                kept.append(record)
        return kept


def _digest(key: bytes) -> bytes:
    return hashlib.blake2b(key, digest_size=_LONGEST_KEY_KEPT).digest() + b"\0"
