"""Each API asks for the operations that the table in Kafka's documentation names."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.apis import APIS
from kafkalite.requests.slices import at_once
from kafkalite.security.acls import Acl, Operation, ResourceType
from kafkalite.security.authorization.table import AUTHORIZATION, FETCH_NEED
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.api_messages import request_class
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages import (
    add_offsets_to_txn,
    create_partitions,
    delete_groups,
    delete_records,
    describe_producers,
    end_txn,
    heartbeat,
    join_group,
    leave_group,
    list_offsets,
    list_transactions,
    offset_commit,
    offset_delete,
    txn_offset_commit,
)
from kafkalite.wire.messages.describe_acls import DescribeAclsRequest
from kafkalite.wire.schema import message_of
from tests.kafkalite.security.authorizers import acl, asked, on_cluster, on_group, on_transaction
from tests.kafkalite.security.secured import Users, allow, grant

GROUP_DENIED = ErrorCode.GROUP_AUTHORIZATION_FAILED
TOPIC_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED

# Operations on the cluster for the whole of a request.
ON_CLUSTER = {
    Operation.ALTER: [
        ApiKey.CREATE_ACLS,
        ApiKey.DELETE_ACLS,
        ApiKey.ALTER_REPLICA_LOG_DIRS,
        ApiKey.ELECT_LEADERS,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        ApiKey.UPDATE_FEATURES,
        ApiKey.UNREGISTER_BROKER,
        ApiKey.ADD_RAFT_VOTER,
        ApiKey.REMOVE_RAFT_VOTER,
    ],
    Operation.ALTER_CONFIGS: [ApiKey.ALTER_CLIENT_QUOTAS],
    Operation.DESCRIBE: [
        ApiKey.DESCRIBE_ACLS,
        ApiKey.DESCRIBE_LOG_DIRS,
        ApiKey.LIST_PARTITION_REASSIGNMENTS,
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
        ApiKey.DESCRIBE_QUORUM,
    ],
    Operation.DESCRIBE_CONFIGS: [
        ApiKey.DESCRIBE_CLIENT_QUOTAS,
        ApiKey.LIST_CONFIG_RESOURCES,
    ],
    Operation.CLUSTER_ACTION: [
        ApiKey.INITIALIZE_SHARE_GROUP_STATE,
        ApiKey.READ_SHARE_GROUP_STATE,
        ApiKey.WRITE_SHARE_GROUP_STATE,
        ApiKey.DELETE_SHARE_GROUP_STATE,
        ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
    ],
}
# A zero is no number of a filter: DescribeAcls without others is not even parsed.
SAID = {ApiKey.DESCRIBE_ACLS: lambda: DescribeAclsRequest(1, None, 1, None, None, 1, 1)}
# ALTER lets one describe, and ALTER_CONFIGS describe configs (Kafka's AclEntry).
IMPLIED_BY = {
    Operation.DESCRIBE: {Operation.ALTER, Operation.READ, Operation.WRITE, Operation.DELETE},
    Operation.DESCRIBE_CONFIGS: {Operation.ALTER_CONFIGS},
}


@pytest.mark.parametrize(
    ("api_key", "operation"),
    [(key, operation) for operation, keys in ON_CLUSTER.items() for key in keys],
    ids=lambda each: each.name,
)
def test_what_is_asked_of_the_cluster(api_key: ApiKey, operation: Operation) -> None:
    version = message_of(request_class(api_key)).max_version

    def is_refused(given: Operation) -> bool:
        request = SAID.get(api_key, request_class(api_key))()
        entry = on_cluster(given)
        return at_once(
            AUTHORIZATION[api_key](asked(api_key, request, entry, version=version))
        ).is_final

    enough = {operation, Operation.ALL, *IMPLIED_BY.get(operation, ())}
    given = set(Operation) - {Operation.UNKNOWN, Operation.ANY}
    assert {each for each in given if not is_refused(each)} == enough


COMMIT_TOPICS = [
    offset_commit.OffsetCommitRequestTopic(
        name="t", partitions=[offset_commit.OffsetCommitRequestPartition(partition_index=0)]
    )
]
IN_TRANSACTION = [
    txn_offset_commit.TxnOffsetCommitRequestTopic(
        name="t", partitions=[txn_offset_commit.TxnOffsetCommitRequestPartition(partition_index=0)]
    )
]


@pytest.mark.parametrize(
    ("api_key", "request_", "needs"),
    [
        (ApiKey.JOIN_GROUP, join_group.JoinGroupRequest(group_id="g"), [on_group("g")]),
        (ApiKey.HEARTBEAT, heartbeat.HeartbeatRequest(group_id="g"), [on_group("g")]),
        (ApiKey.LEAVE_GROUP, leave_group.LeaveGroupRequest(group_id="g"), [on_group("g")]),
        (
            ApiKey.ADD_OFFSETS_TO_TXN,
            add_offsets_to_txn.AddOffsetsToTxnRequest(transactional_id="x", group_id="g"),
            [on_transaction("x"), on_group("g")],
        ),
        (ApiKey.END_TXN, end_txn.EndTxnRequest(transactional_id="x"), [on_transaction("x")]),
    ],
    ids=lambda each: each.name if isinstance(each, ApiKey) else "",
)
def test_what_is_asked_for_the_whole(api_key: ApiKey, request_: Any, needs: list[Acl]) -> None:
    def is_refused(acls: list[Acl]) -> bool:
        return at_once(AUTHORIZATION[api_key](asked(api_key, request_, *acls, version=4))).is_final

    assert not is_refused(needs)
    for missing in needs:
        assert is_refused([each for each in needs if each is not missing])


@pytest.mark.parametrize(
    ("api_key", "request_", "whole", "entry"),
    [
        (
            ApiKey.LIST_OFFSETS,
            list_offsets.ListOffsetsRequest(topics=[list_offsets.ListOffsetsTopic(name="t")]),
            [],
            acl("t", Operation.DESCRIBE),
        ),
        (
            ApiKey.OFFSET_COMMIT,
            offset_commit.OffsetCommitRequest(group_id="g", topics=COMMIT_TOPICS),
            [on_group("g")],
            acl("t", Operation.READ),
        ),
        (
            ApiKey.TXN_OFFSET_COMMIT,
            txn_offset_commit.TxnOffsetCommitRequest(
                transactional_id="x", group_id="g", topics=IN_TRANSACTION
            ),
            [on_transaction("x"), on_group("g")],
            acl("t", Operation.READ),
        ),
        (
            ApiKey.DELETE_RECORDS,
            delete_records.DeleteRecordsRequest(
                topics=[delete_records.DeleteRecordsTopic(name="t")]
            ),
            [],
            acl("t", Operation.DELETE),
        ),
        (
            ApiKey.CREATE_PARTITIONS,
            create_partitions.CreatePartitionsRequest(
                topics=[create_partitions.CreatePartitionsTopic(name="t")]
            ),
            [],
            acl("t", Operation.ALTER),
        ),
        (
            ApiKey.DELETE_GROUPS,
            delete_groups.DeleteGroupsRequest(groups_names=["g"]),
            [],
            on_group("g", Operation.DELETE),
        ),
        (
            ApiKey.OFFSET_DELETE,
            offset_delete.OffsetDeleteRequest(
                group_id="g", topics=[offset_delete.OffsetDeleteRequestTopic(name="t")]
            ),
            [on_group("g", Operation.DELETE)],
            acl("t", Operation.READ),
        ),
        (
            ApiKey.DESCRIBE_PRODUCERS,
            describe_producers.DescribeProducersRequest(
                topics=[describe_producers.TopicRequest(name="t")]
            ),
            [],
            acl("t", Operation.READ),
        ),
    ],
    ids=lambda each: each.name if isinstance(each, ApiKey) else "",
)
def test_what_is_asked_of_each_element(
    api_key: ApiKey, request_: Any, whole: list[Acl], entry: Acl
) -> None:
    def verdict(*acls: Acl) -> Any:
        return at_once(AUTHORIZATION[api_key](asked(api_key, request_, *acls, version=2)))

    assert verdict(*whole, entry).request is request_
    refused = verdict(*whole)
    assert not refused.is_final
    assert refused.request != request_
    for missing in whole:
        assert verdict(*(each for each in whole if each is not missing), entry).is_final


def test_transactions_are_listed_to_those_who_may_describe_them() -> None:
    verdict = at_once(
        AUTHORIZATION[ApiKey.LIST_TRANSACTIONS](
            asked(
                ApiKey.LIST_TRANSACTIONS,
                list_transactions.ListTransactionsRequest(),
                on_transaction("a", Operation.DESCRIBE),
                version=1,
            )
        )
    )
    states = [list_transactions.TransactionState(transactional_id=each) for each in ("a", "b")]
    response = list_transactions.ListTransactionsResponse(transaction_states=states)
    assert verdict.finish is not None
    told = at_once(verdict.finish(response)).transaction_states
    assert [each.transactional_id for each in told] == ["a"]


def test_fetching_is_reading_a_topic() -> None:
    assert (FETCH_NEED.operation, FETCH_NEED.resource_type) == (Operation.READ, ResourceType.TOPIC)
    assert FETCH_NEED.error == TOPIC_DENIED


def test_what_everybody_may_ask() -> None:
    """The versions, a login, one's own tokens and metrics. Fetch is asked for partition by
    partition.
    """
    assert {key for key in APIS if key not in AUTHORIZATION} == {
        ApiKey.FETCH,
        ApiKey.API_VERSIONS,
        ApiKey.SASL_HANDSHAKE,
        ApiKey.SASL_AUTHENTICATE,
        ApiKey.RENEW_DELEGATION_TOKEN,
        ApiKey.EXPIRE_DELEGATION_TOKEN,
        ApiKey.GET_TELEMETRY_SUBSCRIPTIONS,
        ApiKey.PUSH_TELEMETRY,
    }


async def test_offsets_are_not_told(users: Users) -> None:
    alice = await users.user("alice")
    partitions = [list_offsets.ListOffsetsPartition(partition_index=0, timestamp=-1)]
    topics = [
        list_offsets.ListOffsetsTopic(name=name, partitions=partitions)
        for name in ("secret", "missing")
    ]
    answer = await alice.ask(list_offsets.ListOffsetsRequest(replica_id=-1, topics=topics))
    assert [(each.name, each.partitions[0].error_code) for each in answer.topics] == [
        ("secret", TOPIC_DENIED),
        ("missing", TOPIC_DENIED),
    ]


async def test_committing_needs_the_group_and_the_topic(users: Users) -> None:
    topic = offset_commit.OffsetCommitRequestTopic(
        name="secret", partitions=[offset_commit.OffsetCommitRequestPartition(partition_index=0)]
    )
    request = offset_commit.OffsetCommitRequest(group_id="g", topics=[topic])
    alice = await users.user("alice")

    async def code() -> int:
        answer = await alice.ask(request, 9)
        return int(answer.topics[0].partitions[0].error_code)

    assert await code() == GROUP_DENIED
    await grant(users, allow(Operation.READ, ResourceType.GROUP, "g"))
    assert await code() == TOPIC_DENIED
    await grant(users, allow(Operation.READ, ResourceType.TOPIC, "secret"))
    assert await code() not in (GROUP_DENIED, TOPIC_DENIED)
