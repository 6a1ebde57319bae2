"""The requests about share groups, answered: membership, description, offsets (KIP-932, KIP-1226).

Imported when the first of them comes in, or when a share group is read back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final
from uuid import UUID

from kafkalite.group_coordinator import share_records
from kafkalite.group_coordinator.callers import Context
from kafkalite.group_coordinator.consumer_member import JOIN_EPOCH, LEAVE_EPOCH
from kafkalite.group_coordinator.share_group import ShareGroup
from kafkalite.group_coordinator.share_protocol import Offsets, ShareProtocol, ShareStateKeeper
from kafkalite.group_coordinator.share_records import StateTopic
from kafkalite.wire.error_messages import default_message, message_of
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages import (
    alter_share_group_offsets,
    delete_share_group_offsets,
    share_group_describe,
)
from kafkalite.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponse,
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
from kafkalite.wire.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)

if TYPE_CHECKING:
    from kafkalite.group_coordinator.coordinator import GroupCoordinator
    from kafkalite.group_coordinator.shard import Group, Shard

ASSIGNOR: Final = "simple"
LONGEST_MEMBER_ID: Final = 36
_NO_ID: Final = UUID(int=0)
_NO_OFFSET: Final = -1


class ShareGroupRequests:
    """Share groups, for a coordinator that finds the shard of a group."""

    def __init__(
        self, coordinator: GroupCoordinator, protocol: ShareProtocol, keeper: ShareStateKeeper
    ) -> None:
        self._coordinator = coordinator
        self.protocol = protocol
        self._keeper = keeper

    # Membership

    def heartbeat(
        self, context: Context, request: ShareGroupHeartbeatRequest
    ) -> ShareGroupHeartbeatResponse:
        if not 0 < len(request.member_id) <= LONGEST_MEMBER_ID:
            return ShareGroupHeartbeatResponse(error_code=ErrorCode.INVALID_REQUEST)
        try:
            _check_heartbeat(request)
            shard = self._coordinator.shard_of(request.group_id, context.node_id)
            group = shard.groups.get(request.group_id)
            if request.member_epoch == LEAVE_EPOCH:
                return self.protocol.leave(_existing(request.group_id, group), request)
            if group is None and request.member_epoch == JOIN_EPOCH:
                group = ShareGroup(request.group_id)
                response = self.protocol.heartbeat(group, context, request)
                shard.groups[request.group_id] = group
                self.protocol.watch(group)
                return response
            if group is None:
                raise KafkaError(
                    ErrorCode.GROUP_ID_NOT_FOUND, f"Share group {request.group_id} not found."
                )
            share_group = _existing(request.group_id, group)
            return self.protocol.heartbeat(share_group, context, request)
        except KafkaError as refused:
            return ShareGroupHeartbeatResponse(
                error_code=refused.code, error_message=message_of(refused)
            )

    # Administration

    def describe(
        self, context: Context, group_ids: Sequence[str]
    ) -> list[share_group_describe.DescribedGroup]:
        described: list[share_group_describe.DescribedGroup] = []
        for group_id in group_ids:
            try:
                if not group_id:
                    raise KafkaError(ErrorCode.INVALID_GROUP_ID)
                shard = self._coordinator.shard_of(group_id, context.node_id)
                group = _existing(group_id, shard.groups.get(group_id))
                described.append(self._described(group))
            except KafkaError as refused:
                described.append(
                    share_group_describe.DescribedGroup(
                        group_id=group_id,
                        error_code=refused.code,
                        error_message=refused.message,
                    )
                )
        return described

    def _described(self, group: ShareGroup) -> share_group_describe.DescribedGroup:
        return share_group_describe.DescribedGroup(
            group_id=group.group_id,
            group_state=group.state.value,
            group_epoch=group.epoch,
            assignment_epoch=group.assignment_epoch,
            assignor_name=ASSIGNOR,
            members=[
                share_group_describe.Member(
                    member_id=member.member_id,
                    rack_id=member.rack_id,
                    member_epoch=member.member_epoch,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    subscribed_topic_names=sorted(member.subscribed_topic_names),
                    assignment=share_group_describe.Assignment(
                        topic_partitions=[
                            share_group_describe.TopicPartitions(
                                topic_id=topic_id, topic_name=name, partitions=sorted(partitions)
                            )
                            for topic_id, partitions in member.assigned.items()
                            if (name := self._topic_name(topic_id)) is not None
                        ]
                    ),
                )
                for member in group.members.values()
            ],
        )

    def _topic_name(self, topic_id: UUID) -> str | None:
        return self._coordinator.topics.topic_name(topic_id)

    def delete_state(self, group: ShareGroup) -> None:
        """Before a group is deleted: the state of its partitions goes. Raises KafkaError."""
        if not group.has_state_topics:
            return
        partitions: dict[UUID, set[int]] = {}
        names: dict[UUID, str] = {}
        for topics in (group.initialized, group.initializing):
            for topic_id, topic in topics.items():
                names[topic_id] = topic.name
                partitions.setdefault(topic_id, set()).update(topic.partitions)
        for topic_id in group.deleting:
            name = self._topic_name(topic_id)
            if name is not None:
                names[topic_id] = name
                count = self._coordinator.topics.partition_count(name)
                partitions.setdefault(topic_id, set()).update(range(count))
        changes = self.protocol.changes(group)
        changes.add(share_records.state_topics(group.group_id, {}, {}, names))
        self.protocol.commit(changes)
        failed: KafkaError | None = None
        for topic_id, indexes in partitions.items():
            for index in sorted(indexes):
                try:
                    self._keeper.delete_state(group.group_id, topic_id, index)
                except KafkaError as error:
                    failed = error
        if failed is not None:
            raise failed

    # Offsets

    def describe_offsets(
        self, context: Context, request: DescribeShareGroupOffsetsRequestGroup
    ) -> DescribeShareGroupOffsetsResponseGroup:
        """The offsets of a share group in the partitions asked for, or in all of them."""
        answer = DescribeShareGroupOffsetsResponseGroup(group_id=request.group_id)
        try:
            wanted, unknown = self._wanted(context, request)
        except KafkaError as refused:
            answer.error_code, answer.error_message = refused.code, default_message(refused.code)
            return answer
        for (topic_id, name), partitions in wanted.items():
            answer.topics.append(
                DescribeShareGroupOffsetsResponseTopic(
                    topic_name=name,
                    topic_id=topic_id,
                    partitions=[
                        self._offset(request.group_id, topic_id, index) for index in partitions
                    ],
                )
            )
        answer.topics += [
            DescribeShareGroupOffsetsResponseTopic(
                topic_name=name,
                topic_id=_NO_ID,
                partitions=[
                    DescribeShareGroupOffsetsResponsePartition(
                        partition_index=index, start_offset=_NO_OFFSET
                    )
                    for index in partitions
                ],
            )
            for name, partitions in unknown.items()
        ]
        return answer

    def _wanted(
        self, context: Context, request: DescribeShareGroupOffsetsRequestGroup
    ) -> tuple[dict[tuple[UUID, str], Collection[int]], dict[str, Collection[int]]]:
        """The partitions by id and name of their topics, and those of topics that do not exist."""
        topics = self._coordinator.topics
        known: dict[tuple[UUID, str], Collection[int]] = {}
        unknown: dict[str, Collection[int]] = {}
        if request.topics is not None:
            for topic in request.topics:
                topic_id = topics.topic_id(topic.topic_name)
                if topic_id is None:
                    unknown[topic.topic_name] = topic.partitions
                else:
                    known[topic_id, topic.topic_name] = topic.partitions
            return known, unknown
        shard = self._coordinator.shard_of(request.group_id, context.node_id)
        group = shard.groups.get(request.group_id)
        if isinstance(group, ShareGroup):
            for topic_id, initialized in group.initialized.items():
                name = topics.topic_name(topic_id)
                if name is not None:
                    known[topic_id, name] = sorted(initialized.partitions)
        return known, unknown

    def _offset(
        self, group_id: str, topic_id: UUID, partition: int
    ) -> DescribeShareGroupOffsetsResponsePartition:
        answer = DescribeShareGroupOffsetsResponsePartition(
            partition_index=partition, start_offset=_NO_OFFSET
        )
        try:
            start_offset, done_count, leader_epoch = self._keeper.describe_state(
                group_id, topic_id, partition
            )
        except KafkaError:
            return answer
        answer.start_offset, answer.leader_epoch = start_offset, leader_epoch
        if _NO_OFFSET in (start_offset, done_count):
            return answer
        try:
            latest = self._keeper.latest_offset(topic_id, partition)
        except KafkaError as error:
            return DescribeShareGroupOffsetsResponsePartition(
                partition_index=partition,
                error_code=error.code,
                error_message=message_of(error),
            )
        answer.lag = latest - start_offset - done_count
        return answer

    def alter_offsets(
        self, context: Context, request: AlterShareGroupOffsetsRequest
    ) -> AlterShareGroupOffsetsResponse:
        """Set start offsets of a group without members; one that is not there yet is made."""
        try:
            if not request.group_id:
                raise KafkaError(ErrorCode.INVALID_GROUP_ID)
            shard = self._coordinator.shard_of(request.group_id, context.node_id)
            group = shard.groups.get(request.group_id)
            if group is None:
                share_group = ShareGroup(request.group_id)
            else:
                share_group = _existing(request.group_id, group)
                share_group.validate_delete()
            return self._alter(shard, share_group, request)
        except KafkaError as refused:
            return AlterShareGroupOffsetsResponse(
                error_code=refused.code, error_message=message_of(refused)
            )

    def _alter(
        self, shard: Shard, group: ShareGroup, request: AlterShareGroupOffsetsRequest
    ) -> AlterShareGroupOffsetsResponse:
        topics = self._coordinator.topics
        now_ms = self._coordinator.now_ms()
        offsets: dict[UUID, dict[int, int]] = {}
        noted: dict[UUID, StateTopic] = {}
        for topic in request.topics:
            topic_id = topics.topic_id(topic.topic_name)
            if topic_id is None:
                continue
            count = topics.partition_count(topic.topic_name)
            found = {
                each.partition_index: each.start_offset
                for each in topic.partitions
                if each.partition_index < count
            }
            if found:
                offsets.setdefault(topic_id, {}).update(found)
            noted[topic_id] = StateTopic(topic.topic_name, frozenset(found), now_ms)
        refused: Mapping[tuple[UUID, int], KafkaError] = {}
        if noted:
            changes = self.protocol.changes(group)
            self.protocol.add_initializing(changes, noted)
            self.protocol.commit(changes)
            shard.groups[request.group_id] = group
        if offsets:
            refused = self.protocol.initialize(group, offsets)
        return AlterShareGroupOffsetsResponse(
            responses=[
                self._altered(topic.topic_name, topic.partitions, offsets, refused)
                for topic in request.topics
            ]
        )

    def _altered(
        self,
        name: str,
        partitions: Sequence[alter_share_group_offsets.AlterShareGroupOffsetsRequestPartition],
        offsets: Offsets,
        refused: Mapping[tuple[UUID, int], KafkaError],
    ) -> AlterShareGroupOffsetsResponseTopic:
        topic_id = self._coordinator.topics.topic_id(name) or _NO_ID
        answers: list[alter_share_group_offsets.AlterShareGroupOffsetsResponsePartition] = []
        for each in partitions:
            error = refused.get((topic_id, each.partition_index))
            if each.partition_index not in offsets.get(topic_id, {}):
                error = KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            answers.append(
                alter_share_group_offsets.AlterShareGroupOffsetsResponsePartition(
                    partition_index=each.partition_index,
                    error_code=ErrorCode.NONE if error is None else error.code,
                    error_message=None if error is None else message_of(error),
                )
            )
        return AlterShareGroupOffsetsResponseTopic(
            topic_name=name, topic_id=topic_id, partitions=answers
        )

    def delete_offsets(
        self, context: Context, request: DeleteShareGroupOffsetsRequest
    ) -> DeleteShareGroupOffsetsResponse:
        """Forget where a group without members is with these topics."""
        try:
            if not request.group_id:
                raise KafkaError(ErrorCode.INVALID_GROUP_ID)
            shard = self._coordinator.shard_of(request.group_id, context.node_id)
            group = _existing(request.group_id, shard.groups.get(request.group_id))
            group.validate_delete()
            return DeleteShareGroupOffsetsResponse(
                responses=self._delete(group, [topic.topic_name for topic in request.topics])
            )
        except KafkaError as refused:
            return DeleteShareGroupOffsetsResponse(
                error_code=refused.code, error_message=message_of(refused)
            )

    def _delete(
        self, group: ShareGroup, names: Sequence[str]
    ) -> list[DeleteShareGroupOffsetsResponseTopic]:
        if not group.has_state_topics:
            return []
        topics = self._coordinator.topics
        refused: list[DeleteShareGroupOffsetsResponseTopic] = []
        partitions: dict[UUID, tuple[str, Collection[int]]] = {}
        for name in names:
            topic_id = topics.topic_id(name)
            if topic_id is not None and topic_id in group.initialized:
                partitions[topic_id] = name, sorted(group.initialized[topic_id].partitions)
            elif topic_id is not None and topic_id in group.deleting:
                partitions[topic_id] = name, range(topics.partition_count(name))
            else:
                error = KafkaError(
                    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                    None if topic_id is None else "There is no offset information to delete.",
                )
                refused.append(_not_deleted(name, _NO_ID, error))
        initialized = {t: v for t, v in group.initialized.items() if t not in partitions}
        deleting = {**group.deleting, **{t: name for t, (name, _) in partitions.items()}}
        self._note_deleting(group, initialized, deleting)
        deleted: list[DeleteShareGroupOffsetsResponseTopic] = []
        for topic_id, (name, indexes) in partitions.items():
            try:
                for index in indexes:
                    self._keeper.delete_state(group.group_id, topic_id, index)
            except KafkaError as error:
                error = KafkaError(error.code)
                refused.append(_not_deleted(name, topic_id, error))
            else:
                deleted.append(
                    DeleteShareGroupOffsetsResponseTopic(topic_name=name, topic_id=topic_id)
                )
        if deleted:
            gone = {topic.topic_id for topic in deleted}
            left = {t: name for t, name in group.deleting.items() if t not in gone}
            self._note_deleting(group, group.initialized, left)
        return refused + deleted

    def _note_deleting(
        self,
        group: ShareGroup,
        initialized: share_records.StateTopics,
        deleting: Mapping[UUID, str],
    ) -> None:
        changes = self.protocol.changes(group)
        changes.add(
            share_records.state_topics(group.group_id, group.initializing, initialized, deleting)
        )
        self.protocol.commit(changes)


def _not_deleted(
    name: str, topic_id: UUID, error: KafkaError
) -> delete_share_group_offsets.DeleteShareGroupOffsetsResponseTopic:
    return DeleteShareGroupOffsetsResponseTopic(
        topic_name=name, topic_id=topic_id, error_code=error.code, error_message=message_of(error)
    )


def _existing(group_id: str, group: Group | None) -> ShareGroup:
    """The share group, or KafkaError(GROUP_ID_NOT_FOUND)."""
    if isinstance(group, ShareGroup):
        return group
    missing = f"Group {group_id} not found."
    raise KafkaError(
        ErrorCode.GROUP_ID_NOT_FOUND,
        missing if group is None else f"Group {group_id} is not a share group.",
    )


def _check_heartbeat(request: ShareGroupHeartbeatRequest) -> None:
    """KafkaError for what no group could accept."""
    for value, name in (
        (request.member_id, "MemberId"),
        (request.group_id, "GroupId"),
        (request.rack_id, "RackId"),
    ):
        if value is not None and not value.strip():
            raise _invalid(f"{name} can't be empty.")
    if request.member_epoch == JOIN_EPOCH:
        if not request.subscribed_topic_names:
            raise _invalid("SubscribedTopicNames must be set in first request.")
    elif request.member_epoch < LEAVE_EPOCH:
        raise _invalid("MemberEpoch is invalid.")


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
