"""The world of stories in which time passes: a topic, and two transactional ids."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from conformance.differential.broker_side import Side
from conformance.differential.comparison import Pair
from conformance.differential.generated_requests.telling import tell_steps
from conformance.differential.transactional import TIMESTAMP, Transactions
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kafkalite.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafkalite.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

IDS = (0, 1)
PARTITIONS = (0, 1)
# Either side looks so often for what is over.
TICK_MS = 100
PROPERTIES = {
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": str(TICK_MS),
    "producer.id.expiration.check.interval.ms": str(TICK_MS),
    "log.retention.check.interval.ms": str(TICK_MS),
    "log.initial.task.delay.ms": "0",
}
# Several ticks, also on a busy machine.
TICKS_SECONDS = 0.5
SECONDS = 10.0
TOPIC_RESOURCE, BROKER_RESOURCE = 2, 4
SET, DELETE = 0, 1
HOUR_MS = 3_600_000
EARLIEST, LATEST, LARGEST, EARLIEST_LOCAL = -2, -1, -3, -4


@dataclass
class Clocks:
    """A topic, and two transactional ids that write to it."""

    pair: Pair
    topic: str

    def open(self) -> None:
        self.open_topic()
        self.producers = {
            number: Transactions(self.pair, self.topic, f"{self.topic}-x{number}") for number in IDS
        }
        for each in self.producers.values():
            each.init()

    def open_topic(self) -> None:
        for side in self.pair.sides:
            side.forget()
            side.names.own_times_after_ms = TIMESTAMP  # those of markers
        self.create()

    def create(self) -> None:
        configs = {"internal_segment_bytes": "300", "retention_ms": "-1"}
        self.pair.create_topic(self.topic, len(PARTITIONS), **configs)

    def tell(self, story: Iterable[Step]) -> None:
        """Raises Difference, with what was told so far."""
        tell_steps([*story, See()], lambda step: step.tell(self))
        for side in self.pair.sides:
            side.close()

    def configure(self, kind: int, name: str, value: str | None, resource: str) -> None:
        operation = DELETE if value is None else SET
        config = AlterableConfig(name=name, config_operation=operation, value=value)
        request = IncrementalAlterConfigsRequest(
            resources=[
                AlterConfigsResource(resource_type=kind, resource_name=resource, configs=[config])
            ]
        )
        self.pair.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, request)
        self.pair.settle()

    def pass_time(self, seen: Callable[[Side], Any]) -> None:
        """Wait until both sides have looked, and see the same; or for long."""
        deadline = time.monotonic() + SECONDS
        time.sleep(TICKS_SECONDS)
        while seen(self.pair.reference) != seen(self.pair.tested) and time.monotonic() < deadline:
            time.sleep(TICK_MS / 1000)

    def ends(self, timestamp: int, isolation_level: int = 0) -> ListOffsetsRequest:
        asked = [ListOffsetsPartition(partition_index=n, timestamp=timestamp) for n in PARTITIONS]
        return ListOffsetsRequest(
            replica_id=-1,
            isolation_level=isolation_level,
            topics=[ListOffsetsTopic(name=self.topic, partitions=asked)],
        )

    def starts(self, side: Side) -> list[int]:
        answer = side.ask(ApiKey.LIST_OFFSETS, 7, self.ends(EARLIEST))
        return sorted(each.offset for each in answer.topics[0].partitions)

    def see(self) -> None:
        """All that can be seen of the topic and its producers."""
        for each in self.producers.values():
            each.state()
            each.offsets(require_stable=False)
            each.offsets(require_stable=True)
        self.producers[0].producers()
        for isolation_level in (0, 1):
            self.read_all(isolation_level)
        for timestamp in (EARLIEST, LARGEST, EARLIEST_LOCAL, *self.times()):
            self.pair.ask(ApiKey.LIST_OFFSETS, 9, self.ends(timestamp))
        for isolation_level in (0, 1):
            self.pair.ask(ApiKey.LIST_OFFSETS, 9, self.ends(LATEST, isolation_level))
        asked = [
            OffsetForLeaderPartition(partition=n, current_leader_epoch=-1, leader_epoch=0)
            for n in PARTITIONS
        ]
        topics = [OffsetForLeaderTopic(topic=self.topic, partitions=asked)]
        request = OffsetForLeaderEpochRequest(replica_id=-1, topics=topics)
        self.pair.ask(ApiKey.OFFSET_FOR_LEADER_EPOCH, 4, request)

    def times(self) -> tuple[int, ...]:
        """The times that are looked up."""
        return TIMESTAMP - HOUR_MS, TIMESTAMP

    def read_all(self, isolation_level: int) -> None:
        self.producers[0].fetch_within(1 << 20, 1 << 20, isolation_level=isolation_level)


class Step:
    """A step of a story; its repr is how the story is written down."""

    def tell(self, clocks: Clocks) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class See(Step):
    def tell(self, clocks: Clocks) -> None:
        clocks.see()
