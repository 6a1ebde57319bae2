"""Controllers are told where replicas lie: together, again where refused, the last word only."""

from __future__ import annotations

from uuid import UUID

import pytest
import trio
import trio.testing

from kafkalite.quorum.assignments import Assignments
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    DirectoryData,
    PartitionData,
    TopicData,
)
from tests.kafkalite.quorum.answering import A, Quorum, channel

IDS = [UUID(int=100 + number) for number in range(10)]


def told(topic: int, index: int, code: ErrorCode) -> AssignReplicasToDirsResponse:
    partition = PartitionData(partition_index=index, error_code=code)
    topics = [TopicData(topic_id=IDS[topic], partitions=[partition])]
    return AssignReplicasToDirsResponse(directories=[DirectoryData(id=IDS[9], topics=topics)])


async def test_directories_are_told_together_and_again(
    autojump_clock: trio.testing.MockClock,
) -> None:
    asking, link = channel(
        Quorum(A),
        AssignReplicasToDirsResponse(error_code=ErrorCode.STALE_BROKER_EPOCH),
        told(0, 1, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        told(0, 1, ErrorCode.NONE),
    )
    assignments = Assignments(1, lambda: 5, asking)
    assignments.tell(IDS[0], 0, IDS[8])
    assignments.tell(IDS[0], 0, IDS[9])
    assignments.tell(IDS[0], 1, IDS[9])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(assignments.run)
        await trio.sleep(30)
        nursery.cancel_scope.cancel()
    sent = [
        {
            (each.id, partition.partition_index)
            for each in body.directories
            for topic in each.topics
            for partition in topic.partitions
        }
        for _, body in link.asked
    ]
    both = {(IDS[9], 0), (IDS[9], 1)}
    assert sent == [both, both, {(IDS[9], 1)}]


def sent(body: object) -> list[tuple[UUID, UUID, int]]:
    assert isinstance(body, AssignReplicasToDirsRequest)
    return [
        (each.id, topic.topic_id, partition.partition_index)
        for each in body.directories
        for topic in each.topics
        for partition in topic.partitions
    ]


async def run(assignments: Assignments, seconds: float) -> None:
    with trio.move_on_after(seconds):
        await assignments.run()


async def test_a_request_says_who_speaks_and_for_which_directories(
    autojump_clock: trio.testing.MockClock,
) -> None:
    asking, link = channel(Quorum(A), AssignReplicasToDirsResponse())
    assignments = Assignments(1, lambda: 5, asking)
    for index, directory in ((0, 8), (1, 9), (2, 8)):
        assignments.tell(IDS[0], index, IDS[directory])
    assignments.tell(IDS[1], 0, IDS[8])
    await run(assignments, 30)
    ((_, body),) = link.asked
    assert isinstance(body, AssignReplicasToDirsRequest)
    assert (body.broker_id, body.broker_epoch) == (1, 5)
    assert len({each.id for each in body.directories}) == len(body.directories) == 2
    assert sorted(sent(body)) == sorted(
        [(IDS[8], IDS[0], 0), (IDS[8], IDS[0], 2), (IDS[8], IDS[1], 0), (IDS[9], IDS[0], 1)]
    )


@pytest.mark.parametrize("code", [ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION])
async def test_a_topic_that_is_gone_is_not_told_again(
    autojump_clock: trio.testing.MockClock, code: ErrorCode
) -> None:
    asking, link = channel(Quorum(A), told(0, 0, code))
    assignments = Assignments(1, lambda: 5, asking)
    assignments.tell(IDS[0], 0, IDS[9])
    await run(assignments, 30)
    assert len(link.asked) == 1


async def test_one_request_has_as_many_as_the_controllers_take(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """AssignmentsManager.MAX_ASSIGNMENTS_PER_REQUEST."""
    asking, link = channel(Quorum(A), AssignReplicasToDirsResponse())
    assignments = Assignments(1, lambda: 5, asking)
    for index in range(2251):
        assignments.tell(IDS[0], index, IDS[9])
    await run(assignments, 30)
    counts = [len(sent(body)) for _, body in link.asked]
    assert counts == [2250, 1]


async def test_a_replica_that_moves_meanwhile_is_told_again(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """An answer takes 10 ms here: the second word comes while the first is under way."""
    asking, link = channel(Quorum(A), AssignReplicasToDirsResponse())
    assignments = Assignments(1, lambda: 5, asking)
    assignments.tell(IDS[0], 0, IDS[8])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(assignments.run)
        await trio.sleep(0.105)
        assert len(link.asked) == 1
        assignments.tell(IDS[0], 0, IDS[9])
        await trio.sleep(30)
        nursery.cancel_scope.cancel()
    assert [sent(body) for _, body in link.asked] == [
        [(IDS[8], IDS[0], 0)],
        [(IDS[9], IDS[0], 0)],
    ]


async def test_attempts_in_vain_become_rare(autojump_clock: trio.testing.MockClock) -> None:
    refused = AssignReplicasToDirsResponse(error_code=ErrorCode.STALE_BROKER_EPOCH)
    asking, link = channel(Quorum(A), refused)
    assignments = Assignments(1, lambda: 5, asking)
    assignments.tell(IDS[0], 0, IDS[8])
    await run(assignments, 120)
    assert 10 < len(link.asked) < 25
