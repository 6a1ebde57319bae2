"""Broker 1 of two coordinates groups, without a network: what is asked, and what comes of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import trio
import trio.lowlevel

from kafkalite.apis import APIS
from kafkalite.clock import SystemClock
from kafkalite.config import BrokerConfig
from kafkalite.coordinators.coordinator_log import ConsumerOffsetsLog
from kafkalite.coordinators.group_coordinator_adapter import TopicNames
from kafkalite.coordinators.share_adapter import ShareServices
from kafkalite.coordinators.transaction_coordinator.coordinator import (
    TransactionConfig,
    TransactionCoordinator,
)
from kafkalite.coordinators.transaction_coordinator.markers import MarkerWriter
from kafkalite.coordinators.transaction_coordinator.state_log import TransactionLog
from kafkalite.coordinators.unkept_share_states import UnkeptShareStates
from kafkalite.group_coordinator.config import GroupConfig
from kafkalite.group_coordinator.coordinator import GroupCoordinator
from kafkalite.group_coordinator.share_keeper import LocalKeeper
from kafkalite.replica.replicated_partition import ReplicatedPartition
from kafkalite.requests.suspension import has_to_wait
from kafkalite.requests.topic_names import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTIONS_TOPIC
from kafkalite.server.replication_gate import replication_gate
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.api_messages import response_class
from kafkalite.wire.codec import encode_response
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.message_codec import join
from kafkalite.wire.messages import (
    delete_share_group_state,
    initialize_share_group_state,
    read_share_group_state,
    read_share_group_state_summary,
    write_share_group_state,
)
from kafkalite.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafkalite.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from kafkalite.wire.messages.alter_share_group_offsets import AlterShareGroupOffsetsRequest
from kafkalite.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafkalite.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkalite.wire.messages.delete_groups import DeleteGroupsRequest
from kafkalite.wire.messages.delete_share_group_offsets import DeleteShareGroupOffsetsRequest
from kafkalite.wire.messages.describe_groups import DescribeGroupsRequest
from kafkalite.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from kafkalite.wire.messages.describe_transactions import DescribeTransactionsRequest
from kafkalite.wire.messages.end_txn import EndTxnRequest
from kafkalite.wire.messages.heartbeat import HeartbeatRequest
from kafkalite.wire.messages.init_producer_id import InitProducerIdRequest
from kafkalite.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafkalite.wire.messages.leave_group import LeaveGroupRequest
from kafkalite.wire.messages.list_groups import ListGroupsRequest
from kafkalite.wire.messages.list_transactions import ListTransactionsRequest
from kafkalite.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkalite.wire.messages.offset_delete import OffsetDeleteRequest
from kafkalite.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from kafkalite.wire.messages.share_group_describe import ShareGroupDescribeRequest
from kafkalite.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kafkalite.wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from kafkalite.wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from kafkalite.wire.messages.sync_group import SyncGroupRequest
from kafkalite.wire.rows import message_of_row, row_of, rows_of
from tests.kafkalite.coordinators.asked_broker import Connection
from tests.kafkalite.replica.replicated import ME, OTHER, Replicated, replicated

READ_ID, TRANSACTIONS_ID, STATES_ID = UUID(int=9), UUID(int=10), UUID(int=11)
PATIENCE_SECONDS = 5.0


class Coordinating:
    """Broker 1 coordinates all groups; broker 2 follows, and copies when it is told to."""

    def __init__(self, world: Replicated) -> None:
        self.world = world
        self.partition = world.create(ME, ME, OTHER, name=OFFSETS_TOPIC)
        world.create(ME, ME, name="read", topic_id=READ_ID)
        topics = world.topics
        clock = SystemClock(now_ms=lambda: 1)
        self.groups = GroupCoordinator(
            GroupConfig(),
            ConsumerOffsetsLog(topics, clock.now_ms),
            TopicNames(topics, world.cluster),
            clock=clock,
            share_state=lambda: LocalKeeper(UnkeptShareStates()),
        )
        world.cluster.subscribe(lambda records: self.groups.leaders_changed())
        world.create(ME, ME, OTHER, name=TRANSACTIONS_TOPIC, topic_id=TRANSACTIONS_ID)
        self.transactions = TransactionCoordinator(
            TransactionConfig(60_000, 10**9, 10**9, 10**9),
            TransactionLog(topics, clock.now_ms, lambda: 2),
            MarkerWriter(topics, self.groups, clock.now_ms),
            now_ms=clock.now_ms,
            new_producer_id=lambda node_id: 5,
            server_version=lambda: 2,
        )
        world.cluster.subscribe(lambda records: self.transactions.leaders_changed())
        world.create(ME, ME, OTHER, name=SHARE_STATE_TOPIC, topic_id=STATES_ID)
        share = ShareServices(BrokerConfig({}), world.cluster, topics, clock)
        self.services: Any = SimpleNamespace(
            share=share,
            topics=topics,
            group_coordinator=self.groups,
            transaction_coordinator=self.transactions,
            now_ms=clock.now_ms,
            serves_groups=lambda kind: True,
            cluster=SimpleNamespace(has_producer_id=lambda node_id: True),
        )

    def copy(self, name: str = OFFSETS_TOPIC) -> None:
        """The follower has everything of a coordinators' topic."""
        topic = self.world.topics.get(name)
        assert topic is not None
        (partition,) = topic.partitions
        assert isinstance(partition, ReplicatedPartition)
        replica = partition.replica
        assert replica is not None
        assert replica.leading is not None
        replica.leading.fetched(OTHER, replica.log.log_end_offset, 0, 10 + OTHER)
        partition.changed()

    async def ask(self, key: ApiKey, version: int, request: Any) -> Any:
        """The answer as a message; it fits into its version."""
        api = APIS[key]
        guarded = (OFFSETS_TOPIC, TRANSACTIONS_TOPIC, SHARE_STATE_TOPIC)
        patience = dict.fromkeys(guarded, PATIENCE_SECONDS)
        handle = replication_gate(patience)(api, api.load())
        context = SimpleNamespace(
            node_id=ME,
            api_key=key,
            api_version=version,
            request_bytes=100,
            client_id="c",
            client_host="127.0.0.1",
            connection=Connection(),
            heard_of=lambda group_id, member_id: None,
            may_create=None,
        )
        answer = handle(self.services, context, rows_of(request) if api.rows else request)
        if has_to_wait(answer):
            answer = await answer
        if api.rows:
            answer = message_of_row(response_class(key), row_of(answer))
        assert join(encode_response(key, version, 1, answer))
        return answer


@asynccontextmanager
async def coordinating_in(directory: Path) -> AsyncIterator[Coordinating]:
    """The coordinator runs."""
    with replicated(directory) as world:
        made = Coordinating(world)
        async with trio.open_nursery() as nursery:
            await nursery.start(made.groups.run)
            await nursery.start(made.transactions.run)
            yield made
            nursery.cancel_scope.cancel()


def commit(offset: int) -> OffsetCommitRequest:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    topic = OffsetCommitRequestTopic(name="read", topic_id=READ_ID, partitions=[partition])
    return OffsetCommitRequest(group_id="g", topics=[topic])


async def committed(coordinating: Coordinating, offset: int = 7) -> ErrorCode:
    answer = await coordinating.ask(ApiKey.OFFSET_COMMIT, 9, commit(offset))
    return ErrorCode(answer.topics[0].partitions[0].error_code)


FETCH = OffsetFetchRequest(
    groups=[
        OffsetFetchRequestGroup(
            group_id="g", topics=[OffsetFetchRequestTopics(name="read", partition_indexes=[0])]
        )
    ]
)


REQUESTS: dict[ApiKey, Any] = {
    ApiKey.OFFSET_COMMIT: commit(8),
    ApiKey.OFFSET_DELETE: OffsetDeleteRequest(group_id="g"),
    ApiKey.JOIN_GROUP: JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    ),
    ApiKey.SYNC_GROUP: SyncGroupRequest(group_id="g", protocol_type="c", protocol_name="range"),
    ApiKey.HEARTBEAT: HeartbeatRequest(group_id="g"),
    ApiKey.LEAVE_GROUP: LeaveGroupRequest(group_id="g"),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="m",
        subscribed_topic_names=["read"],
        rebalance_timeout_ms=10_000,
        topic_partitions=[],
    ),
    ApiKey.DESCRIBE_GROUPS: DescribeGroupsRequest(groups=["g"]),
    ApiKey.CONSUMER_GROUP_DESCRIBE: ConsumerGroupDescribeRequest(group_ids=["g"]),
    ApiKey.STREAMS_GROUP_HEARTBEAT: StreamsGroupHeartbeatRequest(
        group_id="g", member_id="m", member_epoch=0, topology=None
    ),
    ApiKey.STREAMS_GROUP_DESCRIBE: StreamsGroupDescribeRequest(group_ids=["g"]),
    ApiKey.SHARE_GROUP_HEARTBEAT: ShareGroupHeartbeatRequest("g", "m", 0, None, ["read"]),
    ApiKey.SHARE_GROUP_DESCRIBE: ShareGroupDescribeRequest(group_ids=["g"]),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: DescribeShareGroupOffsetsRequest(
        groups=[DescribeShareGroupOffsetsRequestGroup(group_id="g", topics=None)]
    ),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: AlterShareGroupOffsetsRequest(group_id="g"),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: DeleteShareGroupOffsetsRequest(group_id="g"),
    ApiKey.DELETE_GROUPS: DeleteGroupsRequest(groups_names=["g"]),
    ApiKey.LIST_GROUPS: ListGroupsRequest(),
}


INIT = InitProducerIdRequest(transactional_id="t", transaction_timeout_ms=10_000)
_TOPICS = [AddPartitionsToTxnTopic(name="read", partitions=[0])]
_SINCE_4 = AddPartitionsToTxnTransaction(
    transactional_id="t", producer_id=5, producer_epoch=0, topics=_TOPICS
)
ADD = AddPartitionsToTxnRequest(
    v3_and_below_transactional_id="t", v3_and_below_producer_id=5, v3_and_below_topics=_TOPICS
)
ADD_MANY = AddPartitionsToTxnRequest(transactions=[_SINCE_4])

OF_TRANSACTIONS: dict[ApiKey, Any] = {
    ApiKey.INIT_PRODUCER_ID: INIT,
    ApiKey.ADD_PARTITIONS_TO_TXN: ADD,
    ApiKey.ADD_OFFSETS_TO_TXN: AddOffsetsToTxnRequest(
        transactional_id="t", producer_id=5, group_id="g"
    ),
    ApiKey.END_TXN: EndTxnRequest(transactional_id="t", producer_id=5, committed=True),
    ApiKey.DESCRIBE_TRANSACTIONS: DescribeTransactionsRequest(transactional_ids=["t"]),
    ApiKey.LIST_TRANSACTIONS: ListTransactionsRequest(),
}


def _of_state(request: type[Any], topic: type[Any], part: object) -> Any:
    """About one share partition."""
    return request(group_id="g", topics=[topic(topic_id=READ_ID, partitions=[part])])


INITIALIZE = _of_state(
    initialize_share_group_state.InitializeShareGroupStateRequest,
    initialize_share_group_state.InitializeStateData,
    initialize_share_group_state.PartitionData(partition=0, state_epoch=1, start_offset=7),
)

OF_STATES: dict[ApiKey, Any] = {
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: INITIALIZE,
    ApiKey.READ_SHARE_GROUP_STATE: _of_state(
        read_share_group_state.ReadShareGroupStateRequest,
        read_share_group_state.ReadStateData,
        read_share_group_state.PartitionData(partition=0, leader_epoch=1),
    ),
    ApiKey.WRITE_SHARE_GROUP_STATE: _of_state(
        write_share_group_state.WriteShareGroupStateRequest,
        write_share_group_state.WriteStateData,
        write_share_group_state.PartitionData(
            partition=0, state_epoch=1, leader_epoch=1, start_offset=7
        ),
    ),
    ApiKey.DELETE_SHARE_GROUP_STATE: _of_state(
        delete_share_group_state.DeleteShareGroupStateRequest,
        delete_share_group_state.DeleteStateData,
        delete_share_group_state.PartitionData(partition=0),
    ),
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: _of_state(
        read_share_group_state_summary.ReadShareGroupStateSummaryRequest,
        read_share_group_state_summary.ReadStateSummaryData,
        read_share_group_state_summary.PartitionData(partition=0, leader_epoch=-1),
    ),
}
