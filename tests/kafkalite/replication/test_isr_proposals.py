"""Proposals of in-sync replicas are sent together, one request at a time, until decided upon."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import trio
import trio.testing

from kafkalite.replication.isr import Proposal
from kafkalite.replication.isr_proposals import IsrProposals
from kafkalite.replication.replica import Replica
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    PartitionData,
    TopicData,
)
from tests.kafkalite.replication.one_replica import (
    FOLLOWED,
    LED,
    TOPIC_ID,
    Surroundings,
    batch,
    new_replica,
)

Decide = Callable[[AlterPartitionRequest], AlterPartitionResponse]


def decided(request: AlterPartitionRequest, *codes: ErrorCode) -> AlterPartitionResponse:
    """Each partition as it was proposed, unless a code says otherwise."""
    results = [
        PartitionData(
            partition_index=each.partition_index,
            error_code=code,
            leader_id=1,
            leader_epoch=each.leader_epoch,
            isr=[broker.broker_id for broker in each.new_isr_with_epochs],
            partition_epoch=each.partition_epoch + 1,
        )
        for each, code in zip(
            request.topics[0].partitions, codes or [ErrorCode.NONE] * 99, strict=False
        )
    ]
    return AlterPartitionResponse(topics=[TopicData(topic_id=TOPIC_ID, partitions=results)])


class World:
    """Proposals of one broker, and the controllers, who take a second for each request."""

    def __init__(self, root: Path) -> None:
        self.asked: list[AlterPartitionRequest] = []
        self.decisions: list[Decide] = []
        self.around = Surroundings()
        self.proposals = IsrProposals(1, lambda: 11, self.ask)
        self.replicas = [new_replica(root, self.around, index) for index in range(2)]
        for each in self.replicas:
            each.change(LED)

    async def ask(self, body: object) -> AlterPartitionResponse:
        assert isinstance(body, AlterPartitionRequest)
        self.asked.append(body)
        await trio.sleep(1)
        return self.decisions.pop(0)(body) if self.decisions else decided(body)

    def shrink(self, replica: Replica) -> None:
        """The follower is to be in sync no longer."""
        assert replica.leading is not None
        replica.leading.in_sync.propose([1])
        self.proposals.add(replica)

    async def run(self, seconds: float) -> None:
        with trio.move_on_after(seconds):
            await self.proposals.run()

    def in_sync(self) -> list[list[int]]:
        return [each.leading.in_sync.committed if each.leading else [] for each in self.replicas]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def partitions(request: AlterPartitionRequest) -> list[int]:
    return [each.partition_index for each in request.topics[0].partitions]


async def test_partitions_are_proposed_together(world: World, autojump_clock: object) -> None:
    for each in world.replicas:
        world.shrink(each)
    await world.run(10)
    (request,) = world.asked
    assert (request.broker_id, request.broker_epoch) == (1, 11)
    assert partitions(request) == [0, 1]
    first = request.topics[0].partitions[0]
    assert (first.leader_epoch, first.partition_epoch) == (1, 1)
    assert [(each.broker_id, each.broker_epoch) for each in first.new_isr_with_epochs] == [(1, 11)]
    assert world.in_sync() == [[1], [1]]
    assert (world.proposals.shrink_count, world.proposals.expand_count) == (2, 0)


async def test_what_is_committed_by_a_decision_is_told(
    world: World, autojump_clock: object
) -> None:
    """The follower that was waited for is not in sync any more."""
    replica = world.replicas[0]
    replica.log.append(batch(b"v"), leader_epoch=1)
    replica.appended()
    world.around.time = 1000.0  # it will not be back soon
    told: list[int] = []
    replica.on_change = lambda: told.append(replica.log.high_watermark)
    world.shrink(replica)
    await world.run(10)
    assert told == [1]


async def test_a_follower_is_proposed_with_its_own_epoch(
    world: World, autojump_clock: object
) -> None:
    replica = world.replicas[0]
    replica.change(replace(LED, partition_epoch=2, in_sync_replicas=(1,)))
    assert replica.leading is not None
    replica.leading.fetched(2, 0, 0, 1)
    assert world.around.done[-1] == "propose"
    world.proposals.add(replica)
    await world.run(10)
    (request,) = world.asked
    brokers = request.topics[0].partitions[0].new_isr_with_epochs
    assert [(each.broker_id, each.broker_epoch) for each in brokers] == [(1, 11), (2, 1)]
    assert world.in_sync()[0] == [1, 2]
    assert world.proposals.expand_count == 1


async def test_what_comes_meanwhile_waits_for_the_answer(
    world: World, autojump_clock: object
) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(world.proposals.run)
        world.shrink(world.replicas[0])
        await trio.sleep(0.5)
        world.shrink(world.replicas[1])
        await trio.sleep(0.4)
        assert len(world.asked) == 1
        await trio.sleep(10)
        nursery.cancel_scope.cancel()
    assert [partitions(each) for each in world.asked] == [[0], [1]]


@pytest.mark.parametrize(
    ("refusal", "again"),
    [
        (ErrorCode.NOT_CONTROLLER, True),
        (ErrorCode.UNKNOWN_SERVER_ERROR, True),
        (ErrorCode.INVALID_UPDATE_VERSION, False),
        (ErrorCode.FENCED_LEADER_EPOCH, False),
        (ErrorCode.INELIGIBLE_REPLICA, False),
        (ErrorCode.UNKNOWN_TOPIC_ID, False),
    ],
)
async def test_one_partition_that_is_refused(
    world: World, autojump_clock: object, refusal: ErrorCode, again: bool
) -> None:
    world.decisions = [lambda request: decided(request, refusal, ErrorCode.NONE)]
    for each in world.replicas:
        world.shrink(each)
    await world.run(30)
    assert [partitions(each) for each in world.asked] == ([[0, 1], [0]] if again else [[0, 1]])
    assert world.in_sync()[1] == [1]
    assert (world.in_sync()[0] == [1]) == again


async def test_a_request_that_is_refused_as_a_whole_is_sent_again(
    world: World, autojump_clock: object
) -> None:
    stale = AlterPartitionResponse(error_code=ErrorCode.STALE_BROKER_EPOCH)
    world.decisions = [lambda _: stale, lambda _: AlterPartitionResponse()]
    world.shrink(world.replicas[0])
    await world.run(30)
    assert len(world.asked) == 3  # an answer that leaves it out decides nothing
    assert world.in_sync()[0] == [1]


async def test_the_metadata_may_be_first(world: World, autojump_clock: object) -> None:
    replica = world.replicas[0]
    world.shrink(replica)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(world.proposals.run)
        await trio.sleep(0.5)
        replica.change(replace(FOLLOWED, leader_epoch=2, partition_epoch=2))
        replica.change(replace(LED, leader_epoch=3, partition_epoch=3))
        await trio.sleep(10)
        nursery.cancel_scope.cancel()
    assert len(world.asked) == 1
    assert replica.leading is not None
    assert replica.leading.in_sync.committed == [1, 2]
    assert replica.leading.in_sync.proposal is not Proposal.PENDING


async def test_one_that_leads_no_longer_proposes_nothing(
    world: World, autojump_clock: object
) -> None:
    world.shrink(world.replicas[0])
    world.replicas[0].change(replace(FOLLOWED, leader_epoch=2, partition_epoch=2))
    await world.run(10)
    assert world.asked == []


async def test_an_old_answer_says_nothing_about_a_newer_proposal(
    world: World, autojump_clock: object
) -> None:
    replica = world.replicas[0]
    assert replica.leading is not None
    in_sync = replica.leading.in_sync
    world.decisions = [lambda request: decided(request, ErrorCode.INVALID_UPDATE_VERSION)]
    world.shrink(replica)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(world.run, 10)
        await trio.sleep(0.5)
        replica.change(replace(LED, in_sync_replicas=[1], partition_epoch=5))
        in_sync.propose([1, 2])
        world.proposals.add(replica)
        await trio.sleep(1)
        assert in_sync.proposal is Proposal.PENDING
    assert [request.topics[0].partitions[0].partition_epoch for request in world.asked] == [1, 5]
    assert in_sync.committed == [1, 2]
