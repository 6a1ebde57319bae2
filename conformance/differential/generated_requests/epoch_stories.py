"""Stories about leader epochs on three nodes: partitions whose leaders and replicas change, and
consumers who say which epoch they believe in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from hypothesis import strategies as st

from conformance.differential.broker_side import Side, at
from conformance.differential.cluster.test_leaders import PREFERRED, UNCLEAN, elect, reassign
from conformance.differential.cluster.topics import (
    NODES,
    create,
    described,
    fetching,
    named,
    producing,
)
from conformance.differential.comparison import Pair
from conformance.differential.generated_requests.telling import tell_steps
from conformance.differential.generated_requests.vocabulary import of
from conformance.differential.test_metadata import about
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafkalite.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
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

PARTITIONS = (0, 1)
PLACES = [[1, 2, 3], [2, 3, 1]]
LATEST = -1
ORDERS: tuple[tuple[int, ...], ...] = (
    *((1, 2, 3), (2, 3, 1), (3, 1, 2), (3, 2, 1), (2, 1, 3)),
    *((1, 2), (2, 3), (3, 1), (1,), (2,), (3,)),
)


@dataclass
class Epochs:
    """A topic with two partitions, and where their leaders and replicas are."""

    pair: Pair
    topic: str
    leaders: dict[int, tuple[int, int]] = field(default_factory=dict)
    replicas: dict[int, list[int]] = field(default_factory=dict)
    """By partition the leader and its epoch, and the nodes."""

    def open(self) -> None:
        for side in self.pair.sides:
            side.forget()
        create(self.pair, self.topic, PLACES)
        self.look()

    def tell(self, story: Iterable[Step]) -> None:
        """Raises Difference, with what was told so far."""
        tell_steps(story, lambda step: step.tell(self))
        for side in self.pair.sides:
            side.close()

    def look(self) -> None:
        """Take in who leads now; every new leader knows how far all replicas are."""
        answers = self.pair.ask(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, described(self.topic))
        for each in answers[0].topics[0].partitions:
            self.leaders[each.partition_index] = each.leader_id, each.leader_epoch
            self.replicas[each.partition_index] = list(each.replica_nodes)
        for partition in PARTITIONS:
            self.wait(partition)

    def wait(self, partition: int) -> None:
        """Wait until all replicas have, and know to be had, what the leader has."""
        leader, _ = self.leaders[partition]
        for side in self.pair.sides:
            end = side.until_no_error(
                ApiKey.LIST_OFFSETS, 8, self.listed(partition, LATEST, -1), leader
            )
            offset = end.topics[0].partitions[0].offset
            for node in self.replicas[partition]:
                body = fetching(self.topic, 12, [partition], offset=offset)
                side.until(ApiKey.FETCH, 12, body, partial(knows, offset), node)

    def listed(self, partition: int, timestamp: int, epoch: int) -> ListOffsetsRequest:
        asked = ListOffsetsPartition(
            partition_index=partition, timestamp=timestamp, current_leader_epoch=epoch
        )
        topics = [ListOffsetsTopic(name=self.topic, partitions=[asked])]
        return ListOffsetsRequest(replica_id=-1, topics=topics)

    def current(self, partition: int, more: int | None) -> int:
        """The current epoch and so many more; -1 for None."""
        return -1 if more is None else max(-1, self.leaders[partition][1] + more)

    def node(self, partition: int, away: int) -> int:
        """The leader, or one of the two other nodes."""
        return (self.leaders[partition][0] - 1 + away) % len(NODES) + 1


def knows(offset: int, answer: Any) -> bool:
    found = answer.responses[0].partitions[0]
    return bool(found.error_code == 0 and found.high_watermark == offset)


class Step:
    """A step of a story; its repr is how the story is written down."""

    def tell(self, epochs: Epochs) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class Write(Step):
    partition: int
    away: int
    version: int
    acks: int

    def tell(self, epochs: Epochs) -> None:
        body = producing(epochs.topic, self.version, [self.partition], self.acks)
        node = epochs.node(self.partition, self.away)
        epochs.pair.ask(ApiKey.PRODUCE, self.version, body, connection=at(node))
        epochs.wait(self.partition)


@dataclass(frozen=True)
class Place(Step):
    """Other replicas, or in another order; perhaps one that leads no more."""

    partition: int
    nodes: tuple[int, ...]

    def tell(self, epochs: Epochs) -> None:
        reassign(epochs.pair, epochs.topic, {self.partition: list(self.nodes)})
        epochs.look()


@dataclass(frozen=True)
class Elect(Step):
    partitions: tuple[int, ...]
    kind: int

    def tell(self, epochs: Epochs) -> None:
        elect(epochs.pair, epochs.topic, self.partitions, kind=self.kind)
        epochs.look()


@dataclass(frozen=True)
class End(Step):
    """The end of an epoch."""

    partition: int
    away: int
    more: int | None
    back: int
    version: int

    def tell(self, epochs: Epochs) -> None:
        asked = OffsetForLeaderPartition(
            partition=self.partition,
            current_leader_epoch=epochs.current(self.partition, self.more),
            leader_epoch=epochs.current(self.partition, -self.back),
        )
        topics = [OffsetForLeaderTopic(topic=epochs.topic, partitions=[asked])]
        request = OffsetForLeaderEpochRequest(replica_id=-1, topics=topics)
        node = epochs.node(self.partition, self.away)
        epochs.pair.ask(ApiKey.OFFSET_FOR_LEADER_EPOCH, self.version, request, connection=at(node))


@dataclass(frozen=True)
class ListOffsets(Step):
    partition: int
    away: int
    more: int | None
    timestamp: int
    version: int

    def tell(self, epochs: Epochs) -> None:
        current = epochs.current(self.partition, self.more)
        request = epochs.listed(self.partition, self.timestamp, current)
        node = epochs.node(self.partition, self.away)
        epochs.pair.ask(ApiKey.LIST_OFFSETS, self.version, request, connection=at(node))


@dataclass(frozen=True)
class Fetch(Step):
    """A consumer that says the epoch of the leader, and of the record before its next."""

    partition: int
    away: int
    more: int | None
    back: int | None
    offset: int
    version: int

    def tell(self, epochs: Epochs) -> None:
        def body(side: Side) -> FetchRequest:
            asked = FetchPartition(
                partition=self.partition,
                fetch_offset=self.offset,
                current_leader_epoch=epochs.current(self.partition, self.more),
                last_fetched_epoch=epochs.current(
                    self.partition, None if self.back is None else -self.back
                ),
                partition_max_bytes=1 << 20,
            )
            name = named(side, epochs.topic, self.version >= 13, "topic")
            topics = [FetchTopic(partitions=[asked], **name)]
            return FetchRequest(max_wait_ms=0, min_bytes=0, session_epoch=-1, topics=topics)

        node = epochs.node(self.partition, self.away)
        epochs.pair.ask(ApiKey.FETCH, self.version, body, connection=at(node))


@dataclass(frozen=True)
class DeleteRecords(Step):
    """The epochs of what is deleted are forgotten."""

    partition: int
    away: int
    offset: int

    def tell(self, epochs: Epochs) -> None:
        asked = DeleteRecordsPartition(partition_index=self.partition, offset=self.offset)
        topics = [DeleteRecordsTopic(name=epochs.topic, partitions=[asked])]
        request = DeleteRecordsRequest(topics=topics, timeout_ms=10_000)
        node = epochs.node(self.partition, self.away)
        epochs.pair.ask(ApiKey.DELETE_RECORDS, 2, request, connection=at(node))
        epochs.wait(self.partition)


@dataclass(frozen=True)
class See(Step):
    node: int

    def tell(self, epochs: Epochs) -> None:
        pair, connection = epochs.pair, at(self.node)
        pair.ask(ApiKey.METADATA, 12, about(epochs.topic), connection=connection)
        pair.ask(
            ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, described(epochs.topic), connection=connection
        )


_partition, _away = of(*PARTITIONS), of(0, 0, 0, 1, 2)
_more: st.SearchStrategy[Any] = of(None, 0, 0, -1, 1)
_back = of(0, 1, 1, 2, 3, -1)
STEPS: Sequence[st.SearchStrategy[Step]] = (
    *[st.builds(Write, _partition, of(*[0] * 6, 1), of(9, 12, 13), of(-1))] * 4,
    *[st.builds(Place, _partition, of(*ORDERS))] * 2,
    *[st.builds(Elect, of((0,), (1,), (0, 1)), of(PREFERRED, PREFERRED, PREFERRED, UNCLEAN))] * 2,
    *[st.builds(End, _partition, _away, _more, _back, of(2, 3, 4))] * 5,
    *[st.builds(ListOffsets, _partition, _away, _more, of(-1, -2, -3, -4, 0), of(9, 10, 11))] * 2,
    *[
        st.builds(
            Fetch,
            partition=_partition,
            away=_away,
            more=_more,
            back=of(None, 0, 0, 1, 2, -1),
            offset=st.integers(0, 8),
            version=of(12, 13, 15, 16, 17, 18),
        )
    ]
    * 6,
    st.builds(DeleteRecords, _partition, of(*[0] * 6, 1), of(1, 2, 3, -1)),
    st.builds(See, of(*NODES)),
)
STORIES = st.lists(st.one_of(*STEPS), min_size=20, max_size=50)
