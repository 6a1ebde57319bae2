"""The transaction index: a segment's aborted transactions, for READ_COMMITTED consumers.

An entry is written with the abort marker: `version: int16 (0), producer id: int64, first offset:
int64, last offset: int64 (the marker's), last stable offset: int64`. The file exists only where
something was aborted. Source: Kafka's TransactionIndex, AbortedTxn; KIP-98.
"""

from __future__ import annotations

import struct
from contextlib import suppress
from typing import Any, Final, NamedTuple

from kafkalite.log.index_file import IndexFile

# The field by which entries are in order.
_LAST_OFFSET: Final = 3


Entry = tuple[Any, ...]
"""The version (0), and the four numbers of an AbortedTransaction."""


class AbortedTransaction(NamedTuple):
    """An aborted transaction. Its offsets are inclusive.

    `last_stable_offset` is the log's, after the abort.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TransactionIndex(IndexFile):
    """Aborted transactions in the order of their markers."""

    layout = struct.Struct(">hqqqq")

    def append(self, aborted: AbortedTransaction) -> None:
        self.append_entry(0, *aborted)

    def note(self, aborted: AbortedTransaction) -> None:
        """Append, and write at once. If the write fails, the next write or recovery repeats it: the
        marker is in the log.
        """
        self.append(aborted)
        with suppress(OSError):
            self.write()

    def all(self) -> list[AbortedTransaction]:
        if not self.count:
            return []
        self.load()
        return [AbortedTransaction(*self.entry(i)[1:]) for i in range(self.count)]

    def overlapping(self, fetch_offset: int, upper_bound: int) -> tuple[list[Entry], bool]:
        """The entries of the transactions that touch [fetch_offset, upper_bound).

        The second value is True if no later segment can have more.
        """
        found: list[Entry] = []
        if not self.count:
            return found, False
        self.load()
        begin = self.count_up_to(fetch_offset - 1, _LAST_OFFSET) * self.layout.size
        view = memoryview(self._entries or b"")[begin:]
        for entry in self.layout.iter_unpack(view):
            if entry[2] < upper_bound:
                found.append(entry)
            if entry[4] >= upper_bound:
                return found, True
        return found, False

    def truncate_to(self, offset: int) -> None:
        """Drop the transactions that end at or after `offset`."""
        self.keep(sum(aborted.last_offset < offset for aborted in self.all()))

    def is_sound(self) -> bool:
        """True if all entries are possible: offsets in order, no marker before the segment."""
        try:
            size = self._files.size(self.path)
        except FileNotFoundError:
            return True
        return size % self.layout.size == 0 and all(
            self.base_offset <= aborted.last_offset and aborted.first_offset <= aborted.last_offset
            for aborted in self.all()
        )

    def write(self, *, sync: bool = False) -> None:
        """Write the new entries; without any entry there is no file. Raises OSError."""
        if self.count:
            super().write(sync=sync)
        elif self._must_truncate:
            self._files.unlink(self.path)
            self._must_truncate = False
