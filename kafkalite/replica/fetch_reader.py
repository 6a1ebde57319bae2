"""Reads the records for one Fetch: from every partition it names, within its limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from kafkalite.config import RACK_AWARE_SELECTOR
from kafkalite.log.leader_epochs import UNDEFINED_EPOCH
from kafkalite.log.open_files import close_slices
from kafkalite.replica.fetch_target import NO_REPLICA, FetchTarget, PartitionResponses
from kafkalite.replica.partition import is_isolation_level, is_read_committed
from kafkalite.requests.context import RequestContext
from kafkalite.wire.api_keys import FETCH_BY_ID_SINCE
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.fetch import AbortedTransactionRow, FetchRequestRow, PartitionDataRow

if TYPE_CHECKING:
    from kafkalite.cluster.cluster import Cluster
    from kafkalite.config import BrokerConfig
    from kafkalite.replica.partition import Partition
    from kafkalite.replica.topics import Topics
    from kafkalite.requests.purgatory import Watchers
    from kafkalite.requests.slices import Steps

# From here on a consumer may read from a replica that does not lead (KIP-392).
_FIRST_FOLLOWER_VERSION: Final = 11
_NO_OFFSET: Final = -1
# An epoch with an end offset, a leader with its epoch, a snapshot: at their defaults.
NOT_TOLD: Final = (-1, -1)
_NO_RECORDS: Final = b""


def most_bytes(config: BrokerConfig, max_bytes: int) -> int:
    """The most bytes of records in a response to a request that asks for `max_bytes`."""
    return min(max_bytes, config.integer("fetch.max.bytes"))


class FetchReader:
    """Reads the targets of one request, and knows when that is worth a response."""

    __slots__ = (
        "_cluster",
        "_committed_only",
        "_empty",
        "_found",
        "_has_level",
        "_leader_only",
        "_limit",
        "_max_bytes",
        "_may_read",
        "_min_bytes",
        "_node_id",
        "_partitions",
        "_rack",
        "_topics",
        "_uses_topic_ids",
        "_waited",
        "has_errors",
        "must_respond",
        "refused",
        "targets",
    )

    # Brokers know where the leaders are.
    names_leaders = True

    def __init__(
        self,
        config: BrokerConfig,
        cluster: Cluster,
        topics: Topics,
        context: RequestContext,
        request: FetchRequestRow,
        targets: Sequence[FetchTarget],
    ) -> None:
        _, _, _, _, self._min_bytes, max_bytes, isolation_level, _, _, _, _, rack = request
        self._cluster = cluster
        self._topics = topics
        self._node_id = context.node_id
        self._may_read = context.may_read
        self._uses_topic_ids = context.api_version >= FETCH_BY_ID_SINCE
        self._leader_only = context.api_version < _FIRST_FOLLOWER_VERSION
        self._has_level = is_isolation_level(isolation_level)
        self._committed_only = is_read_committed(isolation_level)
        self._max_bytes = most_bytes(config, max_bytes)
        self.targets = targets
        if rack and config.string("replica.selector.class") != RACK_AWARE_SELECTOR:
            rack = ""
        self._rack = rack
        self._partitions: list[tuple[FetchTarget, Partition]] = []
        # Targets that are not looked for again after a wait.
        self.refused: dict[FetchTarget, PartitionDataRow] = {}
        # About the last `read`: whether a partition has an error, and whether it is to be sent at
        # once rather than after more came in.
        self.has_errors = False
        self.must_respond = False
        self._found = self._limit = 0
        self._empty = self._waited = False

    def asked_by(self, replica_id: int, broker_epoch: int) -> None:
        """Note the broker that asks. Does nothing here: only a follower's reader needs it."""

    def read(self, *, waited: bool = False, empty: bool = False) -> PartitionResponses:
        """One response for each target, in their order; with `empty`, all without records.

        `waited`: the targets existed before, and may have gone since. Records are FileSlices, which
        the caller closes. Raises NotCached, having closed them.
        """
        self.begin(waited=waited, empty=empty)
        responses = self.read_some(self.targets)
        self.end()
        return responses

    def begin(self, *, waited: bool, empty: bool) -> None:
        """Begin to read. `read_some` is to follow for all targets, part by part, then `end`."""
        self._partitions.clear()
        self.has_errors = self.must_respond = False
        self._found = 0
        self._limit = self._max_bytes
        self._waited = waited
        self._empty = empty

    def read_some(self, targets: Sequence[FetchTarget]) -> PartitionResponses:
        """`read` for some of the targets. After NotCached it may be asked again for the same."""
        responses: PartitionResponses = []
        limit, empty, waited = self._limit, self._empty, self._waited
        found, partition_count = self._found, len(self._partitions)
        try:
            for target in targets:
                row = self._read_target(target, 0 if empty else limit, not (empty or found), waited)
                responses.append((target, row))
                if records := row[10]:
                    found += len(records)
                    limit -= len(records)
                limit = max(limit, 0)
        except BaseException:
            close_records(responses)
            del self._partitions[partition_count:]
            raise
        self._found, self._limit = found, limit
        return responses

    def end(self) -> None:
        """All targets are read."""
        if self._found >= self._min_bytes or not self._partitions:
            self.must_respond = True

    @property
    def watched(self) -> list[Watchers]:
        """The events that can make `has_enough` true."""
        return [partition.watchers for _, partition in self._partitions]

    def has_enough(self) -> bool:
        """True if by now there are min_bytes, or something else that must be told.

        Called at every append to one of our partitions: what has not grown is not read.
        """
        size = 0
        for target, partition in self._partitions:
            size += self._new_bytes(target, partition)
            if size >= self._min_bytes:
                return True
        return False

    def look(self) -> Steps[bool]:
        """`has_enough` in steps."""
        size = 0
        for target, partition in self._partitions:
            size += self._new_bytes(target, partition)
            if size >= self._min_bytes:
                return True
            yield
        return False

    def _new_bytes(self, target: FetchTarget, partition: Partition) -> int:
        """The bytes that can be read by now; min_bytes where there is an error to be told."""
        _, leader_epoch, fetch_offset, _, _, max_bytes, _, _ = target.wanted
        committed_only = self._committed_only
        try:
            self._check(partition, leader_epoch)
            if partition.read_limit(committed_only=committed_only) <= fetch_offset:
                return 0
            result = partition.read(fetch_offset, max_bytes, committed_only=committed_only)
        except KafkaError:
            return self._min_bytes
        close_slices((result.records,))
        if partition.ends_early(result, committed_only=committed_only):
            return self._min_bytes
        return len(result.records)

    def _check(self, partition: Partition, leader_epoch: int) -> None:
        if partition.is_deleted:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if leader_epoch < 0:
            leader_epoch = UNDEFINED_EPOCH  # FetchRequest.optionalEpoch: any negative one is none
        partition.check_leader(self._node_id, leader_epoch, leader_only=self._leader_only)

    def _find(self, target: FetchTarget) -> Partition:
        topics = self._topics
        if self._uses_topic_ids:
            topic = topics.by_id(target.topic_id)
            if topic is not None:
                self._check_may_read(topic.name)
                target.known_as = topic.name
            elif not target.known_as:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
            else:
                again = topics.get(target.known_as)
                if again is not None and again.partition(target.index) is not None:
                    raise KafkaError(ErrorCode.INCONSISTENT_TOPIC_ID)
        else:
            self._check_may_read(target.topic)
            topic = topics.get(target.topic)
        partition = None if topic is None else topic.partition(target.index)
        if partition is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return partition

    def _check_may_read(self, topic: str) -> None:
        # Before it is said whether the topic exists; and who has waited was allowed to before.
        if self._may_read is not None and not self._waited and not self._may_read(topic):
            raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)

    def _read_target(
        self, target: FetchTarget, max_bytes: int, minimum_one_batch: bool, waited: bool
    ) -> PartitionDataRow:
        if waited and target in self.refused:
            self.has_errors = True
            return self.refused[target]
        try:
            partition = self._find(target)
        except KafkaError as error:
            # That a topic is another one Kafka finds out later than that there is none.
            if waited or error.code is ErrorCode.INCONSISTENT_TOPIC_ID:
                return self._failed(target, error)
            # It reads, and waits for, the others.
            self.has_errors = True
            row = self.refused[target] = failed_partition(target.index, error.code, ())
            return row
        if not self._has_level:  # Kafka notices only where there is something to read
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        try:
            return self._read_partition(partition, target, max_bytes, minimum_one_batch)
        except KafkaError as error:
            return self._failed(target, error)

    def _read_partition(
        self, partition: Partition, target: FetchTarget, max_bytes: int, minimum_one_batch: bool
    ) -> PartitionDataRow:
        _, leader_epoch, offset, last_fetched_epoch, _, partition_max_bytes, _, _ = target.wanted
        self._check(partition, leader_epoch)
        log = partition.log
        if last_fetched_epoch >= 0:
            diverging = partition.divergence(offset, last_fetched_epoch)
            if diverging is not None:
                self.must_respond = True
                return _without_records(target, partition, diverging, NO_REPLICA)
        if self._rack:
            preferred = self._preferred_read_replica(partition, offset)
            if preferred != NO_REPLICA:
                self.must_respond = True
                return _without_records(target, partition, NOT_TOLD, preferred)
        size = min(max_bytes, partition_max_bytes)
        if size < 0 and log.log_start_offset <= offset < partition.read_limit(
            committed_only=self._committed_only
        ):
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)  # LogSegment.read
        result = partition.read(
            offset,
            size,
            committed_only=self._committed_only,
            minimum_one_batch=minimum_one_batch,
        )
        self._partitions.append((target, partition))
        if self._committed_only and offset > log.last_stable_offset:
            self.must_respond = True  # Kafka takes its log for one that was truncated
        return (
            target.index,
            0,
            log.high_watermark,
            log.last_stable_offset,
            log.log_start_offset,
            NOT_TOLD,
            NOT_TOLD,
            NOT_TOLD,
            result.aborted_transactions,
            NO_REPLICA,
            result.records,
        )

    def _preferred_read_replica(self, partition: Partition, offset: int) -> int:
        """The replica in the consumer's rack that is furthest of those that have the offset, where
        the leader is in another (KIP-392). Source: ReplicaManager.findPreferredReadReplica."""
        if self._node_id != partition.leader_id:
            return NO_REPLICA
        nodes = self._cluster.nodes
        near = [
            node_id
            for node_id in partition.in_sync_replicas
            if node_id in nodes and nodes[node_id].rack == self._rack
        ]
        if partition.leader_id in near:
            return NO_REPLICA
        reached = [
            (reach, node_id)
            for node_id in near
            if (reach := partition.reach(node_id, offset)) is not None
        ]
        return max(reached)[1] if reached else NO_REPLICA

    def _failed(self, target: FetchTarget, error: KafkaError) -> PartitionDataRow:
        """The response for an error found out when reading: without a list of aborted
        transactions."""
        self.has_errors = self.must_respond = True
        return failed_partition(target.index, error.code, None)


def failed_partition(
    index: int,
    code: ErrorCode,
    aborted_transactions: Sequence[AbortedTransactionRow] | None = (),
) -> PartitionDataRow:
    """The response for a partition that has nothing but an error."""
    return (
        index,
        code,
        _NO_OFFSET,
        _NO_OFFSET,
        _NO_OFFSET,
        NOT_TOLD,
        NOT_TOLD,
        NOT_TOLD,
        aborted_transactions,
        NO_REPLICA,
        _NO_RECORDS,
    )


def _without_records(
    target: FetchTarget, partition: Partition, diverging_epoch: tuple[int, int], replica: int
) -> PartitionDataRow:
    log = partition.log
    return (
        target.index,
        0,
        log.high_watermark,
        log.last_stable_offset,
        log.log_start_offset,
        diverging_epoch,
        NOT_TOLD,
        NOT_TOLD,
        None,
        replica,
        _NO_RECORDS,
    )


def close_records(responses: PartitionResponses) -> None:
    """Let go of the records of responses that are not sent."""
    close_slices([row[10] for _, row in responses])
