"""The time index: the offset from which on to look for a timestamp.

An entry is `timestamp: int64, relative offset: int32`: the largest timestamp so far, and the last
offset of the batch that has it. Timestamps ascend. An entry is added with each of the offset index,
if the largest timestamp grew, and when the segment rolls or closes. So the last entry has the
segment's largest timestamp. Source: Kafka's TimeIndex; KIP-33.
"""

from __future__ import annotations

import struct

from kafkalite.log.index_file import IndexFile


class TimeIndex(IndexFile):
    """Largest timestamps so far, in milliseconds, and the (absolute) offsets of their batches."""

    layout = struct.Struct(">qi")
    offset_field = 1

    def last(self) -> tuple[int, int]:
        """(timestamp, offset) of the last entry; (-1, base offset) if there is none."""
        if not self.count:
            return -1, self.base_offset
        timestamp, relative = self.entry(-1)
        return timestamp, self.base_offset + relative

    def maybe_append(self, timestamp: int, offset: int) -> None:
        """Add an entry if `timestamp` is larger than the last one's."""
        self.load()
        if timestamp > self.last()[0]:
            self.append_entry(timestamp, offset - self.base_offset)

    def lookup(self, timestamp: int) -> tuple[int, int]:
        """(timestamp, offset) of the last entry that is not later; (-1, base offset) if all are."""
        found = self.search(timestamp)
        if found is None:
            return -1, self.base_offset
        return found[0], self.base_offset + found[1]
