"""The answers to classic members: those of the current generation, and those that leave."""

from collections.abc import Callable, Iterable

from kafkalite.group_coordinator.classic_group import ClassicGroup
from kafkalite.group_coordinator.classic_member import ClassicMember
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from kafkalite.wire.messages.leave_group import MemberIdentity, MemberResponse
from kafkalite.wire.messages.sync_group import SyncGroupResponseRow


def joined(group: ClassicGroup, member: ClassicMember) -> JoinGroupResponse:
    """The generation. The leader learns of all members, to divide the work among them."""
    leads = member.member_id == group.leader_id
    return JoinGroupResponse(
        generation_id=group.generation_id,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=group.leader_id or "",
        member_id=member.member_id,
        members=[
            JoinGroupResponseMember(
                member_id=m.member_id,
                group_instance_id=m.group_instance_id,
                metadata=m.metadata(group.protocol_name),
            )
            for m in group.members.values()
        ]
        if leads
        else [],
    )


def synced(group: ClassicGroup, member: ClassicMember) -> SyncGroupResponseRow:
    return 0, ErrorCode.NONE, group.protocol_type, group.protocol_name, member.assignment


def leave_each(
    leaving: Iterable[MemberIdentity], leave: Callable[[MemberIdentity], object]
) -> list[MemberResponse]:
    """Call `leave` for each member. A KafkaError that it raises is answered for this member."""
    responses: list[MemberResponse] = []
    for identity in leaving:
        error_code = ErrorCode.NONE
        try:
            leave(identity)
        except KafkaError as refused:
            error_code = refused.code
        responses.append(
            MemberResponse(
                member_id=identity.member_id,
                group_instance_id=identity.group_instance_id,
                error_code=error_code,
            )
        )
    return responses
