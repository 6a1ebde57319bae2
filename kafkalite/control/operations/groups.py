"""Groups and transactions: who is there, and what is done to them."""

from __future__ import annotations

from functools import partial

import trio

from kafkalite.control.answers import CommittedView, Expired, GroupView, TransactionView
from kafkalite.control.cluster import ControlledCluster
from kafkalite.control.durations import milliseconds, seconds
from kafkalite.control.operations.asking import ask, check, refused
from kafkalite.control.operations.coordinators import coordinating_partition
from kafkalite.control.paging import Page, page_by_name
from kafkalite.control.problems import Problem, not_found
from kafkalite.control.questions import (
    CommittedOffset,
    ExpireMembers,
    GroupName,
    Nothing,
    RebalanceGroup,
    SeekGroup,
    TransactionName,
)
from kafkalite.control.views import (
    committed_view,
    group_of,
    instance_of,
    topic_of,
    transaction_of,
    transaction_view,
    viewing_group,
)
from kafkalite.replica.partition import Partition
from kafkalite.replica.topics import Topic
from kafkalite.requests.disk_threads import off_loop
from kafkalite.requests.slices import WaitingSteps, in_slices_of_task, mapped, mapped_in_steps
from kafkalite.requests.topic_names import OFFSETS_TOPIC
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.delete_groups import DeleteGroupsRequest
from kafkalite.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

_COMMIT_VERSION = 9


async def list_groups(cluster: ControlledCluster, request: Page) -> list[GroupView]:
    """All groups, by their ids."""
    groups = cluster.broker.services.group_coordinator.interventions.groups()
    chosen = page_by_name(groups, request, lambda group: group.group_id)
    return await in_slices_of_task(mapped_in_steps(partial(viewing_group, cluster.broker), chosen))


async def _view_of(cluster: ControlledCluster, group_id: str) -> GroupView:
    group = group_of(cluster.broker, group_id)
    return await in_slices_of_task(viewing_group(cluster.broker, group))


async def show_group(cluster: ControlledCluster, request: GroupName) -> GroupView:
    """One group: members, what they are assigned, offsets and lag."""
    return await _view_of(cluster, request.group)


async def committed(cluster: ControlledCluster, request: CommittedOffset) -> CommittedView:
    """The offset that a group has committed of a partition."""
    found = committed_view(cluster.broker, request.group, request.topic, request.partition)
    if found is not None:
        return found
    raise not_found("committed offset", f"{request.group} of {request.topic}-{request.partition}")


async def _coordinator(cluster: ControlledCluster, group_id: str) -> int:
    """The node that coordinates a group."""
    return (await coordinating_partition(cluster, OFFSETS_TOPIC, group_id)).leader_id


async def seek_group(cluster: ControlledCluster, request: SeekGroup) -> GroupView:
    """Set the offsets of a group that has no members. `to`: an offset, "earliest" or
    "latest"; `since`: the first record that is not older than this.
    """
    if (request.to is None) == (request.since is None):
        raise Problem("invalid_offset", "give one of `to` and `since`")
    topic = topic_of(cluster.broker, request.topic)
    now_ms = cluster.clock.now_ms()
    partitions = await in_slices_of_task(_places(topic, request, now_ms))
    body = OffsetCommitRequest(
        group_id=request.group,
        topics=[OffsetCommitRequestTopic(name=request.topic, partitions=partitions)],
    )
    node_id = await _coordinator(cluster, request.group)
    answer = await ask(cluster.broker, ApiKey.OFFSET_COMMIT, _COMMIT_VERSION, body, node_id)
    for each in answer.topics:
        for partition in each.partitions:
            check(partition.error_code, f"the offsets of group {request.group} are not set")
    return await _view_of(cluster, request.group)


def _places(
    topic: Topic, request: SeekGroup, now_ms: int
) -> WaitingSteps[list[OffsetCommitRequestPartition]]:
    places: list[OffsetCommitRequestPartition] = []
    for each in topic.partitions:
        if request.partition in (None, each.index):
            offset = yield from off_loop(partial(_offset_of, each, request, now_ms))
            place = OffsetCommitRequestPartition(
                partition_index=each.index, committed_offset=offset
            )
            places.append(place)
        yield None
    return places


def _offset_of(partition: Partition, request: SeekGroup, now_ms: int) -> int:
    """The offset of a partition that is asked for; its end, if nothing is as young."""
    since, to = request.since, request.to
    if since is not None:
        if isinstance(since, str):
            since = now_ms + milliseconds(since, field="since")
        found = partition.log.offset_for_timestamp(since)
        return partition.high_watermark if found is None else found.offset
    if isinstance(to, int):
        return to
    if to == "earliest":
        return partition.log.log_start_offset
    if to == "latest":
        return partition.high_watermark
    raise Problem("invalid_offset", f"{to!r} is no offset", value=to)


async def delete_group(cluster: ControlledCluster, request: GroupName) -> Nothing:
    """Forget a group that has no members, with its offsets."""
    group_of(cluster.broker, request.group)
    body = DeleteGroupsRequest(groups_names=[request.group])
    node_id = await _coordinator(cluster, request.group)
    answer = await ask(cluster.broker, ApiKey.DELETE_GROUPS, 2, body, node_id)
    check(answer.results[0].error_code, f"group {request.group} is not deleted")
    return Nothing()


async def expire_members(cluster: ControlledCluster, request: ExpireMembers) -> Expired:
    """Let members go as if nothing had been heard of them: one of them (by member id, instance
    id or client id), or all.
    """
    groups = cluster.broker.services.group_coordinator.interventions
    group = group_of(cluster.broker, request.group)
    chosen = [
        member_id
        for member_id, each in group.members.items()
        if request.member in (None, member_id, instance_of(each), each.client_id)
    ]
    if not chosen and request.member is not None:
        raise not_found("member", request.member)
    for member_id in chosen:
        groups.expire(group, member_id)
    return Expired(chosen)


async def rebalance_group(cluster: ControlledCluster, request: RebalanceGroup) -> GroupView:
    """Begin a rebalance, or several of them, one every so often."""
    groups = cluster.broker.services.group_coordinator.interventions
    every = seconds(request.every, field="every")
    if request.times > 1:
        await trio.lowlevel.checkpoint_if_cancelled()  # what may not wait begins none
    for turn in range(request.times):
        if turn:
            await trio.sleep(every)
        groups.rebalance(group_of(cluster.broker, request.group))
    return await _view_of(cluster, request.group)


# Transactions


async def list_transactions(cluster: ControlledCluster, request: Page) -> list[TransactionView]:
    """All transactional ids in their order."""
    transactions = cluster.broker.services.transaction_coordinator.all()
    chosen = page_by_name(transactions, request, lambda each: each.transactional_id)
    return await in_slices_of_task(mapped(transaction_view, chosen))


async def show_transaction(cluster: ControlledCluster, request: TransactionName) -> TransactionView:
    """One transactional id and its last transaction."""
    return transaction_view(transaction_of(cluster.broker, request.transaction))


async def fence_producer(cluster: ControlledCluster, request: TransactionName) -> TransactionView:
    """Take the transactional id away from its producer, as another instance of it does.

    An open transaction is aborted.
    """
    broker = cluster.broker
    transaction = transaction_of(broker, request.transaction)
    coordinator = broker.services.transaction_coordinator
    node_id = coordinator.node_of(request.transaction)
    try:
        coordinator.init_producer_id(
            request.transaction, node_id, timeout_ms=transaction.timeout_ms, expected=None
        )
    except KafkaError as error:
        # The open transaction is being aborted, and its producer is fenced.
        if error.code is not ErrorCode.CONCURRENT_TRANSACTIONS:
            raise refused(error, f"{request.transaction} is not fenced") from None
    return transaction_view(transaction_of(broker, request.transaction))


async def abort_transaction(
    cluster: ControlledCluster, request: TransactionName
) -> TransactionView:
    """Abort an open transaction as if its timeout had passed."""
    broker = cluster.broker
    transaction = transaction_of(broker, request.transaction)
    if transaction.state.title != "Ongoing":
        raise Problem("conflict", f"the transaction of {request.transaction} is not open")
    return await fence_producer(cluster, request)
