"""The requests of administrators about the offsets of share groups, answered (KIP-932, KIP-1226).

The offset of a share group in a partition is where the partition's share state begins.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import suppress
from typing import Final
from uuid import UUID

from kafkalite.group_coordinator.callers import Context, check_group_id
from kafkalite.group_coordinator.modern_group import existing
from kafkalite.group_coordinator.shard import Shard
from kafkalite.group_coordinator.shards import Shards
from kafkalite.group_coordinator.share_group import ShareGroup
from kafkalite.group_coordinator.share_keeper import Refusals, SeenStates, words_of_keeper
from kafkalite.group_coordinator.share_records import StateTopic
from kafkalite.group_coordinator.share_states import ShareStates
from kafkalite.group_coordinator.topics_view import TopicsView
from kafkalite.wire.api_codec import drained
from kafkalite.wire.error_messages import default_message, words_of
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.fields import NO_UUID
from kafkalite.wire.kafka_uuid import kafka_uuid
from kafkalite.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)
from kafkalite.wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)
from kafkalite.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)

_Wanted = tuple[dict[tuple[UUID, str], Collection[int]], dict[str, Collection[int]]]

_NO_OFFSET: Final = -1


class _Asked:
    """New offsets, as a request names them."""

    def __init__(self) -> None:
        self.partitions: dict[str, list[AlterShareGroupOffsetsRequestPartition]] = {}
        self.offsets: dict[UUID, dict[int, int]] = {}
        """Partitions that exist, only."""
        self.noted: dict[UUID, StateTopic] = {}


class ShareGroupOffsets:
    """Offsets of share groups, for a coordinator that has the shards of groups."""

    def __init__(self, shards: Shards, topics: TopicsView, states: ShareStates) -> None:
        self._shards = shards
        self._topics = topics
        self._states = states

    @property
    def seen_here(self) -> SeenStates | None:
        """The states to `describe`, if they are kept in this process."""
        return self._states.keeper.seen_here

    async def seen(
        self, context: Context, request: DescribeShareGroupOffsetsRequestGroup
    ) -> SeenStates:
        """The states to `describe`, wherever they are kept."""
        wanted: Mapping[tuple[UUID, str], Collection[int]] = {}
        with suppress(KafkaError):  # `describe` says it
            wanted, _ = drained(self._wanted(context, request))
        partitions = {topic_id: indexes for (topic_id, _), indexes in wanted.items()}
        return await self._states.keeper.seen(request.group_id, partitions)

    def describe(
        self,
        context: Context,
        request: DescribeShareGroupOffsetsRequestGroup,
        seen: SeenStates,
    ) -> Generator[None, None, DescribeShareGroupOffsetsResponseGroup]:
        """The offsets of a share group in the partitions asked for, or in all of them.

        Without a group id, without partitions of a topic that exists, or with a negative one the
        answer is UNKNOWN_SERVER_ERROR (ReadShareGroupStateSummaryParameters). Yields after each
        partition, as there may be very many.
        """
        answer = DescribeShareGroupOffsetsResponseGroup(group_id=request.group_id)
        try:
            wanted, unknown = yield from self._wanted(context, request)
        except KafkaError as refused:
            return _not_described(request.group_id, refused.code)
        if wanted and not request.group_id:
            return _not_described(request.group_id, ErrorCode.UNKNOWN_SERVER_ERROR)
        for (topic_id, name), partitions in wanted.items():
            if not partitions:
                return _not_described(request.group_id, ErrorCode.UNKNOWN_SERVER_ERROR)
            topic = DescribeShareGroupOffsetsResponseTopic(topic_name=name, topic_id=topic_id)
            answer.topics.append(topic)
            for index in partitions:
                if index < 0:
                    return _not_described(request.group_id, ErrorCode.UNKNOWN_SERVER_ERROR)
                topic.partitions.append(_offset(seen, request.group_id, topic_id, index))
                yield
        for name, partitions in unknown.items():
            topic = DescribeShareGroupOffsetsResponseTopic(topic_name=name, topic_id=NO_UUID)
            answer.topics.append(topic)
            for index in partitions:
                topic.partitions.append(
                    DescribeShareGroupOffsetsResponsePartition(
                        partition_index=index, start_offset=_NO_OFFSET
                    )
                )
                yield
        return answer

    def _wanted(
        self, context: Context, request: DescribeShareGroupOffsetsRequestGroup
    ) -> Generator[None, None, _Wanted]:
        """The partitions by id and name of their topics, and those of topics that do not exist.

        Yields after each topic. Raises KafkaError(NOT_COORDINATOR).
        """
        known: dict[tuple[UUID, str], Collection[int]] = {}
        unknown: dict[str, Collection[int]] = {}
        if request.topics is not None:
            for topic in request.topics:
                yield
                topic_id = self._topics.topic_id(topic.topic_name)
                if topic_id is None:
                    unknown[topic.topic_name] = topic.partitions
                else:
                    known[topic_id, topic.topic_name] = dict.fromkeys(topic.partitions)
            return known, unknown
        shard = self._shards.shard_of(request.group_id, context.node_id)
        group = shard.groups.get(request.group_id)
        if isinstance(group, ShareGroup):
            for topic_id, initialized in group.initialized.items():
                yield
                name = self._topics.topic_name(topic_id)
                if name is not None:
                    known[topic_id, name] = sorted(initialized.partitions)
        return known, unknown

    async def alter(
        self, context: Context, request: AlterShareGroupOffsetsRequest
    ) -> AlterShareGroupOffsetsResponse:
        """Set start offsets of a group without members; one that is not there yet is made."""
        try:
            check_group_id(request.group_id)
            shard = self._shards.shard_of(request.group_id, context.node_id)
            found = shard.groups.get(request.group_id)
            group = (
                ShareGroup(request.group_id)
                if found is None
                else existing(ShareGroup, request.group_id, found)
            )

            def check() -> None:
                is_here = self._shards.find(request.group_id, context.node_id) is shard
                if not is_here or shard.groups.get(request.group_id) is not found:
                    raise KafkaError(ErrorCode.NOT_COORDINATOR)
                group.validate_delete()

            check()
            return await self._alter(shard, group, request, check)
        except KafkaError as refused:
            return AlterShareGroupOffsetsResponse(
                error_code=refused.code, error_message=words_of(refused)
            )

    async def _alter(
        self,
        shard: Shard,
        group: ShareGroup,
        request: AlterShareGroupOffsetsRequest,
        check: Callable[[], None],
    ) -> AlterShareGroupOffsetsResponse:
        count = sum(1 + len(topic.partitions) for topic in request.topics)
        in_steps = self._states.keeper.in_steps
        asked = _Asked()
        await in_steps(self._ask(asked, request), count)
        check()
        refused: Refusals = {}
        if asked.noted:
            await self._states.begin(group, asked.noted, check)
            shard.groups[request.group_id] = group
        if asked.offsets:
            # If one is refused, all stay noted until a heartbeat tries again, or the group goes.
            refused = await self._states.initialize(group, asked.offsets, is_given_up=False)
        return AlterShareGroupOffsetsResponse(
            responses=await in_steps(self._altered(asked, refused), count)
        )

    def _ask(
        self, asked: _Asked, request: AlterShareGroupOffsetsRequest
    ) -> Generator[None, None, None]:
        """Look at what is asked, one partition a step. Raises KafkaError: a negative index refuses
        everything (InitializeShareGroupStateParameters.Builder)."""
        now_ms = self._states.now_ms()
        for topic in request.topics:
            asked.partitions.setdefault(topic.topic_name, []).extend(topic.partitions)
            yield
        for name, partitions in asked.partitions.items():
            yield
            topic_id = self._topics.topic_id(name)
            if topic_id is None:
                continue
            count = self._topics.partition_count(name)
            found: dict[int, int] = {}
            for each in partitions:
                yield
                index = each.partition_index
                if index < 0:
                    raise KafkaError(
                        ErrorCode.UNKNOWN_SERVER_ERROR,
                        "Initialize share group parameters has invalid partitionId - "
                        f"{request.group_id} {kafka_uuid(topic_id)} {index}",
                    )
                if index < count:
                    found[index] = each.start_offset
            if found:
                asked.offsets[topic_id] = found
            asked.noted[topic_id] = StateTopic(name, frozenset(found), now_ms)

    def _altered(
        self, asked: _Asked, refused: Refusals
    ) -> Generator[None, None, list[AlterShareGroupOffsetsResponseTopic]]:
        """The answer, one partition a step. A topic that is not there is told of only with its
        partitions."""
        topics: list[AlterShareGroupOffsetsResponseTopic] = []
        for name, partitions in asked.partitions.items():
            topic_id = self._topics.topic_id(name) or NO_UUID
            if topic_id == NO_UUID and not partitions:
                continue
            known = asked.offsets.get(topic_id, {})
            answer = AlterShareGroupOffsetsResponseTopic(topic_name=name, topic_id=topic_id)
            topics.append(answer)
            yield
            for each in partitions:
                index = each.partition_index
                code, words = ErrorCode.NONE, None
                if (error := refused.get((topic_id, index))) is not None:
                    code, words = error.code, words_of_keeper("initialize", error)
                if index not in known:
                    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                    words = default_message(code)
                answer.partitions.append(
                    AlterShareGroupOffsetsResponsePartition(
                        partition_index=index, error_code=code, error_message=words
                    )
                )
                yield
        return topics

    async def delete(
        self, context: Context, request: DeleteShareGroupOffsetsRequest
    ) -> DeleteShareGroupOffsetsResponse:
        """Delete the offsets of a group without members in these topics."""
        try:
            check_group_id(request.group_id)
            shard = self._shards.shard_of(request.group_id, context.node_id)
            group = existing(ShareGroup, request.group_id, shard.groups.get(request.group_id))
            group.validate_delete()
            return DeleteShareGroupOffsetsResponse(
                responses=await self._delete(group, [topic.topic_name for topic in request.topics])
            )
        except KafkaError as refused:
            return DeleteShareGroupOffsetsResponse(
                error_code=refused.code, error_message=words_of(refused)
            )

    async def _delete(
        self, group: ShareGroup, names: Sequence[str]
    ) -> list[DeleteShareGroupOffsetsResponseTopic]:
        if not group.has_state_topics:
            return []
        refused: list[DeleteShareGroupOffsetsResponseTopic] = []
        wanted: dict[UUID, tuple[str, Collection[int]]] = {}
        for name in names:
            topic_id = self._topics.topic_id(name)
            partitions = (
                None if topic_id is None else self._states.partitions_to_delete(group, topic_id)
            )
            if topic_id is None or partitions is None:
                error = KafkaError(
                    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                    None if topic_id is None else "There is no offset information to delete.",
                )
                refused.append(_not_deleted(name, NO_UUID, error))
            else:
                wanted[topic_id] = name, partitions
        failed = await self._states.delete(group, wanted)
        refused += [
            _not_deleted(wanted[topic_id][0], topic_id, KafkaError(error.code))
            for topic_id, error in failed.items()
        ]
        return refused + [
            DeleteShareGroupOffsetsResponseTopic(topic_name=name, topic_id=topic_id)
            for topic_id, (name, _) in wanted.items()
            if topic_id not in failed
        ]


def _not_deleted(
    name: str, topic_id: UUID, error: KafkaError
) -> DeleteShareGroupOffsetsResponseTopic:
    return DeleteShareGroupOffsetsResponseTopic(
        topic_name=name, topic_id=topic_id, error_code=error.code, error_message=words_of(error)
    )


def _not_described(group_id: str, code: ErrorCode) -> DescribeShareGroupOffsetsResponseGroup:
    return DescribeShareGroupOffsetsResponseGroup(
        group_id=group_id, error_code=code, error_message=default_message(code)
    )


def _offset(
    seen: SeenStates, group_id: str, topic_id: UUID, partition: int
) -> DescribeShareGroupOffsetsResponsePartition:
    answer = DescribeShareGroupOffsetsResponsePartition(
        partition_index=partition, start_offset=_NO_OFFSET
    )
    try:
        start_offset, done_count, leader_epoch = seen.describe_state(group_id, topic_id, partition)
    except KafkaError:
        return answer
    answer.start_offset, answer.leader_epoch = start_offset, leader_epoch
    if _NO_OFFSET in (start_offset, done_count):
        return answer
    try:
        latest = seen.latest_offset(topic_id, partition)
    except KafkaError as error:
        return DescribeShareGroupOffsetsResponsePartition(
            partition_index=partition,
            error_code=error.code,
            error_message=words_of(error),
        )
    answer.lag = latest - start_offset - done_count
    return answer
