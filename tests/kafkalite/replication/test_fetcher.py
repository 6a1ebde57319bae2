"""A fetcher copies from one leader all that follows it, and holds up no partition for another."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import trio

from kafkalite.peers.link import Address
from kafkalite.replication.fetch_state import Progress
from kafkalite.replication.fetcher import Fetcher
from tests.kafkalite.replication.one_replica import LED, values
from tests.kafkalite.replication.two_nodes import (
    CONFIG,
    FOLLOWER,
    LEADER,
    TwoNodes,
    two_nodes,
)


def fetcher(nodes: TwoNodes, address: Address | None = None) -> Fetcher:
    """The follower's side, which copies all of its partitions."""
    made = Fetcher(
        LEADER,
        FOLLOWER,
        config=CONFIG,
        broker_epoch=lambda: 1,
        address_of=lambda _: address or Address("", LEADER),
        connect=nodes.network.connect_from(FOLLOWER),
    )
    for replica in nodes.follower.replicas:
        made.add(replica)
    return made


async def run(made: Fetcher, seconds: float = 5) -> None:
    with trio.move_on_after(seconds):
        await made.run()


async def test_partitions_are_copied_and_committed(tmp_path: Path, autojump_clock: object) -> None:
    async with two_nodes(tmp_path) as nodes:
        for index in range(3):
            nodes.change(index)
            nodes.leader.write(b"%d" % index, index=index)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run, fetcher(nodes), 20)
            await trio.sleep(2)
            nodes.leader.write(b"more", index=1)
            await trio.sleep(2)
            nursery.cancel_scope.cancel()
        logs = [nodes.follower.replica(index).log for index in range(3)]
        assert [values(log) for log in logs] == [[b"0"], [b"1", b"more"], [b"2"]]
        for node in (nodes.leader, nodes.follower):
            marks = [node.replica(index).log.high_watermark for index in range(3)]
            assert marks == [1, 2, 1]


async def test_the_leader_hears_of_what_is_flushed(tmp_path: Path, autojump_clock: object) -> None:
    """flush.messages of the follower: its flush takes ten seconds."""
    async with two_nodes(tmp_path) as nodes:
        nodes.change()
        replica = nodes.follower.replica()
        log = replica.log
        log.config = replace(log.config, flush_messages=1)
        log.flush_requests.later = lambda log: None
        nodes.leader.write(b"v")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run, fetcher(nodes), 60)
            await trio.sleep(10)
            assert (values(log), nodes.leader.replica().log.high_watermark) == ([b"v"], 0)
            log.flush()
            replica.flushes.check_and_complete()
            await trio.sleep(0.5)
            assert nodes.leader.replica().log.high_watermark == 1
            nursery.cancel_scope.cancel()


async def test_it_ends_when_nothing_is_left(tmp_path: Path, autojump_clock: object) -> None:
    async with two_nodes(tmp_path) as nodes:
        nodes.change()
        made = fetcher(nodes)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(made.run)
            await trio.sleep(1)
            made.remove(nodes.follower.replica())
            began = trio.current_time()
        assert trio.current_time() - began < 5
        assert made.fetch_count > 0


async def test_one_partition_in_trouble_holds_up_no_other(
    tmp_path: Path, autojump_clock: object
) -> None:
    """The leader does not know the follower's epoch of partition 0 yet."""
    async with two_nodes(tmp_path) as nodes:
        nodes.change(0)
        nodes.change(1)
        nodes.leader.write(b"0", index=0)
        nodes.leader.write(b"1", index=1)
        ahead = replace(LED, leader_epoch=2, partition_epoch=2)
        nodes.follower.replica(0).change(ahead)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run, fetcher(nodes), 60)
            await trio.sleep(5)
            assert values(nodes.follower.replica(0).log) == []
            assert values(nodes.follower.replica(1).log) == [b"1"]
            nodes.leader.replica(0).change(ahead)
            await trio.sleep(5)
            nursery.cancel_scope.cancel()
        assert values(nodes.follower.replica(0).log) == [b"0"]


async def test_a_leader_of_a_later_epoch_is_not_asked_again(
    tmp_path: Path, autojump_clock: object
) -> None:
    async with two_nodes(tmp_path) as nodes:
        nodes.change()
        nodes.leader.replica().change(replace(LED, leader_epoch=2, partition_epoch=2))
        made = fetcher(nodes)
        await run(made)
        assert nodes.follower.replica().fetch_state.progress is Progress.STOPPED
        assert made.fetch_count == 1


async def test_a_leader_that_is_gone_is_asked_again(
    tmp_path: Path, autojump_clock: object, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    async with two_nodes(tmp_path) as nodes:
        nodes.change()
        nodes.leader.write(b"v")
        nodes.network.stop(LEADER)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run, fetcher(nodes), 60)
            await trio.sleep(10)
            told = [each.getMessage() for each in caplog.records]
            assert [each for each in told if each.startswith("leader 1")] == [
                "leader 1: :1: nobody there"
            ]
            nodes.network.serve(LEADER, nodes.leader.serving.serve)
            await trio.sleep(5)
            nursery.cancel_scope.cancel()
        assert values(nodes.follower.replica().log) == [b"v"]


async def test_a_log_that_the_leader_has_not_begins_again(
    tmp_path: Path, autojump_clock: object
) -> None:
    """Retention took at the leader what the follower would have next."""
    async with two_nodes(tmp_path) as nodes:
        nodes.change(view=replace(LED, in_sync_replicas=(1,)))
        for value in (b"a", b"b", b"c"):
            nodes.leader.write(value)
        nodes.leader.replica().log.delete_records_before(2)
        await run(fetcher(nodes))
        log = nodes.follower.replica().log
        assert (log.log_start_offset, values(log)) == (2, [b"c"])


@pytest.mark.parametrize("leader_id", [-1, LEADER], ids=["no leader", "the same, elected again"])
async def test_an_answer_that_came_too_late_is_dropped(
    tmp_path: Path, autojump_clock: object, leader_id: int
) -> None:
    async with two_nodes(tmp_path) as nodes:
        nodes.change()
        made = fetcher(nodes)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run, made, 60)
            await trio.sleep(2)  # a Fetch is parked at the leader
            replica = nodes.follower.replica()
            replica.change(replace(LED, leader_id=leader_id, leader_epoch=2, partition_epoch=2))
            nodes.leader.write(b"late")
            await trio.sleep(2)
            assert values(replica.log) == []
            nursery.cancel_scope.cancel()


def _write(nodes: TwoNodes) -> int:
    """Many small batches: a Fetch brings 2000 bytes at most. Their bytes."""
    for _ in range(300):
        nodes.leader.write(bytes(40))
    return nodes.leader.replica().log.size_bytes


async def _seconds_until_copied(nodes: TwoNodes) -> float:
    began = trio.current_time()
    leader, log = nodes.leader.replica().log, nodes.follower.replica().log
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run, fetcher(nodes), 600)
        while log.log_end_offset < leader.log_end_offset:  # noqa: ASYNC110 - logs tell no one
            await trio.sleep(0.1)
        nursery.cancel_scope.cancel()
    return trio.current_time() - began


BEHIND = replace(LED, in_sync_replicas=(1,))


async def test_a_throttled_follower_keeps_to_its_rate(
    tmp_path: Path, autojump_clock: object
) -> None:
    async with two_nodes(tmp_path) as nodes:
        nodes.change(view=BEHIND)
        nodes.follower.replica().is_throttled_as_follower = True
        nodes.rate = 1000
        size = _write(nodes)
        seconds = await _seconds_until_copied(nodes)
        # The last Fetches may go beyond it, and the rate forgets what is long ago.
        assert 0.7 * size / nodes.rate <= seconds <= 1.5 * size / nodes.rate


async def test_a_follower_that_is_not_named_knows_no_rate(
    tmp_path: Path, autojump_clock: object
) -> None:
    async with two_nodes(tmp_path) as nodes:
        nodes.change(view=BEHIND)
        nodes.rate = 1000
        _write(nodes)
        assert await _seconds_until_copied(nodes) < 5


async def test_a_follower_that_has_caught_up_is_not_held_back(
    tmp_path: Path, autojump_clock: object
) -> None:
    """Its bytes count, and another that is behind waits for them."""
    async with two_nodes(tmp_path) as nodes:
        nodes.change()
        replica = nodes.follower.replica()
        replica.is_throttled_as_follower = True
        nodes.rate = 10
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run, fetcher(nodes), 600)
            for number in range(5):
                nodes.leader.write(bytes(1000))
                await trio.sleep(1)
                assert replica.log.log_end_offset == number + 1
            nursery.cancel_scope.cancel()
        assert not replica.holds_back
        replica.fetch_state.lag = 1
        assert replica.holds_back
