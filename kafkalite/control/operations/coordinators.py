"""Coordinators: the node of a group or of a transactional id, and another one in its place."""

from __future__ import annotations

from kafkalite.control.cluster import ControlledCluster
from kafkalite.control.coordination import CoordinatorOf, CoordinatorView, MoveCoordinator
from kafkalite.control.lifecycle import MoveLeader
from kafkalite.control.operations.state import move_leader
from kafkalite.control.problems import Problem
from kafkalite.replica.partition import Partition
from kafkalite.requests.slices import in_slices_of_task
from kafkalite.requests.topic_names import OFFSETS_TOPIC, TRANSACTIONS_TOPIC


async def show_coordinator(cluster: ControlledCluster, request: CoordinatorOf) -> CoordinatorView:
    """The node that coordinates a group, or a transactional id."""
    return await _view(cluster, request)


async def move_coordinator(cluster: ControlledCluster, request: MoveCoordinator) -> CoordinatorView:
    """Have another node coordinate a group, or a transactional id, and all others of its
    partition.
    """
    seen = await _view(cluster, CoordinatorOf(request.group, request.transaction))
    await move_leader(cluster, MoveLeader(seen.topic, seen.partition, request.to))
    return await _view(cluster, CoordinatorOf(request.group, request.transaction))


async def coordinating_partition(
    cluster: ControlledCluster, topic_name: str, key: str
) -> Partition:
    """The partition whose leader coordinates a key. A missing internal topic is created."""
    topics = cluster.broker.services.topics
    return (await in_slices_of_task(topics.creating_internal(topic_name))).coordinating(key)


async def _view(cluster: ControlledCluster, request: CoordinatorOf) -> CoordinatorView:
    """The coordinator as it is now. Raises Problem."""
    if (request.group is None) == (request.transaction is None):
        raise Problem("invalid_request", "give one of `group` and `transaction`")
    if request.group is not None:
        name, key = OFFSETS_TOPIC, request.group
    else:
        name, key = TRANSACTIONS_TOPIC, request.transaction or ""
    partition = await coordinating_partition(cluster, name, key)
    return CoordinatorView(partition.leader_id, name, partition.index)
