"""The two ways to a topic's records: its broker, and its segment files."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

import pyarrow as pa

from kafkalite.spark import replicas
from kafkalite.spark.client import Client, TopicPartition
from kafkalite.spark.data_directory import Bounds, Isolation
from kafkalite.spark.errors import UnknownTopic
from kafkalite.spark.network_reader import fetch_partition
from kafkalite.spark.options import ReadOptions
from kafkalite.spark.replicas import Places, find_replicas
from kafkalite.spark.segment_reader import offset_for_timestamp, read_partition
from kafkalite.wire.api_keys import EARLIEST, LATEST

_INTERNAL = ("__consumer_offsets", "__transaction_state", "__share_group_state")
NONE_KNOWN: Mapping[TopicPartition, int] = MappingProxyType({})


class Access(Protocol):
    """The questions of a reader. Errors are those of `kafkalite.spark.errors`."""

    def partitions(self, topics: Iterable[str] | None) -> list[TopicPartition]:
        """The partitions of these topics, or of all that are not internal."""
        ...

    def bounds(
        self,
        partitions: Iterable[TopicPartition],
        isolation: Isolation,
        known_ends: Mapping[TopicPartition, int] = NONE_KNOWN,
    ) -> dict[TopicPartition, Bounds]:
        """The bounds of what may be read. Partitions that are not there are left out.

        What lies before `known_ends` was committed: if it is there, it may be read.
        """
        ...

    def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, int]:
        """The first record not earlier than so many ms; -1 if there is none."""
        ...

    def read(
        self, partition: TopicPartition, start: int, end: int, options: ReadOptions
    ) -> Iterator[pa.RecordBatch]: ...

    def close(self) -> None: ...


# Spark's Python workers run one task after the other: the next goes on with the last one's
# connections. By process, too: a fork must not talk over its parent's.
_idle_clients: dict[tuple[int, str], Client] = {}


@atexit.register
def _close_idle_clients() -> None:
    for client in _idle_clients.values():
        client.close()


class NetworkAccess:
    """By a broker's requests."""

    def __init__(self, bootstrap: str) -> None:
        self._kept_as = (os.getpid(), bootstrap)
        idle = self._kept_as in _idle_clients
        self._client = _idle_clients.pop(self._kept_as) if idle else Client(bootstrap)

    def partitions(self, topics: Iterable[str] | None) -> list[TopicPartition]:
        found = self._client.partitions(topics)
        return sorted((topic, each) for topic, numbers in found.items() for each in numbers)

    def bounds(
        self,
        partitions: Iterable[TopicPartition],
        isolation: Isolation,
        known_ends: Mapping[TopicPartition, int] = NONE_KNOWN,
    ) -> dict[TopicPartition, Bounds]:
        wanted = list(partitions)
        while wanted:
            there = set(self._there(wanted))
            asked = [each for each in wanted if each in there]
            try:
                # the end first: were the start asked first, retention could pass it in between
                ends = self._client.list_offsets(dict.fromkeys(asked, LATEST), isolation)
                starts = self._client.list_offsets(dict.fromkeys(asked, EARLIEST))
            except UnknownTopic:
                continue  # it was deleted just now, and is not among those that are there next
            return {
                each: Bounds(starts[each].offset, max(starts[each].offset, ends[each].offset))
                for each in asked
            }
        return {}

    def _there(self, wanted: list[TopicPartition]) -> list[TopicPartition]:
        topics = sorted({topic for topic, _ in wanted})
        try:
            return self.partitions(topics)
        except UnknownTopic:
            everything = set(self.partitions(None))
            return [each for each in wanted if each in everything]

    def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, int]:
        found = self._client.list_offsets(timestamps)
        return {each: at.offset for each, at in found.items()}

    def read(
        self, partition: TopicPartition, start: int, end: int, options: ReadOptions
    ) -> Iterator[pa.RecordBatch]:
        return fetch_partition(
            self._client,
            partition,
            start,
            end,
            isolation=options.isolation,
            include_headers=options.include_headers,
            fetch_bytes=options.fetch_bytes,
        )

    def close(self) -> None:
        """Keep the client for the next reader in this process. Of two, one is kept."""
        self._client.rest()
        kept = _idle_clients.setdefault(self._kept_as, self._client)
        if kept is not self._client:
            self._client.close()


class DirectoryAccess:
    """By files: one data directory, or several of a broker (`log.dirs`) or of a cluster."""

    def __init__(self, paths: tuple[Path, ...]) -> None:
        self._paths = paths
        self._places: Places = {}

    def _look(self) -> Places:
        self._places = find_replicas(self._paths)
        return self._places

    def _place(self, partition: TopicPartition) -> Path:
        if partition not in self._places:  # a task looks for its own one, among thousands perhaps
            self._places |= find_replicas(self._paths, partition)
        if partition not in self._places:
            where = ", ".join(map(str, self._paths))
            raise UnknownTopic(f"{where} has no partition {partition[1]} of topic {partition[0]!r}")
        return self._places[partition][0]

    def partitions(self, topics: Iterable[str] | None) -> list[TopicPartition]:
        found = self._look()
        if topics is None:
            return sorted(each for each in found if each[0] not in _INTERNAL)
        wanted = set(topics)
        for topic in sorted(wanted - {each[0] for each in found}):
            where = ", ".join(map(str, self._paths))
            raise UnknownTopic(f"there is no topic {topic!r} in {where}")
        return sorted(each for each in found if each[0] in wanted)

    def bounds(
        self,
        partitions: Iterable[TopicPartition],
        isolation: Isolation,
        known_ends: Mapping[TopicPartition, int] = NONE_KNOWN,
    ) -> dict[TopicPartition, Bounds]:
        there = self._look()
        found: dict[TopicPartition, Bounds] = {}
        for each in partitions:
            if each in there:
                with suppress(UnknownTopic):  # it was deleted just now
                    known = known_ends.get(each, 0)
                    found[each] = replicas.bounds(there[each], *each, isolation, known_end=known)
        return found

    def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, int]:
        return {
            each: offset_for_timestamp(self._place(each), *each, timestamp)
            for each, timestamp in timestamps.items()
        }

    def read(
        self, partition: TopicPartition, start: int, end: int, options: ReadOptions
    ) -> Iterator[pa.RecordBatch]:
        return read_partition(
            self._place(partition),
            *partition,
            start,
            end,
            isolation=options.isolation,
            include_headers=options.include_headers,
        )

    def close(self) -> None:
        pass


class DirectoryOfBroker(DirectoryAccess):
    """The records by files, the offsets from the running broker: nothing waits for a checkpoint."""

    def __init__(self, paths: tuple[Path, ...], bootstrap: str) -> None:
        super().__init__(paths)
        self._broker = NetworkAccess(bootstrap)

    def partitions(self, topics: Iterable[str] | None) -> list[TopicPartition]:
        return self._broker.partitions(topics)

    def bounds(
        self,
        partitions: Iterable[TopicPartition],
        isolation: Isolation,
        known_ends: Mapping[TopicPartition, int] = NONE_KNOWN,
    ) -> dict[TopicPartition, Bounds]:
        return self._broker.bounds(partitions, isolation)

    def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, int]:
        return self._broker.offsets_for_times(timestamps)

    def close(self) -> None:
        self._broker.close()


def access(options: ReadOptions) -> Access:
    """The way the options ask for."""
    if not options.paths:
        assert options.bootstrap is not None
        return NetworkAccess(options.bootstrap)
    if options.bootstrap is not None:
        return DirectoryOfBroker(options.paths, options.bootstrap)
    return DirectoryAccess(options.paths)
