"""Delivery: pieces into a sink, in order; what an interrupted run has delivered is passed over.

What is in the topic behind where the first run began must be the beginning of what is delivered
now, record by record. Nothing is taken on trust: the records are read back and their hashes
compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kafkalite.spark import digest
from kafkalite.spark.pipelines.errors import PipelineError
from kafkalite.spark.pipelines.pieces import Piece
from kafkalite.spark.pipelines.sinks import Sink
from kafkalite.spark.pipelines.stored import Reader, existing_hashes
from kafkalite.spark.pipelines.summary import PartitionSummary


class Delivery:
    """Numbers records from where the topic ended at first, and adds up what is in it then."""

    def __init__(
        self, sink: Sink, topic: str, first_offsets: Sequence[int], reader: Reader
    ) -> None:
        """`first_offsets`: where each partition ended before the first run."""
        self._sink = sink
        self._topic = topic
        self._first = list(first_offsets)
        self._next = list(first_offsets)
        self._digests = [0] * len(self._first)
        self._rows = [0] * len(self._first)
        self._there = [sink.end_offset(i) for i in range(len(self._first))]
        self._existing: Callable[[int, int], Any] | None = None
        if self._there != self._first:
            self._existing = existing_hashes(reader, topic, self._first, self._there)

    @property
    def resumes(self) -> bool:
        return self._existing is not None

    def deliver(self, piece: Piece) -> None:
        """Append a piece's batches that are not there yet. Raises PipelineError."""
        self.begin(piece)
        for batch in piece.batches():
            self.append(piece.partition, bytearray(batch.buffer), batch.record_count)
        self.end(piece)

    def begin(self, piece: Piece) -> None:
        """Before a piece's first batch: what is there of it must be equal. Raises PipelineError."""
        first = self._next[piece.partition]
        there = max(0, min(self._there[piece.partition] - first, piece.rows))
        if there and self._existing is not None:
            existing = self._existing(piece.partition, there)
            if not np.array_equal(existing, piece.hashes()[:there]):
                raise self._others(piece.partition)

    def end(self, piece: Piece) -> None:
        """After a piece's last batch."""
        partition, end = piece.partition, self._next[piece.partition]
        hashes = digest.add_offsets(piece.hashes(), np.arange(end - piece.rows, end))
        self._digests[partition] = digest.add(self._digests[partition], digest.total(hashes))
        self._rows[partition] += piece.rows

    def is_there(self, partition: int, record_count: int) -> bool:
        """True if the next records of a partition were delivered by an earlier run."""
        return self._next[partition] + record_count <= self._there[partition]

    def append(self, partition: int, batch: bytearray, record_count: int) -> None:
        """Append one batch, unless it is there. Raises PipelineError."""
        first = self._next[partition]
        end = first + record_count
        if end > self._there[partition]:
            if first < self._there[partition]:
                raise self._others(partition)
            if self._sink.append(partition, batch, record_count) != first:
                raise self._others(partition)
        self._next[partition] = end

    def finish(self) -> None:
        """All was delivered: there must not be more than that. Raises PipelineError."""
        for partition, end in enumerate(self._next):
            if self._sink.end_offset(partition) != end:
                raise self._others(partition)

    def _others(self, partition: int) -> PipelineError:
        return PipelineError(
            f"{self._topic}-{partition} has other records than this run writes: somebody else's, "
            "or those of other input"
        )

    def summaries(self) -> list[PartitionSummary]:
        return [
            PartitionSummary.of(
                self._topic, i, rows, self._first[i], self._first[i] + rows, self._digests[i]
            )
            for i, rows in enumerate(self._rows)
        ]
