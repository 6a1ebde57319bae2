"""A cluster as a whole: its time, its nodes, its connections, reset and restart, and waiting."""

from __future__ import annotations

from typing import Final

import trio

from kafkalite.broker import Broker
from kafkalite.control import advance as time_passing
from kafkalite.control.answers import (
    Advanced,
    ClockView,
    ClusterView,
    ConnectionView,
    NodeView,
    TopicView,
    Waited,
    WasReset,
)
from kafkalite.control.cluster import ControlledCluster
from kafkalite.control.clusters import Clusters
from kafkalite.control.conditions import Sight
from kafkalite.control.due import due_next
from kafkalite.control.durations import milliseconds, seconds
from kafkalite.control.lifecycle import (
    ConnectionName,
    MoveLeader,
    NodeName,
    Reset,
    Restart,
    RestartNode,
    RollNodes,
)
from kafkalite.control.paging import Page, page_by_name, page_in_order
from kafkalite.control.problems import Problem, not_found
from kafkalite.control.questions import Advance, Nothing, Skew, Wait
from kafkalite.control.views import partition_of, topic_of, viewing
from kafkalite.control.waits import wait_for
from kafkalite.replica.partition import Partition
from kafkalite.requests.slices import WaitingSteps, in_slices_of_task

_LONGEST_WAIT_SECONDS = 3600.0
_YEAR_10_000_MS: Final = 253_402_300_800_000


async def show_cluster(cluster: ControlledCluster, request: Nothing) -> ClusterView:
    """The addresses of a cluster, and how much there is."""
    return cluster_view(cluster)


def cluster_view(cluster: ControlledCluster) -> ClusterView:
    """A cluster as it is now."""
    was = cluster.core.counts()
    return ClusterView(
        name=cluster.name,
        bootstrap=cluster.broker.bootstrap,
        cluster_id=cluster.broker.services.cluster.cluster_id,
        nodes=_nodes(cluster.broker),
        topics=was.topics,
        records=was.records,
        groups=was.groups,
        connections=len(cluster.broker.connections),
        resets=cluster.resets,
    )


async def reset(clusters: Clusters, cluster: ControlledCluster, request: Reset) -> WasReset:
    """Begin again with nothing, at the same addresses: topics, groups, faults and time are gone.

    With `to` it begins with the data of a snapshot.
    """
    was = cluster.core.counts()
    began = trio.current_time()
    kept = await cluster.reset(
        keep=request.keep,
        fill=None if request.to is None else clusters.filling(cluster, request.to),
        keeps_connections=request.connections == "keep",
    )
    took_ms = round((trio.current_time() - began) * 1000, 3)
    return WasReset(took_ms, was.topics, was.records, was.groups, kept)


async def restart(cluster: ControlledCluster, request: Restart) -> ClusterView:
    """Stop the broker and start it on its data; `unclean`: as after kill -9."""
    await cluster.restart(unclean=request.unclean)
    return cluster_view(cluster)


# Nodes


def _nodes(broker: Broker) -> list[NodeView]:
    up = broker.services.cluster.nodes
    addresses: dict[int, str] = {}
    for listener in broker.listeners:
        addresses.setdefault(listener.node_id, listener.advertised_address)
    return [NodeView(node_id, address, node_id in up) for node_id, address in addresses.items()]


async def list_nodes(cluster: ControlledCluster, request: Page) -> list[NodeView]:
    """The nodes and whether they are up; `after` is the id of one."""
    return page_in_order(_nodes(cluster.broker), request, lambda each: str(each.node))


def _view_of(cluster: ControlledCluster, node_id: int) -> NodeView:
    for node in _nodes(cluster.broker):
        if node.node == node_id:
            return node
    raise not_found("node", node_id)


async def stop_node(cluster: ControlledCluster, request: NodeName) -> NodeView:
    """Let a node go, as if its process had died: others lead what it led."""
    await in_slices_of_task(stopping(cluster, request.node))
    return _view_of(cluster, request.node)


def stopping(cluster: ControlledCluster, node_id: int) -> WaitingSteps[None]:
    """Let a node go. Raises Problem."""
    try:
        yield from cluster.broker.nodes.stopping(node_id)
    except KeyError:
        raise Problem("conflict", f"node {node_id} is not up", value=node_id) from None


async def start_node(cluster: ControlledCluster, request: NodeName) -> NodeView:
    """Let a stopped node come back at its address."""
    await in_slices_of_task(starting(cluster, request.node))
    return _view_of(cluster, request.node)


def starting(cluster: ControlledCluster, node_id: int) -> WaitingSteps[None]:
    """Let a node come back. Raises Problem."""
    try:
        yield from cluster.broker.nodes.starting(node_id)
    except KeyError:
        raise Problem("conflict", f"node {node_id} was not stopped", value=node_id) from None


async def add_node(cluster: ControlledCluster, request: Nothing) -> NodeView:
    """Let a new node join."""
    return _view_of(cluster, await in_slices_of_task(cluster.broker.nodes.adding()))


async def remove_node(cluster: ControlledCluster, request: NodeName) -> Nothing:
    """Let a node go for good."""
    await in_slices_of_task(removing(cluster, request.node))
    return Nothing()


def removing(cluster: ControlledCluster, node_id: int) -> WaitingSteps[None]:
    """Let a node go for good. Raises Problem."""
    try:
        yield from cluster.broker.nodes.removing(node_id)
    except KeyError:
        raise not_found("node", node_id) from None
    except ValueError as error:
        raise Problem("conflict", str(error)) from None


async def restart_node(cluster: ControlledCluster, request: RestartNode) -> NodeView:
    """Let a node go, as if its process had died, and come back at its address."""
    pause = seconds(request.pause, field="pause")
    async with cluster.turn:
        await in_slices_of_task(stopping(cluster, request.node))
    await _come_back(cluster, request.node, pause)
    return _view_of(cluster, request.node)


async def roll_nodes(cluster: ControlledCluster, request: RollNodes) -> list[NodeView]:
    """Stop each node that is up, and start it again, one after the other."""
    pause = seconds(request.pause, field="pause")
    for node in _nodes(cluster.broker):
        if node.up:
            await restart_node(cluster, RestartNode(node.node, request.pause))
            await trio.sleep(pause)
    return _nodes(cluster.broker)


async def _come_back(cluster: ControlledCluster, node_id: int, pause: float) -> None:
    """Start a node after a pause, unless somebody has done so, or reset or ended the cluster."""
    broker = cluster.broker
    await trio.sleep(pause)
    async with cluster.turn:
        is_there = broker is cluster.broker and broker.is_ready
        if is_there and node_id not in broker.services.cluster.nodes:
            await in_slices_of_task(starting(cluster, node_id))


async def move_leader(cluster: ControlledCluster, request: MoveLeader) -> TopicView:
    """Have another in-sync replica lead a partition, or each of a topic's.

    Without `to` it is the next in the order of the replicas; where no other is in sync, the
    leader stays.
    """
    cluster.broker.controller.settle()
    topic = topic_of(cluster.broker, request.topic)
    partitions = topic.partitions
    if request.partition is not None:
        partitions = [partition_of(cluster.broker, request.topic, request.partition)]
    leaders = [(each, _new_leader(each, request.to)) for each in partitions]
    for partition, leader in leaders:
        if leader != partition.leader_id:
            cluster.broker.controller.move_leader(partition.topic_id, partition.index, leader)
    return await in_slices_of_task(viewing(topic_of(cluster.broker, request.topic)))


def _new_leader(partition: Partition, wanted: int | None) -> int:
    """The replica that is to lead. Raises Problem if it is not in sync."""
    in_sync = partition.in_sync_replicas
    if wanted is None:
        order = [each for each in partition.replicas if each in in_sync]
        if partition.leader_id not in order:
            return partition.leader_id
        return order[(order.index(partition.leader_id) + 1) % len(order)]
    if wanted not in in_sync:
        raise Problem(
            "conflict",
            f"node {wanted} is not in sync with {partition.topic}-{partition.index}",
            value=wanted,
            hint=f"in sync are {', '.join(map(str, in_sync))}",
        )
    return wanted


# Connections


def _connection_views(cluster: ControlledCluster) -> list[ConnectionView]:
    return [
        ConnectionView(
            str(each),
            each.context.client_id,
            each.listener.node_id,
            each.listener.name,
            each.context.software,
        )
        for each in cluster.broker.connections
    ]


async def list_connections(cluster: ControlledCluster, request: Page) -> list[ConnectionView]:
    """The connections that are open; an id is the client's address and port."""
    return page_by_name(_connection_views(cluster), request, lambda each: each.connection)


async def close_connection(cluster: ControlledCluster, request: ConnectionName) -> Nothing:
    """Cut a connection without another word."""
    for each in cluster.broker.connections:
        if str(each) == request.connection:
            each.abort()
            return Nothing()
    raise not_found("connection", request.connection)


# Time


async def show_clock(cluster: ControlledCluster, request: Nothing) -> ClockView:
    """The cluster's time, and what it will bring about next."""
    clock = cluster.clock
    return ClockView(
        now_ms=clock.now_ms(),
        frozen=clock.is_frozen,
        ahead_ms=clock.ahead_ms,
        skew_ms=clock.skew_ms,
        due=await in_slices_of_task(due_next(cluster.broker, clock)),
    )


async def advance_clock(cluster: ControlledCluster, request: Advance) -> Advanced:
    """Move time on; what falls due happens now, in order, and is reported.

    Members whose connections are open keep their sessions, unless `members` is "expire".
    """
    clock = cluster.clock
    given = [each for each in (request.by, request.to, request.next or None) if each is not None]
    if len(given) != 1:
        raise Problem("invalid_advance", "give one of `by`, `to` and `next`")
    await trio.lowlevel.checkpoint_if_cancelled()
    if request.by is not None:
        by_ms = milliseconds(request.by, field="by")
    elif request.to is not None:
        by_ms = request.to - clock.now_ms()
    else:
        due = await in_slices_of_task(due_next(cluster.broker, clock, limit=1))
        by_ms = max(0, due[0].at_ms - clock.now_ms() + 1) if due else 0
    if by_ms < 0:
        raise Problem(
            "invalid_advance", "time does not go back", hint="`clock skew` moves timestamps alone"
        )
    _check_time("invalid_advance", clock.now_ms() + by_ms)
    return await time_passing.advance(
        cluster.broker,
        clock,
        by_ms,
        members="expire" if request.next else request.members,
        connected=cluster.core.connected_members(),
    )


async def freeze_clock(cluster: ControlledCluster, request: Nothing) -> ClockView:
    """Let time stand still: no session, transaction or retention runs out."""
    cluster.clock.freeze()
    return await show_clock(cluster, request)


async def run_clock(cluster: ControlledCluster, request: Nothing) -> ClockView:
    """Let time go on from where it stands."""
    cluster.clock.run()
    return await show_clock(cluster, request)


async def skew_clock(cluster: ControlledCluster, request: Skew) -> ClockView:
    """Let what is written be off by so much; sessions do not notice."""
    clock = cluster.clock
    by_ms = milliseconds(request.by, field="by")
    _check_time("invalid_skew", clock.now_ms() - clock.skew_ms + by_ms)
    clock.skew(by_ms)
    return await show_clock(cluster, Nothing())


def _check_time(code: str, now_ms: int) -> None:
    """Raises Problem if records could not be given this time, or clients could not show it."""
    if not 0 <= now_ms < _YEAR_10_000_MS:
        raise Problem(code, "the cluster's time would not be in the years 1970 to 9999")


async def reset_clock(cluster: ControlledCluster, request: Nothing) -> ClockView:
    """Write the machine's time again, and run."""
    cluster.clock.reset()
    return await show_clock(cluster, request)


# Waiting


async def wait(cluster: ControlledCluster, request: Wait) -> Waited:
    """Wait for a condition; if it does not come true in time, the answer says what is
    missing.
    """
    timeout = min(seconds(request.timeout, field="timeout"), _LONGEST_WAIT_SECONDS)
    sight = Sight(
        lambda: cluster.broker,
        lambda: cluster.faults.book,
        lambda: [each.context.client_id for each in cluster.broker.connections],
        trio.current_time,
        lambda: cluster.clock.is_frozen,
        lambda: cluster.data_number,
    )
    return await wait_for(
        request.until, timeout, sight, lambda: cluster.faults.holds, cluster.begun
    )
