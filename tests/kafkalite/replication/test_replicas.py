"""All replicas of a broker: a fetcher for each leader that something follows, and no other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import trio

from kafkalite.wire.messages.alter_partition import AlterPartitionRequest
from tests.kafkalite.replication.model_controller import TOPIC_ID
from tests.kafkalite.replication.one_replica import LED, values
from tests.kafkalite.replication.two_nodes import LEADER, two_nodes


async def test_replicas_are_found_and_removed(tmp_path: Path, autojump_clock: object) -> None:
    async with two_nodes(tmp_path) as nodes:
        replicas = nodes.follower.replicas
        first, second = nodes.follower.replica(0), nodes.follower.replica(1)
        assert list(replicas) == [first, second]
        assert replicas.get(TOPIC_ID, 1) is second
        replicas.remove(first)
        assert list(replicas) == [second]
        assert replicas.get(TOPIC_ID, 0) is None


async def test_what_is_followed_is_copied_until_it_is_followed_no_more(
    tmp_path: Path, autojump_clock: object
) -> None:
    async with two_nodes(tmp_path) as nodes, trio.open_nursery() as nursery:
        await nursery.start(nodes.follower.replicas.run)
        nodes.change()
        nodes.leader.write(b"a")
        await trio.sleep(2)
        log = nodes.follower.replica().log
        assert values(log) == [b"a"]
        nodes.change(view=replace(LED, leader_id=-1, leader_epoch=2, partition_epoch=2))
        await trio.sleep(2)
        steps = nodes.network.steps
        await trio.sleep(10)
        assert nodes.network.steps == steps  # nothing is fetched, not even in vain
        nodes.change(view=replace(LED, leader_epoch=3, partition_epoch=3))
        nodes.leader.write(b"b")
        await trio.sleep(2)
        assert values(log) == [b"a", b"b"]
        nursery.cancel_scope.cancel()


async def test_partitions_of_one_leader_share_a_connection(
    tmp_path: Path, autojump_clock: object
) -> None:
    async with two_nodes(tmp_path) as nodes, trio.open_nursery() as nursery:
        await nursery.start(nodes.follower.replicas.run)
        connected: list[int] = []
        serve = nodes.leader.serving.serve

        async def counted(frame: bytes) -> bytes:
            if frame[:2] == b"\0\x12":  # ApiVersions, first on every connection
                connected.append(1)
            return await serve(frame)

        nodes.network.serve(LEADER, counted)
        for index in range(5):
            nodes.change(index)
            nodes.leader.write(b"v", index=index)
        await trio.sleep(5)
        assert [values(nodes.follower.replica(index).log) for index in range(5)] == [[b"v"]] * 5
        assert len(connected) == 1
        nursery.cancel_scope.cancel()


async def test_a_follower_that_falls_behind_is_proposed_to_go(
    tmp_path: Path, autojump_clock: object
) -> None:
    """The follower's task does not run, so that it copies nothing."""
    async with two_nodes(tmp_path) as nodes, trio.open_nursery() as nursery:
        await nursery.start(nodes.leader.replicas.run)
        nodes.change()
        nodes.leader.write(b"v")
        await trio.sleep(1.5)
        assert nodes.asked == []
        await trio.sleep(3)
        (request,) = nodes.asked
        assert isinstance(request, AlterPartitionRequest)
        (partition,) = request.topics[0].partitions
        assert [each.broker_id for each in partition.new_isr_with_epochs] == [LEADER]
        nursery.cancel_scope.cancel()


async def test_time_is_that_of_the_loop(tmp_path: Path, autojump_clock: object) -> None:
    async with two_nodes(tmp_path) as nodes:
        began = nodes.leader.replicas.now()
        await trio.sleep(7)
        assert nodes.leader.replicas.now() - began == 7
