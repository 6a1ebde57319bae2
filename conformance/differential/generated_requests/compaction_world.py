"""The world of stories in which the cleaner compacts: a compacted topic, written with and without
transactions."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from conformance.differential.broker_side import Side
from conformance.differential.generated_requests import clock_world
from conformance.differential.generated_requests.clock_world import (
    EARLIEST,
    PARTITIONS,
    TOPIC_RESOURCE,
    Clocks,
)
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic

PROPERTIES = clock_world.PROPERTIES | {
    "log.cleaner.enable": "true",
    "log.cleaner.backoff.ms": "50",
    "log.cleaner.dedupe.buffer.size": "4194304",
}
NEVER = str(2**63 - 1)
MIN_LAG = "min.compaction.lag.ms"
# Nothing is cleaned until a story says so.
CONFIGS = {
    "cleanup.policy": "compact",
    "internal.segment.bytes": "300",
    "min.cleanable.dirty.ratio": "0",
    MIN_LAG: NEVER,
    "delete.retention.ms": "0",
    "retention.ms": "-1",
}
CHECKPOINT = "cleaner-offset-checkpoint"


@dataclass
class Compacted(Clocks):
    """A compacted topic, and two transactional ids that write to it."""

    def create(self) -> None:
        self.pair.create_topic(self.topic, len(PARTITIONS), **CONFIGS)

    def clean(self, min_lag_ms: str) -> None:
        """Have the cleaner clean what it may, once."""
        self.configure(TOPIC_RESOURCE, MIN_LAG, min_lag_ms, self.topic)
        self.pass_time(self.seen_of_cleaner)
        self.configure(TOPIC_RESOURCE, MIN_LAG, NEVER, self.topic)

    def seen_of_cleaner(self, side: Side) -> list[str]:
        """The first offset of each partition that it has not cleaned, and the segments that are not
        empty."""
        directory = Path(side.broker.data_dir)
        answer = side.ask(ApiKey.LIST_OFFSETS, 7, self.ends(EARLIEST))
        first = {each.partition_index: each.offset for each in answer.topics[0].partitions}
        with contextlib.suppress(FileNotFoundError):
            for line in (directory / CHECKPOINT).read_text().splitlines():
                topic, *numbers = line.split()
                if topic == self.topic:
                    partition, offset = map(int, numbers)
                    # what is deleted need not be cleaned
                    first[partition] = max(first[partition], offset)
        found = directory.glob(f"{self.topic}-[0-9]/*.log")
        logs = sorted(f"{log.parent.name}/{log.name}" for log in found if size_of(log))
        return [*(f"{partition}: {first[partition]}" for partition in sorted(first)), *logs]

    def see(self) -> None:
        """Segments before the first record go a moment later, where records may be deleted."""
        self.pass_time(self.seen_of_cleaner)
        self.pair.compare("segments", *map(self.seen_of_cleaner, self.pair.sides))
        super().see()
        for offset in (0, 3):
            self.read(offset, 1 << 20, 1)

    def read(self, offset: int, most_bytes: int, isolation_level: int) -> None:
        """Read as a consumer does, and compare record by record."""
        partitions = [
            FetchPartition(partition=n, fetch_offset=offset, partition_max_bytes=most_bytes)
            for n in PARTITIONS
        ]
        request = FetchRequest(
            isolation_level=isolation_level,
            max_wait_ms=0,
            min_bytes=0,
            session_epoch=-1,
            topics=[FetchTopic(topic=self.topic, partitions=partitions)],
        )
        self.pair.ask(ApiKey.FETCH, 12, request)


def size_of(file: Path) -> int:
    """0 once it is gone: brokers rename what they delete."""
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0
