"""Says what a cluster looks like, as plain values: topics, groups with their lag,
transactions.
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from kafkalite.broker import Broker
from kafkalite.control.answers import (
    CommittedView,
    GroupView,
    MemberView,
    PartitionView,
    TopicView,
    TransactionView,
)
from kafkalite.control.problems import not_found
from kafkalite.coordinators.transaction_coordinator.transaction import Transaction
from kafkalite.group_coordinator.classic_group import ClassicGroup, ClassicGroupState
from kafkalite.group_coordinator.classic_member import ClassicMember
from kafkalite.group_coordinator.modern_member import ModernMember
from kafkalite.group_coordinator.shard import AnyModernGroup, Group
from kafkalite.replica.partition import Partition
from kafkalite.replica.topics import Topic
from kafkalite.requests.names import shown_topic
from kafkalite.requests.slices import Steps, mapped
from kafkalite.wire.message_codec import parse_body
from kafkalite.wire.messages.consumer_protocol_assignment import ConsumerProtocolAssignment


def topic_of(broker: Broker, name: str) -> Topic:
    """A topic. Raises Problem."""
    found = broker.services.topics.get(name)
    if found is None:
        raise not_found("topic", name)
    return found


def partition_of(broker: Broker, topic: str, index: int) -> Partition:
    """A partition. Raises Problem."""
    found = topic_of(broker, topic).partition(index)
    if found is None:
        raise not_found("partition", f"{topic}-{index}")
    return found


def viewing(topic: Topic) -> Steps[TopicView]:
    """A topic, in steps: partitions may change in between."""
    partitions = yield from mapped(_partition_view, topic.partitions)
    configs = dict(topic.configs)
    return TopicView(topic.name, topic.topic_id, topic.is_internal, configs, partitions)


def _partition_view(partition: Partition) -> PartitionView:
    log = partition.log
    return PartitionView(
        partition.index,
        partition.leader_id,
        partition.leader_epoch,
        list(partition.replicas),
        list(partition.in_sync_replicas),
        log.log_start_offset,
        log.high_watermark,
        log.last_stable_offset,
        sum(segment.size for segment in log.segments),
    )


def group_of(broker: Broker, group_id: str) -> Group:
    """A group. Raises Problem."""
    found = broker.services.group_coordinator.interventions.group(group_id)
    if found is None:
        raise not_found("group", group_id)
    return found


def instance_of(member: ClassicMember | ModernMember) -> str | None:
    """The name that a static member has."""
    if isinstance(member, ClassicMember):
        return member.group_instance_id
    return member.instance_id


def viewing_group(broker: Broker, group: Group) -> Steps[GroupView]:
    """A group with its members and offsets, in steps: they may change in between."""
    members: list[MemberView] = []
    for member_id in list(group.members):
        if member_id in group.members:
            members.append(
                _classic_member(broker, group, member_id)
                if isinstance(group, ClassicGroup)
                else _modern_member(broker, group, member_id)
            )
        yield
    offsets = yield from committed_by(broker, group.group_id)
    return GroupView(
        id=group.group_id,
        type=group.group_type,
        state=str(group.state.value),
        generation=group.generation_id if isinstance(group, ClassicGroup) else group.epoch,
        members=members,
        offsets=offsets,
    )


def _session_ms(broker: Broker, group: Group, member_id: str) -> tuple[int | None, int | None]:
    session = broker.services.group_coordinator.interventions.session(group, member_id)
    if session is None:
        return None, None
    return round(session.left * 1000), round(session.silent * 1000)


def _classic_member(broker: Broker, group: ClassicGroup, member_id: str) -> MemberView:
    member = group.members[member_id]
    is_stable = group.state is ClassicGroupState.STABLE
    return MemberView(
        member.member_id,
        member.group_instance_id,
        member.client_id,
        member.client_host,
        is_stable and member.member_id not in group.pending_sync,
        _classic_assignment(member.assignment) if is_stable else {},
        *_session_ms(broker, group, member.member_id),
        member.answer_join is None
        if group.state is ClassicGroupState.PREPARING_REBALANCE
        else member.member_id in group.pending_sync,
    )


def _classic_assignment(assignment: bytes) -> dict[str, list[int]]:
    """Says what a consumer was assigned; nothing for protocols other than the consumers'."""
    if len(assignment) < 2:
        return {}
    try:
        version = min(int.from_bytes(assignment[:2]), 3)
        parsed = parse_body(ConsumerProtocolAssignment, version, assignment[2:])
    except Exception:  # noqa: BLE001 - of a protocol that only its members understand
        return {}
    return {each.topic: sorted(each.partitions) for each in parsed.assigned_partitions}


def _modern_member(broker: Broker, group: AnyModernGroup, member_id: str) -> MemberView:
    member = group.members[member_id]
    is_ready = member.is_reconciled_to(group.assignment_epoch)
    assigned = member.assigned
    return MemberView(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        is_ready,
        {_topic_name(broker, each): sorted(assigned[each]) for each in assigned}
        if isinstance(assigned, Mapping)
        else _read_by(broker, group, assigned.active),
        *_session_ms(broker, group, member.member_id),
        not is_ready,
    )


def _read_by(
    broker: Broker, group: AnyModernGroup, tasks: Mapping[str, Mapping[int, int]]
) -> dict[str, list[int]]:
    """The partitions that active tasks read: each reads the partition of its number of every
    source topic of its subtopology (KIP-1071).
    """
    read: dict[str, list[int]] = {}
    for subtopology_id, names in group.sources() if group.group_type == "streams" else ():
        numbers = tasks.get(subtopology_id, {})
        for name in names:
            topic = broker.services.topics.get(name)
            count = 0 if topic is None else len(topic.partitions)
            if mine := sorted(each for each in numbers if each < count):
                read[name] = mine
    return read


def _topic_name(broker: Broker, topic_id: UUID) -> str:
    return shown_topic(topic_id, broker.services.topics.name_of)


def committed_by(broker: Broker, group_id: str) -> Steps[list[CommittedView]]:
    """The offsets of a group in their order, in steps: they may change in between."""
    shard = broker.services.group_coordinator.interventions.shard_of(group_id)
    views: list[CommittedView] = []
    if shard is None:
        return views
    for name in sorted(shard.offsets.of_group(group_id)):
        for index in sorted(shard.offsets.of_group(group_id).get(name, ())):
            if (view := committed_view(broker, group_id, name, index)) is not None:
                views.append(view)
            yield
    return views


def committed_view(broker: Broker, group_id: str, name: str, index: int) -> CommittedView | None:
    """The offset that a group has committed of a partition, with the lag to the high watermark."""
    shard = broker.services.group_coordinator.interventions.shard_of(group_id)
    committed = None if shard is None else shard.offsets.get(group_id, name, index)
    if committed is None:
        return None
    topic = broker.services.topics.get(name)
    end = (
        topic.partitions[index].high_watermark
        if topic is not None and index < len(topic.partitions)
        else committed.offset
    )
    lag = max(0, end - committed.offset)
    return CommittedView(name, index, committed.offset, lag, committed.metadata)


def transaction_of(broker: Broker, transactional_id: str) -> Transaction:
    """A transactional id. Raises Problem."""
    for each in broker.services.transaction_coordinator.all():
        if each.transactional_id == transactional_id:
            return each
    raise not_found("transaction", transactional_id)


def transaction_view(transaction: Transaction) -> TransactionView:
    """A transaction as it is now."""
    return TransactionView(
        transaction.transactional_id,
        transaction.state.title,
        transaction.producer_id,
        transaction.producer_epoch,
        transaction.timeout_ms,
        transaction.start_timestamp_ms,
        sorted(
            f"{topic}-{index}"
            for topic, indexes in transaction.partitions.items()
            for index in indexes
        ),
    )
