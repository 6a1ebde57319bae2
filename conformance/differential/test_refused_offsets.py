"""Requests about offsets of which a part is refused: the order of the answers, and topics that are
named again."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from conformance.differential.broker_side import Side
from conformance.differential.comparison import Pair
from conformance.differential.test_group_offsets import COMMIT_VERSIONS
from conformance.differential.transactional import Transactions
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkalite.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kafkalite.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

# The topics a and b have two partitions each; x and y are not there.
SHAPES = (
    "a0 a1 b0 b1",
    "a0 b0 a1 b1",
    "a0 a0 b0",
    "a0 x0 a1",
    "x0 a0 x1 b0 x0",
    "a0,7 b7,1 a8,1",
    "a7 x0 b0,8 y1 a1 b9 x2",
    "x y a0 x",
    "a x0 a0",
    "a x0",
    "a b",
    "x0 x1 y0",
    "a7 b7 a8",
    "b0,b7 a",
)


def topics_of(shape: str) -> list[tuple[str, list[int]]]:
    """The letter of each topic, and its partitions."""
    return [(each[0], [int(digit) for digit in each if digit.isdigit()]) for each in shape.split()]


class Named:
    """The topics of a test, by letter."""

    def __init__(self, pair: Pair, topic: str) -> None:
        self._topic = topic
        for letter in "ab":
            pair.create_topic(self.name(letter), 2)

    def name(self, letter: str) -> str:
        return f"{self._topic}-{letter}"

    def in_commit(self, side: Side, letter: str, version: int) -> dict[str, Any]:
        if version < 10:
            return {"name": self.name(letter)}
        if letter in "ab":
            return {"topic_id": side.topic_id(self.name(letter))}
        return {"topic_id": UUID(int=ord(letter))}


@pytest.fixture
def named(pair: Pair, topic: str) -> Named:
    return Named(pair, topic)


@pytest.mark.parametrize("version", COMMIT_VERSIONS)
def test_commits(pair: Pair, group: str, named: Named, version: int) -> None:
    def ask(shape: str, metadata: str, generation: int) -> None:
        def body(side: Side) -> OffsetCommitRequest:
            topics = [
                OffsetCommitRequestTopic(
                    **named.in_commit(side, letter, version),
                    partitions=[
                        OffsetCommitRequestPartition(
                            partition_index=index, committed_offset=5, committed_metadata=metadata
                        )
                        for index in partitions
                    ],
                )
                for letter, partitions in topics_of(shape)
            ]
            return OffsetCommitRequest(
                group_id=group, generation_id_or_member_epoch=generation, topics=topics
            )

        pair.ask(ApiKey.OFFSET_COMMIT, version, body)

    for shape in SHAPES:
        ask(shape, "", -1)
        ask(shape, "x" * 4097, -1)
        ask(shape, "", 3)


@pytest.mark.parametrize("version", range(6))
def test_commits_in_transactions(pair: Pair, named: Named, topic: str, version: int) -> None:
    transactions = Transactions(pair, named.name("a"), f"id-{topic}")
    transactions.init()
    if version < 5:
        transactions.add_offsets(3)

    def ask(shape: str, generation: int, bump: int = 0) -> None:
        def body(side: Side) -> TxnOffsetCommitRequest:
            producer_id, epoch = transactions.ids[side]
            topics = [
                TxnOffsetCommitRequestTopic(
                    name=named.name(letter),
                    partitions=[
                        TxnOffsetCommitRequestPartition(partition_index=index, committed_offset=5)
                        for index in partitions
                    ],
                )
                for letter, partitions in topics_of(shape)
            ]
            return TxnOffsetCommitRequest(
                transactional_id=transactions.id,
                group_id=transactions.id,
                producer_id=producer_id,
                producer_epoch=epoch + bump,
                generation_id=generation,
                topics=topics,
            )

        pair.ask(ApiKey.TXN_OFFSET_COMMIT, version, body)

    for shape in SHAPES:
        ask(shape, -1)
        ask(shape, -1, bump=1)
        if version >= 3:
            ask(shape, 3)
    transactions.end(3, commit=False)


def test_deletions(pair: Pair, group: str, named: Named) -> None:
    def deletion(shape: str, group_id: str) -> OffsetDeleteRequest:
        topics = [
            OffsetDeleteRequestTopic(
                name=named.name(letter),
                partitions=[
                    OffsetDeleteRequestPartition(partition_index=index) for index in partitions
                ],
            )
            for letter, partitions in topics_of(shape)
        ]
        return OffsetDeleteRequest(group_id=group_id, topics=topics)

    committed = OffsetCommitRequestPartition(partition_index=0, committed_offset=5)
    commit = OffsetCommitRequest(
        group_id=group,
        topics=[OffsetCommitRequestTopic(name=named.name("a"), partitions=[committed])],
    )
    for shape in SHAPES:
        pair.ask(ApiKey.OFFSET_COMMIT, 9, commit)
        pair.ask(ApiKey.OFFSET_DELETE, 0, deletion(shape, group))
        pair.ask(ApiKey.OFFSET_DELETE, 0, deletion(shape, f"{group}-unknown"))
