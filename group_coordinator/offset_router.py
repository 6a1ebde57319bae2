"""The requests about committed offsets, routed to the shard of the group, refusals as codes.

OffsetCommit, TxnOffsetCommit and OffsetFetch are hot, hence rows (wire/rows.py). The rules are in
offset_api.py.
"""

from collections.abc import Sequence

from kafkalite.group_coordinator.callers import Context, check_group_id
from kafkalite.group_coordinator.offset_api import OffsetRequests
from kafkalite.group_coordinator.offset_commit import (
    Committer,
    PartitionCommit,
    PartitionOutcome,
    refused_partitions,
)
from kafkalite.group_coordinator.shards import Shards
from kafkalite.group_coordinator.topics_view import TopicsView
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.offset_commit import (
    OffsetCommitRequestRow,
    OffsetCommitResponseTopicRow,
)
from kafkalite.wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
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
        topics: TopicsView,
        shards: Shards,
    ) -> None:
        self._offsets = offsets
        self._topics = topics
        self._shards = shards

    def commit(
        self, context: Context, request: OffsetCommitRequestRow
    ) -> Sequence[OffsetCommitResponseTopicRow]:
        """Expects topics by name. Unknown topics are refused one by one, anything else at once."""
        group_id, generation, member_id, instance_id, retention_ms, topics = request
        committer = Committer(group_id, member_id, instance_id, generation)
        commits = [(name, partitions) for name, _, partitions in topics]
        try:
            shard = self._shards.shard_of(group_id, context.node_id)
            outcomes = self._offsets.commit(
                shard, committer, commits, context.api_version, retention_ms
            )
        except KafkaError as refused:
            outcomes = self._refused(commits, refused.code)
        return [
            (name, topic_id, rows)
            for (name, topic_id, _), rows in zip(topics, outcomes, strict=True)
        ]

    def txn_commit(
        self, context: Context, request: TxnOffsetCommitRequestRow
    ) -> TxnOffsetCommitResponseRow:
        """Like OffsetCommit, but nothing is to be seen of it before the transaction ends."""
        _, group_id, producer_id, epoch, generation, member_id, instance_id, topics = request
        committer = Committer(group_id, member_id, instance_id, generation)
        try:
            check_group_id(group_id)
            shard = self._shards.shard_of(group_id, context.node_id)
            outcomes = self._offsets.txn_commit(
                shard, committer, topics, context.api_version, (producer_id, epoch)
            )
        except KafkaError as refused:
            return self.txn_commit_refused(request, refused.code)
        return 0, [(name, rows) for (name, _), rows in zip(topics, outcomes, strict=True)]

    def txn_commit_refused(
        self, request: TxnOffsetCommitRequestRow, error_code: ErrorCode
    ) -> TxnOffsetCommitResponseRow:
        """Nothing of it is committed."""
        topics = request[7]
        outcomes = self._refused(topics, error_code)
        return 0, [(name, rows) for (name, _), rows in zip(topics, outcomes, strict=True)]

    def _refused(
        self, topics: Sequence[tuple[str, Sequence[PartitionCommit]]], code: ErrorCode
    ) -> list[list[PartitionOutcome]]:
        return [
            refused_partitions(partitions, name, code, self._topics) for name, partitions in topics
        ]

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

    def delete(self, context: Context, request: OffsetDeleteRequest) -> OffsetDeleteResponse:
        """Forget offsets of a group."""
        try:
            check_group_id(request.group_id)
            shard = self._shards.shard_of(request.group_id, context.node_id)
            return self._offsets.delete(shard, request)
        except KafkaError as refused:
            return OffsetDeleteResponse(error_code=refused.code)
