"""OffsetCommit and TxnOffsetCommit of a member that has not heard of its group's last epoch.

It may commit for partitions that it was given before. A partition that it was given later, or has
not got, refuses the whole request (ConsumerGroup.createAssignmentEpochValidator).
"""

import pytest

from conformance.differential.broker_side import Side
from conformance.differential.comparison import Pair
from conformance.differential.test_consumer_groups import beat, joining, owning
from conformance.differential.test_group_offsets import fetching
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.init_producer_id import InitProducerIdRequest
from kafkalite.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkalite.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

LONG = "m" * 5000
EPOCH = 2
# By topic, of which the member has the first since before the last epoch: partition and metadata.
COMMITS: list[dict[int, dict[int, str]]] = [
    {0: {0: "", 1: ""}},
    {1: {0: ""}},
    {0: {0: ""}, 1: {0: ""}},
    {1: {0: ""}, 0: {0: ""}},
    {0: {0: LONG, 1: ""}},
    {0: {0: LONG}, 1: {0: ""}},
    {1: {0: LONG}, 0: {0: ""}},
    {1: {0: LONG, 1: ""}, 0: {0: ""}},
    {0: {0: "", 7: ""}},
    {1: {7: ""}, 0: {1: ""}},
]


@pytest.fixture
def topics(pair: Pair, topic: str, group: str) -> list[str]:
    """Two topics of two partitions; member m-1 had the first alone in EPOCH, and has both."""
    topics = [topic, f"{topic}-later"]
    for name in topics:
        pair.create_topic(name, 2)
    assert beat(pair, group, **joining(topics[0])).member_epoch == EPOCH
    owning(pair, group, topics[0], 0, 1, member_epoch=EPOCH)
    later = beat(pair, group, member_epoch=EPOCH, subscribed_topic_names=topics)
    assert later.member_epoch > EPOCH
    return topics


@pytest.mark.parametrize("version", [9, 10])
@pytest.mark.parametrize("commits", COMMITS, ids=range(len(COMMITS)))
def test_an_offset_commit(
    pair: Pair, group: str, topics: list[str], version: int, commits: dict[int, dict[int, str]]
) -> None:
    def request(side: Side) -> OffsetCommitRequest:
        return OffsetCommitRequest(
            group_id=group,
            member_id="m-1",
            generation_id_or_member_epoch=EPOCH,
            topics=[
                OffsetCommitRequestTopic(
                    name=topics[which],
                    topic_id=side.topic_id(topics[which]),
                    partitions=[
                        OffsetCommitRequestPartition(
                            partition_index=index, committed_offset=7, committed_metadata=metadata
                        )
                        for index, metadata in partitions.items()
                    ],
                )
                for which, partitions in commits.items()
            ],
        )

    pair.ask(ApiKey.OFFSET_COMMIT, version, request)
    for topic in topics:
        pair.ask(ApiKey.OFFSET_FETCH, 9, fetching(9, group, topic, 0, 1))


@pytest.mark.parametrize("commits", COMMITS, ids=range(len(COMMITS)))
def test_in_a_transaction(
    pair: Pair, group: str, topics: list[str], commits: dict[int, dict[int, str]]
) -> None:
    init = InitProducerIdRequest(transactional_id=group, transaction_timeout_ms=60_000)
    answers = pair.ask(ApiKey.INIT_PRODUCER_ID, 5, init, retry=14)
    producers = dict(zip(pair.sides, answers, strict=True))

    def request(side: Side) -> TxnOffsetCommitRequest:
        return TxnOffsetCommitRequest(
            transactional_id=group,
            group_id=group,
            producer_id=producers[side].producer_id,
            producer_epoch=producers[side].producer_epoch,
            member_id="m-1",
            generation_id=EPOCH,
            topics=[
                TxnOffsetCommitRequestTopic(
                    name=topics[which],
                    partitions=[
                        TxnOffsetCommitRequestPartition(
                            partition_index=index, committed_offset=7, committed_metadata=metadata
                        )
                        for index, metadata in partitions.items()
                    ],
                )
                for which, partitions in commits.items()
            ],
        )

    pair.ask(ApiKey.TXN_OFFSET_COMMIT, 5, request)
