"""The world of stories in which the cleaner compacts: a compacted topic, written with and without
transactions."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.differential.broker_side import Side
from conformance.differential.generated_requests import clock_world
from conformance.differential.generated_requests.clock_world import (
    EARLIEST,
    PARTITIONS,
    TOPIC_RESOURCE,
    Clocks,
)
from conformance.differential.told_batches import only_ends_a_segment
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkalite.wire.record_batch import iterate_batches

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
        empty: no segments of partitions with ends of kafkalite's own, which take room."""
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
        logs = sorted(
            f"{log.parent.name}/{log.name}"
            for log in self._logs(side)
            if log.parent.name not in self.with_own_ends() and bytes_of(log)
        )
        return [*(f"{partition}: {first[partition]}" for partition in sorted(first)), *logs]

    def see(self) -> None:
        """Segments before the first record go a moment later, where records may be deleted."""
        self.pass_time(self.seen_of_cleaner)
        self.pair.compare("segments", *map(self.seen_of_cleaner, self.pair.sides))
        super().see()
        for offset in (0, 3):
            self.read(offset, 1 << 20, 1)

    def times(self) -> tuple[int, ...]:
        """None while there are own ends: Apache Kafka finds nothing in a segment that it has
        emptied, and does not look behind it."""
        return () if self.with_own_ends() else super().times()

    def read(self, offset: int, most_bytes: int, isolation_level: int) -> None:
        """Read as a consumer does, and compare record by record."""
        if not self.with_own_ends():
            body = self._fetch(dict.fromkeys(PARTITIONS, offset), most_bytes, isolation_level)
            self.pair.ask(ApiKey.FETCH, 12, body)

    def read_all(self, isolation_level: int) -> None:
        """Each segment is read by a Fetch of its own."""
        self.pair.compare(
            "all records", *(self._all_records(side, isolation_level) for side in self.pair.sides)
        )

    def _all_records(self, side: Side, isolation_level: int) -> dict[str, list[Any]]:
        """The batches of each partition, and the transactions that a consumer leaves out."""
        earliest = side.ask(ApiKey.LIST_OFFSETS, 7, self.ends(EARLIEST))
        offsets = {each.partition_index: each.offset for each in earliest.topics[0].partitions}
        kinds = ("batches", "aborted")
        found: dict[str, list[Any]] = {f"{kind} of {n}": [] for kind in kinds for n in offsets}
        while offsets:
            body = self._fetch(offsets, 1 << 20, isolation_level)
            answer = side.ask(ApiKey.FETCH, 12, body)
            for each in answer.responses[0].partitions:
                batches = list(iterate_batches(each.records or b""))
                if not batches:
                    del offsets[each.partition_index]
                    continue
                offsets[each.partition_index] = batches[-1].next_offset
                found[f"batches of {each.partition_index}"] += side.names.records(each.records)
                aborted = found[f"aborted of {each.partition_index}"]
                told = map(repr, side.names.plain(each.aborted_transactions or []))
                aborted[:] = sorted({*aborted, *told})
        return found

    def _fetch(
        self, offsets: Mapping[int, int], most_bytes: int, isolation_level: int
    ) -> FetchRequest:
        partitions = [
            FetchPartition(partition=n, fetch_offset=offset, partition_max_bytes=most_bytes)
            for n, offset in offsets.items()
        ]
        return FetchRequest(
            isolation_level=isolation_level,
            max_wait_ms=0,
            min_bytes=0,
            session_epoch=-1,
            topics=[FetchTopic(topic=self.topic, partitions=partitions)],
        )

    def with_own_ends(self) -> set[str]:
        """The partitions in which something only ends a segment, as kafkalite's cleaner leaves
        it."""
        return {
            log.parent.name
            for log in self._logs(self.pair.tested)
            if any(map(only_ends_a_segment, iterate_batches(bytes_of(log))))
        }

    def _logs(self, side: Side) -> Iterator[Path]:
        return Path(side.broker.data_dir).glob(f"{self.topic}-[0-9]/*.log")


def bytes_of(file: Path) -> bytes:
    """Empty once it is gone: brokers rename what they delete."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return b""
