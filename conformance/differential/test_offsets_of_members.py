"""OffsetDelete; OffsetCommit and TxnOffsetCommit of members that are none any more."""

from typing import Any

import pytest

from conformance.differential.broker_side import Side
from conformance.differential.comparison import Pair
from conformance.differential.group_requests import PROTOCOL, join, kept, leave, sync
from conformance.differential.test_group_offsets import COMMIT_VERSIONS, committing
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from kafkalite.wire.messages.init_producer_id import InitProducerIdRequest
from kafkalite.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kafkalite.wire.messages.stored import encode
from kafkalite.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

ONE = {"group_instance_id": "one"}


def deleting(group: str, **topics: list[int]) -> OffsetDeleteRequest:
    return OffsetDeleteRequest(
        group_id=group,
        topics=[
            OffsetDeleteRequestTopic(
                name=name,
                partitions=[OffsetDeleteRequestPartition(partition_index=i) for i in partitions],
            )
            for name, partitions in topics.items()
        ],
    )


def test_deleting_offsets(pair: Pair, topic: str, group: str) -> None:
    """For no group, an empty one, one that reads the topic, and one that is not of consumers."""
    pair.create_topic(topic, 2)

    def ask_all() -> None:
        for name in (group, f"{group}-unknown", ""):
            for topics in ({topic: [0, 1]}, {topic: [7, -1]}, {f"{topic}-unknown": [0]}, {}):
                pair.ask(ApiKey.OFFSET_DELETE, 0, deleting(name, **topics))

    ask_all()
    pair.ask(ApiKey.OFFSET_COMMIT, 9, committing(9, group, topic, 0, 1))
    ask_all()
    subscribed = {"range": encode(ConsumerProtocolSubscription(topics=[topic]), 1)}
    generation = join(pair, group, 9, protocols=subscribed).generation_id
    sync(pair, group, 5, generation, to={"a": b"mine"}, **PROTOCOL)
    ask_all()
    leave(pair, group, 5, "a")
    join(pair, group, 9, protocol_type="connect")
    ask_all()


@pytest.fixture
def replaced(pair: Pair, group: str) -> tuple[int, dict[Side, str]]:
    """A static member has come again: the generation, and the id that is not its any more."""
    generation = join(pair, group, 9, **ONE).generation_id
    sync(pair, group, 5, generation, to={"a": b"mine"}, **ONE, **PROTOCOL)
    old = {side: kept(side, "a") for side in pair.sides}
    for side in pair.sides:
        side.member_ids.clear()
    return join(pair, group, 9, **ONE).generation_id, old


@pytest.mark.parametrize("version", [v for v in COMMIT_VERSIONS if v >= 7])
def test_committing_as_a_member_that_was_replaced(
    pair: Pair, topic: str, group: str, version: int, replaced: tuple[int, dict[Side, str]]
) -> None:
    pair.create_topic(topic)
    generation, old = replaced

    def request(side: Side) -> Any:
        who = {"member_id": old[side], "generation_id_or_member_epoch": generation}
        return committing(version, group, topic, 0, **who, **ONE)(side)

    pair.ask(ApiKey.OFFSET_COMMIT, version, request)


@pytest.mark.parametrize("version", range(3, 6))
def test_committing_in_a_transaction_as_a_member(
    pair: Pair, topic: str, group: str, version: int, replaced: tuple[int, dict[Side, str]]
) -> None:
    """Sent as a replaced member, as a stranger, in another generation, and as the member itself."""
    pair.create_topic(topic)
    generation, old = replaced
    init = InitProducerIdRequest(transactional_id=group, transaction_timeout_ms=60_000)
    answers = pair.ask(ApiKey.INIT_PRODUCER_ID, 5, init, retry=14)
    producers = dict(zip(pair.sides, answers, strict=True))
    for who in (
        lambda side: {"member_id": old[side], **ONE},
        lambda side: {"member_id": "nobody"},
        lambda side: {"member_id": kept(side, "a"), "generation_id": generation + 1},
        lambda side: {"member_id": "", "generation_id": generation},
        lambda side: {"member_id": kept(side, "a"), **ONE},
    ):

        def request(side: Side, who: Any = who) -> TxnOffsetCommitRequest:
            partition = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=5)
            return TxnOffsetCommitRequest(
                transactional_id=group,
                group_id=group,
                producer_id=producers[side].producer_id,
                producer_epoch=producers[side].producer_epoch,
                topics=[
                    TxnOffsetCommitRequestTopic(name=name, partitions=[partition])
                    for name in (topic, f"{topic}-unknown")
                ],
                **{"generation_id": generation} | who(side),
            )

        # only from v5 on the coordinator adds the group to the transaction by itself
        pair.ask(ApiKey.TXN_OFFSET_COMMIT, version, request)
