"""The requests about committed offsets, routed to the shard of the group, refusals as codes.

OffsetCommit, TxnOffsetCommit and OffsetFetch are hot, hence rows (wire/rows.py). The rules are in
offset_api.py.
"""

from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any

from kafkalite.group_coordinator.callers import Context, check_group_id
from kafkalite.group_coordinator.offset_api import (
    CHECKED_AT_ONCE,
    CommittedTopic,
    OffsetRequests,
    Outcomes,
)
from kafkalite.group_coordinator.offset_commit import (
    Committer,
    PartitionOutcome,
    refused_partitions,
)
from kafkalite.group_coordinator.offset_deletion import OffsetDeletion
from kafkalite.group_coordinator.shard import Shard
from kafkalite.group_coordinator.shards import Shards
from kafkalite.group_coordinator.topics_view import TopicsView
from kafkalite.wire.api_codec import drained
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.offset_commit import (
    OffsetCommitRequestRow,
    OffsetCommitResponseTopicRow,
)
from kafkalite.wire.messages.offset_delete import OffsetDeleteRequest
from kafkalite.wire.messages.offset_fetch import (
    OffsetFetchRequestGroupRow,
    OffsetFetchResponseGroupRow,
)
from kafkalite.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequestRow,
    TxnOffsetCommitResponseRow,
)


class OffsetRouter:
    """The requests about committed offsets, for a coordinator that has the shards of groups."""

    def __init__(
        self,
        offsets: OffsetRequests,
        deletion: OffsetDeletion,
        topics: TopicsView,
        shards: Shards,
    ) -> None:
        self._offsets = offsets
        self._deletion = deletion
        self._topics = topics
        self._shards = shards

    def commit(
        self, context: Context, request: OffsetCommitRequestRow
    ) -> Sequence[OffsetCommitResponseTopicRow]:
        """Expects topics by name. Unknown topics are refused one by one, anything else at once."""
        group_id, generation, member_id, instance_id, retention_ms, topics = request
        committer = Committer(group_id, member_id, instance_id, generation)
        try:
            shard = self._shards.shard_of(group_id, context.node_id)
            return self._offsets.commit(shard, committer, topics, context.api_version, retention_ms)
        except KafkaError as refused:
            return drained(self._refused(topics, refused.code))

    def committing(
        self, context: Context, request: OffsetCommitRequestRow
    ) -> Generator[None, None, Sequence[OffsetCommitResponseTopicRow]]:
        """`commit` for very many partitions: yields between many of them."""
        group_id, generation, member_id, instance_id, retention_ms, topics = request
        committer = Committer(group_id, member_id, instance_id, generation)
        shard_of = partial(self._shards.shard_of, group_id, context.node_id)
        version = context.api_version
        try:
            return (
                yield from self._offsets.committing(
                    shard_of, committer, topics, version, retention_ms
                )
            )
        except KafkaError as refused:
            return (yield from self._refused(topics, refused.code))

    def txn_commit(
        self, context: Context, request: TxnOffsetCommitRequestRow, begin: Callable[[], None]
    ) -> Generator[None, None, TxnOffsetCommitResponseRow]:
        """Like OffsetCommit, but nothing is to be seen of it before the transaction ends.

        `begin` sees to it that the transaction may write here, or raises KafkaError. It is called
        before the offsets are checked, and after very many of them: it may have ended meanwhile.
        """
        _, group_id, producer_id, epoch, generation, member_id, instance_id, topics = request
        committer = Committer(group_id, member_id, instance_id, generation)
        producer, version = (producer_id, epoch), context.api_version
        try:
            check_group_id(group_id)

            def shard_of() -> Shard:
                begin()
                return self._shards.shard_of(group_id, context.node_id)

            answered = yield from self._offsets.committing(
                shard_of, committer, topics, version, producer=producer
            )
        except KafkaError as refused:
            return (yield from self.txn_commit_refused(request, refused.code))
        return 0, answered

    def txn_commit_refused(
        self, request: TxnOffsetCommitRequestRow, error_code: ErrorCode
    ) -> Generator[None, None, TxnOffsetCommitResponseRow]:
        """Nothing of it is committed."""
        return 0, (yield from self._refused(request[7], error_code))

    def _refused(self, topics: Sequence[CommittedTopic], code: ErrorCode) -> Outcomes:
        outcomes: list[Any] = []
        for topic in topics:
            name, partitions = topic[0], topic[-1]
            rows: list[PartitionOutcome] = []
            outcomes.append((*topic[:-1], rows))
            for start in range(0, len(partitions), CHECKED_AT_ONCE):
                some = partitions[start : start + CHECKED_AT_ONCE]
                rows += refused_partitions(some, name, code, self._topics)
                if len(rows) + len(outcomes) > CHECKED_AT_ONCE:
                    yield
        return outcomes

    def fetch(
        self, context: Context, request: OffsetFetchRequestGroupRow, *, require_stable: bool
    ) -> OffsetFetchResponseGroupRow:
        """Expects topics by name (with the id, where the request gave one)."""
        group_id = request[0]
        try:
            shard = self._shards.shard_of(group_id, context.node_id)
            topics = self._offsets.fetch(shard, request, require_stable=require_stable)
        except KafkaError as refused:
            return group_id, (), refused.code
        return group_id, topics, 0

    def deleting(
        self, context: Context, request: OffsetDeleteRequest
    ) -> Generator[None, None, Sequence[CommittedTopic]]:
        """Forget offsets of a group. Raises KafkaError where that is refused as a whole."""
        check_group_id(request.group_id)
        shard_of = partial(self._shards.shard_of, request.group_id, context.node_id)
        return (yield from self._deletion.deleting(shard_of, request))
