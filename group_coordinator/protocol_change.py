"""A group with members changes its protocol: from classic to consumer, and back.

The first member that joins with the consumer protocol turns a classic group into a consumer group.
The other members go on speaking the classic protocol. The group becomes classic again when the last
member that speaks the consumer protocol goes. Members keep what they have: the generation becomes
the epoch, and the assignment the target. `group.consumer.migration.policy` may forbid either
direction. Source: KIP-848, Kafka's GroupMetadataManager (convertTo...).
"""

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import NamedTuple
from uuid import UUID

from kafkalite.group_coordinator import consumer_records, state_log
from kafkalite.group_coordinator.changes import Changes
from kafkalite.group_coordinator.classic_group import ClassicGroup, State
from kafkalite.group_coordinator.classic_member import ClassicMember
from kafkalite.group_coordinator.classic_protocol import ClassicProtocol, tell_waiting
from kafkalite.group_coordinator.consumer_group import ConsumerGroup
from kafkalite.group_coordinator.consumer_member import Assigned, ConsumerMember
from kafkalite.group_coordinator.services import GroupServices
from kafkalite.group_coordinator.subscriptions import (
    assignment_from,
    by_name,
    encoded_assignment,
    subscription_from,
)
from kafkalite.group_coordinator.timers import Timer
from kafkalite.group_coordinator.topics_view import TopicsView
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from kafkalite.wire.messages.join_group import JoinGroupRequestProtocol
from kafkalite.wire.messages.stored.consumer_group_member_metadata import ClassicMemberMetadata
from kafkalite.wire.messages.stored.consumer_group_member_metadata import (
    ClassicProtocol as StoredProtocol,
)


class Upgrade:
    """A classic group on its way to a consumer group. A thread may work it out, from what the group
    was when this began."""

    def __init__(self, group: ClassicGroup, topics: TopicsView) -> None:
        self._group = group
        self._topics = topics
        self._epoch = group.generation_id
        self._protocol_name = group.protocol_name
        # They change while others have their turn.
        self._members = [copy(member) for member in group.members.values()]
        self._standing = _standing(group)

    @property
    def is_current(self) -> bool:
        """True if the classic group is as it was."""
        return self._standing == _standing(self._group)

    def decide(self, changes: Changes[ConsumerGroup]) -> None:
        """Give the new consumer group in `changes` what the classic group has.

        Raises KafkaError: GROUP_ID_NOT_FOUND if it cannot be converted; UNKNOWN_SERVER_ERROR while
        it has no protocol yet, or a member joins that does not support the group's. Source:
        ConsumerGroup.fromClassicGroup, which stumbles there.
        """
        changes.records += self._group.tombstones()
        if self._members:
            members = [self._consumer_member(member) for member in self._members]
            self._add_members(changes, members)

    def _add_members(
        self, changes: Changes[ConsumerGroup], members: Sequence[ConsumerMember]
    ) -> None:
        group_id, epoch = changes.group.group_id, self._epoch
        for member in members:
            changes.add(consumer_records.member(group_id, member))
        changes.add(consumer_records.RECORDS.group_epoch(group_id, epoch, 0))
        for member in members:
            target = {t: frozenset(partitions) for t, partitions in member.assigned.items()}
            changes.add(consumer_records.target(group_id, member.member_id, target))
        changes.add(consumer_records.RECORDS.assignment_epoch(group_id, epoch, 0))
        for member in members:
            changes.add(consumer_records.current_assignment(group_id, member))

    def _consumer_member(self, member: ClassicMember) -> ConsumerMember:
        group = self._group
        assignment = assignment_from(member.assignment, group.group_id, member.member_id)
        if assignment is None:
            raise _malformed(group)
        if assignment.user_data:
            # Some assignors leave notes for the next time, which would be lost.
            raise _cannot_upgrade(
                group,
                "an unsupported custom assignor is in use. Please refer to the documentation or"
                " switch to a default assignor before re-attempting the upgrade",
            )
        if all(each.name != self._protocol_name for each in member.protocols):
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        metadata = member.metadata(self._protocol_name)
        subscription = subscription_from(metadata, group.group_id, member.member_id)
        if subscription is None:
            raise _malformed(group)
        epoch = self._epoch
        assigned = self._by_id(assignment)
        return ConsumerMember(
            member_id=member.member_id,
            instance_id=member.group_instance_id,
            rack_id=subscription.rack_id,
            client_id=member.client_id,
            client_host=member.client_host,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            subscribed_topic_names=frozenset(subscription.topics),
            classic=classic_metadata(member.session_timeout_ms, member.protocols),
            member_epoch=epoch,
            previous_member_epoch=epoch,
            assigned=assigned,
        )

    def _by_id(self, assignment: ConsumerProtocolAssignment) -> Assigned:
        assigned: dict[UUID, dict[int, int]] = {}
        for topic in assignment.assigned_partitions:
            topic_id = self._topics.topic_id(topic.topic)
            if topic_id is not None:
                assigned[topic_id] = dict.fromkeys(topic.partitions, self._epoch)
        return assigned


def _standing(group: ClassicGroup) -> list[object]:
    """All of a group that a conversion looks at."""
    members = [
        (
            *(member.member_id, member.group_instance_id, member.client_id, member.client_host),
            *(member.rebalance_timeout_ms, member.session_timeout_ms),
            *(member.protocols, member.assignment),
        )
        for member in group.members.values()
    ]
    return [group.state, group.generation_id, group.protocol_name, members]


class Downgrade(NamedTuple):
    """The classic group that a consumer group becomes. Nothing is written yet."""

    group: ClassicGroup
    records: list[state_log.StateRecord]
    rebalances: bool


class ProtocolChange:
    """Both directions. `replace(group)` puts a group in the place of the one with its id."""

    def __init__(
        self,
        services: GroupServices,
        classic: ClassicProtocol,
        replace: Callable[[ClassicGroup | ConsumerGroup], None],
    ) -> None:
        self._config = services.config
        self._classic = classic
        self._topics = services.topics
        self._save = services.save
        self._now_ms = services.now_ms
        self._replace = replace

    # Classic to consumer

    def upgrade(self, group: ClassicGroup) -> Upgrade:
        """Begin to make a consumer group of the group. Nothing is written yet.

        Members that wait in the classic group are told to join again, even if the conversion then
        fails. Raises KafkaError(GROUP_ID_NOT_FOUND), and leaves the group classic, if it must not
        be converted. Source: convertToConsumerGroup.
        """
        if not group.is_empty:
            self._check_upgrade(group)
            tell_waiting(group, ErrorCode.REBALANCE_IN_PROGRESS)
        return Upgrade(group, self._topics)

    def _check_upgrade(self, group: ClassicGroup) -> None:
        """Raises KafkaError(GROUP_ID_NOT_FOUND). Source: validateOnlineUpgrade of Kafka 4.3."""
        if self._config.group_consumer_migration_policy not in ("bidirectional", "upgrade"):
            reason = "online upgrade is disabled"
        elif not group.is_consumer_group:
            reason = "the group does not use the consumer embedded protocol"
        elif len(group.members) > self._config.group_consumer_max_size:
            reason = "the group size exceeds the consumer group maximum size"
        else:
            return
        raise _cannot_upgrade(group, reason)

    def finish_upgrade(self, group: ClassicGroup) -> None:
        """The consumer group is in place: members parked with the classic one shall rejoin."""
        self._classic.unload(group, ErrorCode.REBALANCE_IN_PROGRESS)

    # Consumer to classic

    def may_downgrade(self, group: ConsumerGroup, going: Sequence[ConsumerMember] = ()) -> bool:
        """True if a classic group of the members that stay is possible and allowed."""
        gone = [group.members[each] for each in {m.member_id for m in going} & group.members.keys()]
        staying = len(group.members) - len(gone)
        staying_classic = group.classic_member_count - sum(m.classic is not None for m in gone)
        return (
            staying_classic == staying
            and self._config.group_consumer_migration_policy in ("bidirectional", "downgrade")
            and staying <= self._config.group_max_size
        )

    def downgrade_without(self, group: ConsumerGroup, leaving: Sequence[ConsumerMember]) -> bool:
        """Make the group classic if all members that stay speak that protocol. They are asked to
        rejoin."""
        if len(leaving) == len(group.members) or not self.may_downgrade(group, leaving):
            return False
        self.carry_out(group, self.downgrade(group, group.epoch, leaving, rebalances=True))
        return True

    def downgrade(
        self,
        group: ConsumerGroup,
        generation_id: int,
        leaving: Sequence[ConsumerMember] = (),
        *,
        rebalances: bool,
    ) -> Downgrade:
        """Make a classic group of the members that stay; `rebalances`: they must rejoin. A thread
        may do this.

        `generation_id` is the group's epoch before the request that leads to this.
        """
        gone = {member.member_id for member in leaving}
        classic = self._classic_group(
            group, generation_id, [m for m in group.members.values() if m.member_id not in gone]
        )
        records = [*group.tombstones(), state_log.group_metadata(classic)]
        return Downgrade(classic, records, rebalances)

    def carry_out(self, group: ConsumerGroup, downgrade: Downgrade) -> None:
        """Write the classic group, and put it in the place of this one. Raises KafkaError."""
        classic = downgrade.group
        self._save(group.group_id, downgrade.records)
        group.close_timers()
        self._replace(classic)
        self._classic.rebalances.watch(classic)
        for member in classic.members.values():
            self._classic.watch(classic, member)
        if downgrade.rebalances:
            self._classic.rebalances.begin(classic)

    def _classic_group(
        self, group: ConsumerGroup, generation_id: int, members: Sequence[ConsumerMember]
    ) -> ClassicGroup:
        classic = ClassicGroup(
            group.group_id,
            now_ms=self._now_ms(),
            state=State.STABLE,
            generation_id=generation_id,
            protocol_type=group.protocol_type,
        )
        for member in members:
            assert member.classic is not None
            protocols = member.classic.supported_protocols
            classic.add(
                ClassicMember(
                    member_id=member.member_id,
                    group_instance_id=member.instance_id,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    rebalance_timeout_ms=member.rebalance_timeout_ms,
                    session_timeout_ms=member.classic.session_timeout_ms,
                    protocol_type=group.protocol_type,
                    protocols=[
                        JoinGroupRequestProtocol(name=p.name, metadata=p.metadata)
                        for p in protocols
                    ],
                    session=Timer(lambda: None),
                )
            )
        classic.protocol_name = classic.select_protocol()
        classic.subscribed_topics = classic.compute_subscribed_topics()
        for classic_member in classic.members.values():
            target = by_name(group.targets.get(classic_member.member_id, {}), self._topics)
            metadata = classic_member.metadata(classic.protocol_name)
            classic_member.assignment = encoded_assignment(target, metadata)
        return classic


def classic_metadata(
    session_timeout_ms: int, protocols: Iterable[JoinGroupRequestProtocol]
) -> ClassicMemberMetadata:
    """The part of a stored member that only the classic protocol has."""
    return ClassicMemberMetadata(
        session_timeout_ms=session_timeout_ms,
        supported_protocols=[
            StoredProtocol(name=protocol.name, metadata=bytes(protocol.metadata))
            for protocol in protocols
        ],
    )


def _malformed(group: ClassicGroup) -> KafkaError:
    return _cannot_upgrade(group, "the embedded consumer protocol is malformed")


def _cannot_upgrade(group: ClassicGroup, reason: str) -> KafkaError:
    return KafkaError(
        ErrorCode.GROUP_ID_NOT_FOUND,
        f"Cannot upgrade classic group {group.group_id} to consumer group because {reason}.",
    )
