"""An observer of the metadata log: it fetches, never votes, and takes in only what is committed.

The leader of the quorum sends what is not committed yet, too, and may have it truncated later. So
batches wait here until the high watermark has passed them. Records between BeginTransaction and
EndTransaction (KIP-868) wait for the end, and are dropped at an AbortTransaction.

Nothing is kept on disk: a start needs the quorum anyway, which has all of it. Plain functions, no
clock and no socket. Source: KafkaRaftClient, MetadataBatchLoader.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Final, NamedTuple
from uuid import UUID

from kafkalite.peers.in_memory import in_memory
from kafkalite.peers.link import Address
from kafkalite.quorum.metadata_transactions import MetadataTransactions
from kafkalite.requests.topic_names import METADATA_TOPIC
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.fetch import (
    EpochEndOffset,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
    ReplicaState,
    SnapshotId,
)
from kafkalite.wire.messages.fetch_snapshot import (
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    PartitionSnapshotRequest,
    TopicSnapshotRequest,
)
from kafkalite.wire.messages.fetch_snapshot import SnapshotId as WantedSnapshotId
from kafkalite.wire.messages.stored import decode_metadata_record
from kafkalite.wire.record_batch import RecordBatch, iterate_batches, iterate_records

# Kafka's Uuid.METADATA_TOPIC_ID.
METADATA_TOPIC_ID: Final = UUID(int=1)
NO_LEADER: Final = -1
# KafkaRaftClient.MAX_FETCH_WAIT_MS, and controller.quorum.fetch.max.bytes.
_MAX_WAIT_MS: Final = 500
_MAX_BYTES: Final = 1 << 20
# Records read between two pieces.
_READ_AT_ONCE: Final = 64


class Step(Enum):
    """The next thing to do after an answer."""

    AGAIN = "ask the same controller again"
    ELSEWHERE = "another controller leads, or none is known to"
    LATER = "nothing came of it: wait before the next"
    SNAPSHOT = "fetch the snapshot that is wanted"


class Refused(Exception):
    """The quorum is not ours, or not any more what it was."""


class Committed(NamedTuple):
    """Records that will stay. `offset` is that of the last; a snapshot stands for all before it."""

    records: list[object]
    offset: int
    is_snapshot: bool = False


class Observer:
    """The quorum and its log, as far as answers have told."""

    def __init__(self, node_id: int, cluster_id: str, directory_id: UUID) -> None:
        self.leader_id: int = NO_LEADER
        self.leader_epoch: int = 0
        self.controllers: dict[int, Address] = {}
        self.end_offset = 0
        self.high_watermark = -1
        self.wanted_snapshot: SnapshotId | None = None
        self._node_id = node_id
        self._cluster_id = cluster_id
        self._directory_id = directory_id
        # An empty follower says epoch 0 here, not -1 (KafkaRaftClient.validateFetchOffsetAndEpoch).
        self._last_epoch = 0
        self._committed_end = 0
        self._committed_epoch = 0
        self._batches: deque[RecordBatch] = deque()
        self._snapshot = bytearray()
        self._transactions = MetadataTransactions()

    @property
    def leader_address(self) -> Address | None:
        """The active controller's; None while there is none."""
        return self.controllers.get(self.leader_id)

    @property
    def has_caught_up(self) -> bool:
        """Tells whether everything that was committed at the last answer has been handed out."""
        return 0 <= self.high_watermark <= self._committed_end

    # -- fetching

    def fetch(self) -> FetchRequest:
        """The next question."""
        wanted = FetchPartition(
            partition=0,
            current_leader_epoch=self.leader_epoch,
            fetch_offset=self.end_offset,
            last_fetched_epoch=self._last_epoch,
            log_start_offset=-1,
            partition_max_bytes=0,
            replica_directory_id=self._directory_id,
            # Answered at once when the leader's is above it, and not only with the next record.
            high_watermark=self.high_watermark,
        )
        return FetchRequest(
            cluster_id=self._cluster_id,
            replica_state=ReplicaState(replica_id=self._node_id, replica_epoch=-1),
            max_wait_ms=_MAX_WAIT_MS,
            min_bytes=0,
            max_bytes=_MAX_BYTES,
            session_id=0,
            session_epoch=-1,
            topics=[FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=[wanted])],
        )

    def fetched(self, answer: FetchResponse) -> Step:
        """Take in an answer. Raises Refused, and KafkaError(CORRUPT_MESSAGE).

        A snapshot that was begun before is not whole, and counts no more.
        """
        self.wanted_snapshot = None
        if answer.error_code:
            return self._refused(answer.error_code)
        data = answer.responses[0].partitions[0]
        for node in answer.node_endpoints:
            self.controllers[node.node_id] = Address(node.host, node.port)
        is_other = self._led_by(data.current_leader.leader_id, data.current_leader.leader_epoch)
        if data.error_code:
            return Step.ELSEWHERE if is_other else Step.LATER
        if data.diverging_epoch.epoch >= 0:
            self._truncate(data.diverging_epoch)
            return Step.AGAIN
        if data.snapshot_id.epoch >= 0:
            self.wanted_snapshot = data.snapshot_id
            self._snapshot.clear()
            return Step.SNAPSHOT
        self._append(data)
        return Step.AGAIN

    def _refused(self, error_code: int) -> Step:
        if error_code == ErrorCode.INCONSISTENT_CLUSTER_ID:
            raise Refused(f"the controllers are not of cluster {self._cluster_id}")
        return Step.LATER

    def _led_by(self, leader_id: int, epoch: int) -> bool:
        """Note the quorum's leader; whether that is news. An older epoch never comes back."""
        is_news = epoch > self.leader_epoch or (
            epoch == self.leader_epoch and leader_id not in (NO_LEADER, self.leader_id)
        )
        if is_news:
            self.leader_id, self.leader_epoch = leader_id, epoch
        return is_news

    def lost_leader(self) -> None:
        """The leader cannot be reached: ask the bootstrap controllers who leads."""
        self.leader_id = NO_LEADER

    def _truncate(self, diverging: EpochEndOffset) -> None:
        if diverging.end_offset < self._committed_end:
            # Kafka gives up here. Nothing is on our disk: all of it can be read again.
            lost = f"offsets {diverging.end_offset} to {self._committed_end - 1}"
            self._start_again()
            raise Refused(
                f"the controllers have lost metadata that they had committed, {lost}: "
                "what is left is read again, and a restart of this broker forgets the rest"
            )
        batches = self._batches
        while batches and (
            batches[-1].last_offset >= diverging.end_offset
            or batches[-1].partition_leader_epoch > diverging.epoch
        ):
            batches.pop()
        if batches:
            self.end_offset = batches[-1].next_offset
            self._last_epoch = batches[-1].partition_leader_epoch
        else:
            self.end_offset = self._committed_end
            self._last_epoch = self._committed_epoch

    def _start_again(self) -> None:
        self._batches.clear()
        self._transactions.clear()
        self.end_offset = self._committed_end = 0
        self._last_epoch = self._committed_epoch = 0
        self.high_watermark = -1

    def _append(self, data: PartitionData) -> None:
        for batch in iterate_batches(bytes(in_memory(data.records))):
            batch.ensure_valid()
            self._batches.append(batch)
            self.end_offset = batch.next_offset
            self._last_epoch = batch.partition_leader_epoch
        self.high_watermark = max(self.high_watermark, data.high_watermark)

    # -- snapshots

    def fetch_snapshot(self) -> FetchSnapshotRequest:
        """The question for the next slice of the snapshot that is wanted."""
        wanted = self.wanted_snapshot
        assert wanted is not None
        part = PartitionSnapshotRequest(
            partition=0,
            current_leader_epoch=self.leader_epoch,
            snapshot_id=WantedSnapshotId(end_offset=wanted.end_offset, epoch=wanted.epoch),
            position=len(self._snapshot),
            replica_directory_id=self._directory_id,
        )
        return FetchSnapshotRequest(
            cluster_id=self._cluster_id,
            replica_id=self._node_id,
            max_bytes=_MAX_BYTES,
            topics=[TopicSnapshotRequest(name=METADATA_TOPIC, partitions=[part])],
        )

    def snapshot_fetched(self, answer: FetchSnapshotResponse) -> Step:
        """Take in a slice: SNAPSHOT while there are more of them."""
        if answer.error_code:
            return self._refused(answer.error_code)
        part = answer.topics[0].partitions[0]
        is_other = self._led_by(part.current_leader.leader_id, part.current_leader.leader_epoch)
        if part.error_code:
            # Gone, or another controller leads now: back to Fetch, which says what is there.
            self.wanted_snapshot = None
            return Step.ELSEWHERE if is_other else Step.LATER
        records = in_memory(part.unaligned_records)
        self._snapshot += records
        if len(self._snapshot) >= part.size:
            return Step.AGAIN
        if not records:  # it would never be whole
            self.wanted_snapshot = None
            return Step.LATER
        return Step.SNAPSHOT

    # -- what is committed

    def committed(self) -> Iterator[Committed | None]:
        """Hand out what will stay and was not handed out yet, a batch at a time.

        None comes between the pieces of a batch that takes long to read.

        A part of a transaction is not handed out. Raises ProtocolViolation for a record that is
        not known, which a controller writes only where the cluster's features say that it may.
        """
        wanted = self.wanted_snapshot
        if wanted is not None:
            yield from self._taken_snapshot(wanted)
        while self._batches and self._batches[0].last_offset < self.high_watermark:
            batch = self._batches.popleft()
            self._committed_end = batch.next_offset
            self._committed_epoch = batch.partition_leader_epoch
            records: list[object] = []
            for some in _records_in([batch]):
                records += self._transactions.take(some)
                yield None
            if not self._transactions.is_open:
                yield Committed(records, batch.last_offset)

    def _taken_snapshot(self, wanted: SnapshotId) -> Iterator[Committed | None]:
        records: list[object] = []
        for some in _records_in(iterate_batches(bytes(self._snapshot))):
            records += some
            yield None
        self.wanted_snapshot = None
        self._snapshot = bytearray()
        self._batches.clear()
        self._transactions.clear()
        self.end_offset = self._committed_end = wanted.end_offset
        self._last_epoch = self._committed_epoch = wanted.epoch
        self.high_watermark = max(self.high_watermark, wanted.end_offset)
        yield Committed(records, wanted.end_offset - 1, is_snapshot=True)


def _records_in(batches: Iterable[RecordBatch]) -> Iterator[list[object]]:
    """The records, some at a time."""
    some: list[object] = []
    for batch in batches:
        if not batch.is_control:
            for record in iterate_records(batch):
                some.append(decode_metadata_record(record.value or b""))
                if len(some) == _READ_AT_ONCE:
                    yield some
                    some = []
    if some:
        yield some
