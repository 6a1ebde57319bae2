"""The source topic: what is at each (partition, offset) follows from the seed alone."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkalite.spark.encode import encode_batches
from kafkalite.spark.pipelines.errors import PipelineError
from kafkalite.spark.pipelines.network import NetworkSink

SOURCE: Final = "proof-source"
COPY: Final = "proof-copy"
_FIRST_TIMESTAMP_MS: Final = 1_700_000_000_000
_PAUSE_SECONDS: Final = 0.02
_EMPTY: Final = pa.scalar("", pa.string())


def values(seed: int, partition: int, start: int, end: int) -> Any:
    """The values at the offsets [start, end) of a partition."""
    offsets = pa.array(np.arange(start, end)).cast(pa.string())
    return pc.binary_join_element_wise(pa.scalar(f"{seed}:{partition}:"), offsets, _EMPTY)


def batches(seed: int, partition: int, start: int, end: int) -> Iterator[tuple[bytes, int]]:
    """(record batch, number of records) for the offsets [start, end): batches of seeded sizes."""
    chance = random.Random(f"{seed}/{partition}/{start}")
    while start < end:
        stop = min(end, start + chance.randint(20, 400))
        (batch,) = encode_batches(
            pa.nulls(stop - start, pa.binary()),
            values(seed, partition, start, stop),
            _FIRST_TIMESTAMP_MS + np.arange(start, stop),
        )
        yield batch.data, batch.record_count
        start = stop


class Feeder:
    """Sends the source's records, all partitions in turn, and counts what was acknowledged."""

    def __init__(
        self, bootstrap: str, seed: int, partition_count: int, per_partition: int, seconds: float
    ) -> None:
        """Sends `per_partition` records to each partition, spread over about so many seconds."""
        self._thread = threading.Thread(target=self._run, name="feeder", daemon=True)
        self._bootstrap = bootstrap
        self._seed = seed
        self._count = partition_count
        self._per_partition = per_partition
        self._seconds = seconds
        self._stopping = threading.Event()
        self.acknowledged = [0] * partition_count
        # So many records at most, for now.
        self.limit = partition_count * per_partition
        self.failure: Exception | None = None

    @property
    def total(self) -> int:
        return sum(self.acknowledged)

    def start(self) -> None:
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def _run(self) -> None:
        try:
            with NetworkSink(self._bootstrap, SOURCE, self._count) as sink:
                self._feed(sink)
        except Exception as error:  # noqa: BLE001 - raised again by who waits for us
            self.failure = error

    def _feed(self, sink: NetworkSink) -> None:
        # Records of an earlier, interrupted run are there already.
        self.acknowledged = [sink.end_offset(i) for i in range(self._count)]
        streams = [
            batches(self._seed, i, self.acknowledged[i], self._per_partition)
            for i in range(self._count)
        ]
        began, first, wanted = time.monotonic(), self.total, self._count * self._per_partition
        living = list(range(self._count))
        while living and not self._stopping.is_set():
            for partition in list(living):
                following = next(streams[partition], None)
                if following is None:
                    living.remove(partition)
                    continue
                batch, count = following
                offset = sink.append(partition, bytearray(batch), count)
                if offset != self.acknowledged[partition]:
                    raise PipelineError(
                        f"{SOURCE}-{partition}: sent for offset {self.acknowledged[partition]}, "
                        f"and acknowledged at {offset}"
                    )
                self.acknowledged[partition] += count
            due = began + self._seconds * (self.total - first) / max(1, wanted)
            self._stopping.wait(max(0.0, due - time.monotonic()))
            while self.limit <= self.total < wanted and not self._stopping.wait(_PAUSE_SECONDS):
                pass

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()
