"""Coordinators: groups and transactions on theirs, and every request for them on nodes that are
not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.differential.broker_side import Body, Side, at
from conformance.differential.cluster.topics import (
    NODES,
    SPREAD,
    TIMESTAMP,
    create,
    fetching,
)
from conformance.differential.comparison import Pair
from conformance.differential.group_requests import SUBSCRIBED, joining, kept
from conformance.differential.test_group_offsets import committing
from conformance.differential.test_group_offsets import fetching as fetching_offsets
from kafkalite.apis import APIS
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafkalite.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from kafkalite.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafkalite.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkalite.wire.messages.delete_groups import DeleteGroupsRequest
from kafkalite.wire.messages.describe_groups import DescribeGroupsRequest
from kafkalite.wire.messages.describe_transactions import DescribeTransactionsRequest
from kafkalite.wire.messages.end_txn import EndTxnRequest
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.heartbeat import HeartbeatRequest
from kafkalite.wire.messages.init_producer_id import InitProducerIdRequest
from kafkalite.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kafkalite.wire.messages.list_groups import ListGroupsRequest
from kafkalite.wire.messages.list_transactions import ListTransactionsRequest
from kafkalite.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kafkalite.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafkalite.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from kafkalite.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from kafkalite.wire.record_batch import Record, build_batch

GROUP, TRANSACTION = 0, 1
# A transaction's markers are on their way.
CONCURRENT_TRANSACTIONS = 51
INITIAL = 0  # the epoch of a member's first heartbeat

Make = Callable[[str, str, int], Body]


def of_groups(group: str, topic: str, version: int) -> dict[ApiKey, Body]:
    partition = OffsetDeleteRequestPartition(partition_index=0)
    of_topic = OffsetDeleteRequestTopic(name=topic, partitions=[partition])
    return {
        ApiKey.OFFSET_COMMIT: committing(version, group, topic, 0, 1),
        ApiKey.OFFSET_FETCH: fetching_offsets(version, group, topic, 0, 1),
        ApiKey.JOIN_GROUP: joining(group),
        ApiKey.SYNC_GROUP: SyncGroupRequest(group_id=group, generation_id=1, member_id="m"),
        ApiKey.HEARTBEAT: HeartbeatRequest(group_id=group, generation_id=1, member_id="m"),
        ApiKey.LEAVE_GROUP: LeaveGroupRequest(
            group_id=group, member_id="m", members=[MemberIdentity(member_id="m")]
        ),
        ApiKey.DESCRIBE_GROUPS: DescribeGroupsRequest(groups=[group]),
        ApiKey.DELETE_GROUPS: DeleteGroupsRequest(groups_names=[group]),
        ApiKey.OFFSET_DELETE: OffsetDeleteRequest(group_id=group, topics=[of_topic]),
        ApiKey.CONSUMER_GROUP_HEARTBEAT: first_beat(group, topic),
        ApiKey.CONSUMER_GROUP_DESCRIBE: ConsumerGroupDescribeRequest(group_ids=[group]),
        ApiKey.TXN_OFFSET_COMMIT: txn_offset_commit(group, group, topic, (1, 0)),
    }


def of_transactions(transactional_id: str, topic: str, version: int) -> dict[ApiKey, Body]:
    return {
        ApiKey.INIT_PRODUCER_ID: InitProducerIdRequest(
            transactional_id=transactional_id, transaction_timeout_ms=60_000
        ),
        ApiKey.ADD_PARTITIONS_TO_TXN: add_partitions(transactional_id, topic, version, (1, 0)),
        ApiKey.ADD_OFFSETS_TO_TXN: AddOffsetsToTxnRequest(
            transactional_id=transactional_id, producer_id=1, producer_epoch=0, group_id="g"
        ),
        ApiKey.END_TXN: EndTxnRequest(
            transactional_id=transactional_id, producer_id=1, producer_epoch=0, committed=True
        ),
        ApiKey.DESCRIBE_TRANSACTIONS: DescribeTransactionsRequest(
            transactional_ids=[transactional_id]
        ),
    }


def add_partitions(
    transactional_id: str, topic: str, version: int, producer: tuple[int, int]
) -> AddPartitionsToTxnRequest:
    producer_id, epoch = producer
    topics = [AddPartitionsToTxnTopic(name=topic, partitions=[*range(len(SPREAD))])]
    if version < 4:
        return AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=transactional_id,
            v3_and_below_producer_id=producer_id,
            v3_and_below_producer_epoch=epoch,
            v3_and_below_topics=topics,
        )
    transaction = AddPartitionsToTxnTransaction(
        transactional_id=transactional_id,
        producer_id=producer_id,
        producer_epoch=epoch,
        topics=topics,
    )
    return AddPartitionsToTxnRequest(transactions=[transaction])


def txn_offset_commit(
    transactional_id: str, group: str, topic: str, producer: tuple[int, int]
) -> TxnOffsetCommitRequest:
    partition = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=5)
    return TxnOffsetCommitRequest(
        transactional_id=transactional_id,
        group_id=group,
        producer_id=producer[0],
        producer_epoch=producer[1],
        topics=[TxnOffsetCommitRequestTopic(name=topic, partitions=[partition])],
    )


def first_beat(group: str, topic: str) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id="m-1",
        member_epoch=INITIAL,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=[topic],
        topic_partitions=[],
    )


def coordinator(cluster: Pair, key: str, key_type: int) -> int:
    request = FindCoordinatorRequest(key=key, key_type=key_type)
    answer, _ = cluster.ask(ApiKey.FIND_COORDINATOR, 3, request)
    assert answer.error_code == 0, answer
    return int(answer.node_id)


@pytest.mark.parametrize("api", of_groups("", "", 0), ids=lambda api: api.name)
def test_groups_elsewhere(cluster: Pair, spread: str, api: ApiKey) -> None:
    elsewhere(cluster, spread, api, GROUP, of_groups)


@pytest.mark.parametrize("api", of_transactions("", "", 0), ids=lambda api: api.name)
def test_transactions_elsewhere(cluster: Pair, spread: str, api: ApiKey) -> None:
    elsewhere(cluster, spread, api, TRANSACTION, of_transactions)


def elsewhere(
    cluster: Pair,
    topic: str,
    api: ApiKey,
    key_type: int,
    requests: Callable[[str, str, int], dict[ApiKey, Body]],
) -> None:
    """Every version of it, asked of each node that is not the coordinator."""
    mine = coordinator(cluster, topic, key_type)
    for node in set(NODES) - {mine}:
        for version in range(APIS[api].min_version, APIS[api].max_version + 1):
            body = requests(topic, topic, version)[api]
            cluster.ask(api, version, body, connection=at(node))


@pytest.mark.parametrize("number", range(3))
def test_a_classic_group(
    cluster: Pair, spread: str, unique: Callable[[str], str], number: int
) -> None:
    """A member's life at the coordinator; the other nodes do not list the group."""
    topic, group = spread, unique(f"group-{number}")
    node = coordinator(cluster, group, GROUP)
    main = at(node)

    def body(make: Callable[[str], Any]) -> Callable[[Side], Any]:
        return lambda side: make(kept(side, "a"))

    for _ in range(2):  # the first answer gives the id
        answers = cluster.ask(
            ApiKey.JOIN_GROUP, 9, body(lambda member: joining(group, member)), connection=main
        )
        for side, answer in zip(cluster.sides, answers, strict=True):
            side.member_ids["a"] = answer.member_id
    sync = body(
        lambda member: SyncGroupRequest(
            group_id=group,
            generation_id=1,
            member_id=member,
            protocol_type="consumer",
            protocol_name="range",
            assignments=[SyncGroupRequestAssignment(member_id=member, assignment=SUBSCRIBED)],
        )
    )
    cluster.ask(ApiKey.SYNC_GROUP, 5, sync, connection=main)
    beat = body(lambda member: HeartbeatRequest(group_id=group, generation_id=1, member_id=member))
    cluster.ask(ApiKey.HEARTBEAT, 4, beat, connection=main)
    commit = committing(9, group, topic, 0, 1, 2, 3, member="a", generation_id_or_member_epoch=1)
    cluster.ask(ApiKey.OFFSET_COMMIT, 9, commit, connection=main)
    cluster.ask(
        ApiKey.OFFSET_FETCH, 9, fetching_offsets(9, group, topic, 0, 1, 2, 3), connection=main
    )
    seen(cluster, group)
    leave = body(
        lambda member: LeaveGroupRequest(group_id=group, members=[MemberIdentity(member_id=member)])
    )
    cluster.ask(ApiKey.LEAVE_GROUP, 5, leave, connection=main)
    seen(cluster, group)
    cluster.ask(ApiKey.DELETE_GROUPS, 2, DeleteGroupsRequest(groups_names=[group]), connection=main)
    seen(cluster, group)


def seen(cluster: Pair, group: str) -> None:
    """Described and listed by every node; one of them has it, and the tests' other groups are not
    asked."""
    for side in cluster.sides:
        side.names.prefix = group
    for node in NODES:
        for api, version, request in (
            (ApiKey.DESCRIBE_GROUPS, 6, DescribeGroupsRequest(groups=[group])),
            (ApiKey.LIST_GROUPS, 5, ListGroupsRequest()),
        ):
            cluster.ask(api, version, request, connection=at(node))
    for side in cluster.sides:
        side.names.prefix = ""


@pytest.mark.parametrize("number", range(2))
def test_a_consumer_group(
    cluster: Pair, spread: str, unique: Callable[[str], str], number: int
) -> None:
    topic, group = spread, unique(f"group-{number}")
    node = coordinator(cluster, group, GROUP)
    main = at(node)
    first = first_beat(group, topic)
    answer, _ = cluster.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, first, connection=main)
    epoch = answer.member_epoch
    again = ConsumerGroupHeartbeatRequest(group_id=group, member_id="m-1", member_epoch=epoch)
    cluster.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, again, connection=main)
    commit = committing(9, group, topic, 0, 3, generation_id_or_member_epoch=epoch, member_id="m-1")
    cluster.ask(ApiKey.OFFSET_COMMIT, 9, commit, connection=main)
    seen(cluster, group)
    for each in NODES:
        request = ConsumerGroupDescribeRequest(group_ids=[group])
        cluster.ask(ApiKey.CONSUMER_GROUP_DESCRIBE, 1, request, connection=at(each))
    leave = ConsumerGroupHeartbeatRequest(group_id=group, member_id="m-1", member_epoch=-1)
    cluster.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, leave, connection=main)
    seen(cluster, group)


@pytest.mark.parametrize("commits", [True, False], ids=["commit", "abort"])
@pytest.mark.parametrize("number", range(2))
def test_a_transaction(cluster: Pair, topic: str, number: int, commits: bool) -> None:
    """Coordinator, leaders and the group's coordinator are on any nodes; all see how it ended."""
    create(cluster, topic)
    id_ = f"{topic}-{number}"
    main, group_main = (at(coordinator(cluster, id_, kind)) for kind in (TRANSACTION, GROUP))
    producers: dict[Side, tuple[int, int]] = {}

    def body(make: Callable[[tuple[int, int]], Any]) -> Callable[[Side], Any]:
        return lambda side: make(producers[side])

    init = InitProducerIdRequest(transactional_id=id_, transaction_timeout_ms=60_000)
    answers = cluster.ask(ApiKey.INIT_PRODUCER_ID, 4, init, connection=main)
    for side, answer in zip(cluster.sides, answers, strict=True):
        producers[side] = answer.producer_id, answer.producer_epoch
    add = body(lambda producer: add_partitions(id_, topic, 3, producer))
    cluster.ask(ApiKey.ADD_PARTITIONS_TO_TXN, 3, add, connection=main)
    for node in (1, 2, 3):
        led = [index for index, nodes in enumerate(SPREAD) if nodes[0] == node]
        produce = body(lambda producer, led=led: producing(id_, topic, led, producer))
        cluster.ask(ApiKey.PRODUCE, 9, produce, connection=at(node))
    offsets = body(
        lambda producer: AddOffsetsToTxnRequest(
            transactional_id=id_, producer_id=producer[0], producer_epoch=producer[1], group_id=id_
        )
    )
    cluster.ask(ApiKey.ADD_OFFSETS_TO_TXN, 3, offsets, connection=main)
    commit = body(lambda producer: txn_offset_commit(id_, id_, topic, producer))
    cluster.ask(ApiKey.TXN_OFFSET_COMMIT, 3, commit, connection=group_main)
    transactions_seen(cluster, id_, topic)
    end = body(
        lambda producer: EndTxnRequest(
            transactional_id=id_,
            producer_id=producer[0],
            producer_epoch=producer[1],
            committed=commits,
        )
    )
    cluster.ask(ApiKey.END_TXN, 3, end, connection=main)
    describe = DescribeTransactionsRequest(transactional_ids=[id_])
    for side in cluster.sides:
        side.until(
            ApiKey.DESCRIBE_TRANSACTIONS,
            0,
            describe,
            lambda answer: "Complete" in answer.transaction_states[0].transaction_state,
            int(main.rpartition("@")[2]),
        )
    transactions_seen(cluster, id_, topic)
    stable = fetching_offsets(9, id_, topic, 0, require_stable=True)
    cluster.ask(ApiKey.OFFSET_FETCH, 9, stable, connection=group_main)
    cluster.ask(ApiKey.END_TXN, 3, end, connection=main)


def producing(
    id_: str, topic: str, partitions: list[int], producer: tuple[int, int]
) -> ProduceRequest:
    records = build_batch(
        [Record(timestamp=TIMESTAMP, value=b"value")],
        producer_id=producer[0],
        producer_epoch=producer[1],
        base_sequence=0,
        is_transactional=True,
    )
    data = [PartitionProduceData(index=index, records=records) for index in partitions]
    topics = [TopicProduceData(name=topic, partition_data=data)]
    return ProduceRequest(transactional_id=id_, acks=-1, timeout_ms=10_000, topic_data=topics)


def transactions_seen(cluster: Pair, transactional_id: str, topic: str) -> None:
    """By every node: the transaction, and what each leader has for each isolation level."""
    for side in cluster.sides:
        side.names.prefix = transactional_id
    for node in NODES:
        listing = ListTransactionsRequest()
        cluster.ask(ApiKey.LIST_TRANSACTIONS, 2, listing, connection=at(node))
        describe = DescribeTransactionsRequest(transactional_ids=[transactional_id])
        cluster.ask(ApiKey.DESCRIBE_TRANSACTIONS, 0, describe, connection=at(node))
    for side in cluster.sides:
        side.names.prefix = ""
    for node in NODES:
        led = [index for index, nodes in enumerate(SPREAD) if nodes[0] == node]
        for isolation_level in (0, 1):

            def body(side: Side, led: list[int] = led, level: int = isolation_level) -> Any:
                request = fetching(topic, 12, led)(side)
                request.isolation_level = level
                return request

            cluster.ask(ApiKey.FETCH, 12, body, connection=at(node))
