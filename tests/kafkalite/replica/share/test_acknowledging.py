"""The acknowledgements of one request: each partition on its own, and what makes no sense."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from uuid import UUID

import pytest

from kafkalite.replica.share.acknowledging import Saying, acknowledging
from kafkalite.replica.share.acquisition import Wanted
from kafkalite.replica.share.share_sessions import TopicPartitionId
from kafkalite.requests.slices import at_once
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
)
from tests.kafkalite.one_share_group import MEMBER, NODE, OneShareGroup, one_share_group, read

ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4


@pytest.fixture
def group() -> Iterator[OneShareGroup]:
    """The member has four records of each partition."""
    with one_share_group() as made:
        where = [made.where(0), made.where(1)]
        for index in (0, 1):
            made.append(b"a", b"b", b"c", b"d", index=index)
        wanted = Wanted(MEMBER.member_id, 500, 500)
        read(made.reader(where, wanted))
        yield made


@dataclass
class Said:
    """The acknowledgements of one partition: batches of (first, last, types)."""

    batches: list[tuple[int, int, list[int]]]
    index: int = 0
    topic_id: UUID | None = None
    fields: dict[str, object] = field(default_factory=dict[str, object])


def outcomes(
    group: OneShareGroup,
    *said: Said,
    version: int = 2,
    is_renewal: bool = False,
    node_id: int = NODE,
    readable: bool = True,
) -> list[ErrorCode | None]:
    """The code for each partition said, in that order; None where it is done."""
    topics = [
        AcknowledgeTopic(
            topic_id=each.topic_id or group.topic_id,
            partitions=[
                AcknowledgePartition(
                    partition_index=each.index,
                    acknowledgement_batches=[
                        AcknowledgementBatch(first, last, types)
                        for first, last, types in each.batches
                    ],
                )
            ],
        )
        for each in said
    ]
    saying = Saying(
        node_id,
        MEMBER,
        version,
        is_renewal,
        may_read=None if readable else lambda name: name != "t",
    )
    found = at_once(acknowledging(group.partitions, saying, topics))
    answers = [
        found[TopicPartitionId(each.topic_id or group.topic_id, each.index)] for each in said
    ]
    return [None if each is None else each.code for each in answers]


def start(group: OneShareGroup, index: int = 0) -> int:
    share = group.partitions.get(group.key(index))
    assert share is not None
    return share.start_offset


def test_each_partition_stands_for_itself(group: OneShareGroup) -> None:
    said = Said([(0, 3, [ACCEPT])]), Said([(90, 95, [ACCEPT])], 1)
    assert outcomes(group, *said) == [None, ErrorCode.INVALID_REQUEST]
    assert (start(group, 0), start(group, 1)) == (4, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "batches",
    [
        [(1, 0, [ACCEPT])],
        [(2, 3, [ACCEPT]), (0, 1, [ACCEPT])],
        [(0, 1, [])],
        [(0, 3, [ACCEPT, ACCEPT])],
        [(0, 1, [9])],
        [(0, 1, [-1])],
        [(0, 1, [RENEW])],
    ],
    ids=["backwards", "out of order", "no type", "too few", "unknown", "negative", "renewal"],
)
def test_batches_that_make_no_sense(
    group: OneShareGroup, batches: list[tuple[int, int, list[int]]]
) -> None:
    assert outcomes(group, Said(batches)) == [ErrorCode.INVALID_REQUEST]
    assert start(group) == 0


def test_a_type_for_each_offset_or_one_for_all(group: OneShareGroup) -> None:
    said = Said([(0, 1, [ACCEPT, REJECT]), (2, 3, [ACCEPT])])
    assert outcomes(group, said) == [None]
    assert start(group) == 4


@pytest.mark.parametrize(
    ("version", "is_renewal", "expected"),
    [
        (1, True, ErrorCode.INVALID_REQUEST),
        (2, False, ErrorCode.INVALID_REQUEST),
        (2, True, None),
    ],
)
def test_renewals_are_of_version_2_and_said_beforehand(
    group: OneShareGroup, version: int, is_renewal: bool, expected: ErrorCode | None
) -> None:
    said = Said([(0, 1, [RENEW])])
    assert outcomes(group, said, version=version, is_renewal=is_renewal) == [expected]


def test_topics_and_partitions_that_are_not_there(group: OneShareGroup) -> None:
    said = [(0, 1, [ACCEPT])]
    assert outcomes(group, Said(said, topic_id=UUID(int=9)), Said(said, 7)) == [
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]


def test_topics_that_may_not_be_read(group: OneShareGroup) -> None:
    said = Said([(0, 1, [ACCEPT])])
    assert outcomes(group, said, readable=False) == [ErrorCode.TOPIC_AUTHORIZATION_FAILED]
    assert start(group) == 0


def test_another_node_does_not_take_them(group: OneShareGroup) -> None:
    said = Said([(0, 1, [ACCEPT])])
    assert outcomes(group, said, node_id=NODE + 1) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    group.partitions.drop(group.key())
    assert outcomes(group, said) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_a_partition_of_which_nothing_is_said_is_done(group: OneShareGroup) -> None:
    assert outcomes(group, Said([(0, 3, [ACCEPT])]), Said([], 1)) == [None, None]


def test_a_leader_that_was_replaced_drops_what_it_had(group: OneShareGroup) -> None:
    group.share.read_state(group.key(), group.partition().leader_epoch + 1)
    assert outcomes(group, Said([(0, 3, [ACCEPT])])) == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    assert group.partitions.get(group.key()) is None


def test_a_partition_that_is_dropped_meanwhile_is_not_acknowledged(group: OneShareGroup) -> None:
    batches = [AcknowledgementBatch(0, 3, [ACCEPT])]
    partitions = [AcknowledgePartition(index, batches) for index in (0, 1)]
    done: list[TopicPartitionId] = []
    saying = Saying(NODE, MEMBER, 2, is_renewal=False, done=done.append)
    topics = [AcknowledgeTopic(group.topic_id, partitions)]
    steps = acknowledging(group.partitions, saying, topics)
    while not done:
        next(steps)
    group.partitions.drop(group.key(1))
    found = at_once(steps)
    assert done == [group.where(0)]
    error = found[group.where(1)]
    assert error is not None
    assert error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
