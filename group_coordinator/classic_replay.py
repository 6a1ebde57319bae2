"""A classic group as it was stored, back again when its partition is loaded."""

from kafkalite.group_coordinator.classic_group import ClassicGroup, State
from kafkalite.group_coordinator.classic_member import ClassicMember
from kafkalite.group_coordinator.timers import Timer
from kafkalite.wire.messages.join_group import JoinGroupRequestProtocol
from kafkalite.wire.messages.stored.group_metadata import GroupMetadataValue


def classic_group_from(group_id: str, value: GroupMetadataValue) -> ClassicGroup:
    """The group with its members. It is Stable if it has any: only complete generations are stored.

    The record has one protocol of each member, the chosen one. The member names its others when it
    joins again. Its session begins when the loading is done.
    """
    group = ClassicGroup(
        group_id,
        now_ms=value.current_state_timestamp,
        state=State.STABLE if value.members else State.EMPTY,
        generation_id=value.generation,
        protocol_type=value.protocol_type or None,
        protocol_name=value.protocol,
        leader_id=value.leader,
    )
    for stored in value.members:
        group.add(
            ClassicMember(
                member_id=stored.member_id,
                group_instance_id=stored.group_instance_id,
                client_id=stored.client_id,
                client_host=stored.client_host,
                rebalance_timeout_ms=stored.rebalance_timeout
                if stored.rebalance_timeout >= 0
                else stored.session_timeout,
                session_timeout_ms=stored.session_timeout,
                protocol_type=value.protocol_type,
                protocols=[
                    JoinGroupRequestProtocol(
                        name=value.protocol or "", metadata=stored.subscription
                    )
                ],
                session=Timer(lambda: None),
                assignment=stored.assignment,
            )
        )
    group.subscribed_topics = group.compute_subscribed_topics()
    return group
