"""The world around a coordinator, in memory: its log, the topics, a client, a share coordinator."""

import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from kafkalite.group_coordinator import state_log
from kafkalite.group_coordinator.changes import Change, ChangedGroup
from kafkalite.group_coordinator.state_log import (
    ReplayedMarker,
    ReplayedRecord,
    StateRecord,
    StateRecords,
)
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_format import WrittenPairs, read_record


@dataclass
class MemoryLog:
    """`__consumer_offsets` in a list; `failure` is raised by the next appends."""

    partition_count: int = 4
    entries: dict[int, list[ReplayedRecord | ReplayedMarker]] = field(default_factory=dict)
    leaders: dict[int, int] = field(default_factory=dict)
    failure: ErrorCode | None = None
    batches: list[list[StateRecord]] = field(default_factory=list)

    def leader_id(self, partition: int) -> int | None:
        return self.leaders.get(partition, 1)

    def end_offset(self, partition: int) -> int:
        return len(self.entries.get(partition, ()))

    def append(
        self,
        partition: int,
        records: StateRecords,
        *,
        producer_id: int = -1,
        producer_epoch: int = -1,
    ) -> int:
        if self.failure is not None:
            raise KafkaError(self.failure)
        entries = self.entries.setdefault(partition, [])
        base_offset = len(entries)
        pairs = pairs_in(records) if isinstance(records, WrittenPairs) else list(records)
        for offset, (key, value) in enumerate(pairs, base_offset):
            entries.append(ReplayedRecord(offset, key, value, producer_id))
        self.batches.append(pairs)
        return base_offset

    def end_transaction(self, partition: int, producer_id: int, committed: bool) -> None:
        self.entries.setdefault(partition, []).append(ReplayedMarker(producer_id, committed))

    def replay(self, partition: int) -> Iterable[ReplayedRecord | ReplayedMarker]:
        return list(self.entries.get(partition, []))

    def take_offline(self, partition: int, reason: Exception) -> None:
        raise AssertionError(f"{partition}: {reason}")


def pairs_in(written: WrittenPairs) -> list[StateRecord]:
    """The keys and values, read back."""
    data, position = written.data(), 0
    pairs: list[StateRecord] = []
    while position < len(data):
        _, _, key, value, _, position = read_record(data, position)
        assert key is not None
        pairs.append((key, value))
    return pairs


@dataclass
class MemoryTopics:
    """Topics by name, with their numbers of partitions."""

    counts: dict[str, int] = field(default_factory=lambda: {"orders": 4, "payments": 2})
    ids: dict[str, uuid.UUID] = field(default_factory=dict)
    racks: dict[str, list[list[str]]] = field(default_factory=dict)

    def partition_count(self, topic: str) -> int:
        return self.counts.get(topic, 0)

    def partition_racks(self, topic: str) -> Sequence[Sequence[str]]:
        return self.racks.get(topic, ())

    def topic_id(self, topic: str) -> uuid.UUID | None:
        if topic not in self.counts:
            return None
        return self.ids.setdefault(topic, uuid.uuid4())

    def topic_name(self, topic_id: uuid.UUID) -> str | None:
        return next((name for name in self.counts if self.topic_id(name) == topic_id), None)

    def names(self) -> Iterable[str]:
        return self.counts


@dataclass
class Context:
    api_version: int = 9
    client_id: str = "client"
    client_host: str = "127.0.0.1"
    node_id: int = 1
    may_describe: Callable[[str], bool] | None = None


@dataclass
class ShareStates:
    """A share coordinator that keeps (state epoch, start offset); `failure` is raised if it is
    set."""

    kept: dict[tuple[str, uuid.UUID, int], tuple[int, int]] = field(default_factory=dict)
    failure: ErrorCode | None = None

    def initialize_state(
        self,
        group_id: str,
        topic_id: uuid.UUID,
        partition: int,
        state_epoch: int,
        start_offset: int,
    ) -> None:
        if self.failure is not None:
            raise KafkaError(self.failure)
        self.kept[group_id, topic_id, partition] = state_epoch, start_offset

    def delete_state(self, group_id: str, topic_id: uuid.UUID, partition: int) -> None:
        if self.failure is not None:
            raise KafkaError(self.failure)
        self.kept.pop((group_id, topic_id, partition), None)

    def describe_state(
        self, group_id: str, topic_id: uuid.UUID, partition: int
    ) -> tuple[int, int, int]:
        _, start_offset = self.kept.get((group_id, topic_id, partition), (0, -1))
        return start_offset, -1 if start_offset < 0 else 0, 0

    def latest_offset(self, topic_id: uuid.UUID, partition: int) -> int:
        return 100


def through_the_log(group: ChangedGroup, *changes: Change, now_ms: int = 0) -> None:
    """Apply changes as they are read back: encoded, decoded."""
    for offset, change in enumerate(changes):
        key, value = state_log.encoded(*change)
        group.apply(*state_log.decoded(ReplayedRecord(offset, key, value)), now_ms)
