"""Requests of every API that a client may send, about resources of which there are two kinds:
`open-*`, which ACLs may allow, and `shut-*`, which they never do.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

from conformance.harness.raw import record_batch
from kafkalite.wire.messages import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    alter_client_quotas,
    alter_configs,
    alter_partition_reassignments,
    alter_replica_log_dirs,
    alter_user_scram_credentials,
    consumer_group_describe,
    consumer_group_heartbeat,
    create_acls,
    create_delegation_token,
    create_partitions,
    create_topics,
    delete_acls,
    delete_groups,
    delete_records,
    delete_topics,
    describe_acls,
    describe_client_quotas,
    describe_cluster,
    describe_configs,
    describe_delegation_token,
    describe_groups,
    describe_log_dirs,
    describe_producers,
    describe_quorum,
    describe_topic_partitions,
    describe_transactions,
    describe_user_scram_credentials,
    elect_leaders,
    end_txn,
    fetch,
    find_coordinator,
    heartbeat,
    incremental_alter_configs,
    init_producer_id,
    join_group,
    leave_group,
    list_config_resources,
    list_groups,
    list_offsets,
    list_partition_reassignments,
    list_transactions,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    sync_group,
    txn_offset_commit,
    unregister_broker,
    update_features,
    write_txn_markers,
)

TOPICS = ("open-topic", "shut-topic")
MISSING = ("open-missing", "shut-missing")
GROUPS = ("open-group", "shut-group")
TRANSACTIONS = ("open-transaction", "shut-transaction")
TopicIds = dict[str, UUID]
_NOW_MS = int(time.time() * 1000)
Made = Callable[[TopicIds], Any]


def _metadata(names: list[str] | None, **settings: Any) -> metadata.MetadataRequest:
    topics = None if names is None else [metadata.MetadataRequestTopic(name=name) for name in names]
    settings.setdefault("allow_auto_topic_creation", False)
    return metadata.MetadataRequest(topics=topics, **settings)


def _produce(ids: TopicIds | None, transactional_id: str | None = None) -> produce.ProduceRequest:
    data = []
    for name in (*TOPICS, *(MISSING if ids is None else ())):
        partition = produce.PartitionProduceData(
            index=0, records=record_batch(b"x", timestamp_ms=_NOW_MS)
        )
        topic = produce.TopicProduceData(partition_data=[partition])
        if ids is None:
            topic.name = name
        else:
            topic.topic_id = ids[name]
        data.append(topic)
    return produce.ProduceRequest(
        transactional_id=transactional_id, acks=-1, timeout_ms=1000, topic_data=data
    )


def _fetch(ids: TopicIds | None) -> fetch.FetchRequest:
    topics = []
    for name in (*TOPICS, *(MISSING if ids is None else ())):
        partition = fetch.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1)
        topic = fetch.FetchTopic(partitions=[partition])
        if ids is None:
            topic.topic = name
        else:
            topic.topic_id = ids[name]
        topics.append(topic)
    return fetch.FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=1, topics=topics)


def _list_offsets() -> list_offsets.ListOffsetsRequest:
    partition = list_offsets.ListOffsetsPartition(partition_index=0, timestamp=-2)
    return list_offsets.ListOffsetsRequest(
        replica_id=-1,
        topics=[
            list_offsets.ListOffsetsTopic(name=name, partitions=[partition])
            for name in (*TOPICS, *MISSING)
        ],
    )


def _commit(group: str) -> offset_commit.OffsetCommitRequest:
    partition = offset_commit.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    return offset_commit.OffsetCommitRequest(
        group_id=group,
        topics=[
            offset_commit.OffsetCommitRequestTopic(name=name, partitions=[partition])
            for name in (*TOPICS, *MISSING)
        ],
    )


def _offset_fetch(names: tuple[str, ...] | None) -> offset_fetch.OffsetFetchRequest:
    return offset_fetch.OffsetFetchRequest(
        groups=[
            offset_fetch.OffsetFetchRequestGroup(
                group_id=group,
                topics=None
                if names is None
                else [
                    offset_fetch.OffsetFetchRequestTopics(name=name, partition_indexes=[0])
                    for name in names
                ],
            )
            for group in GROUPS
        ]
    )


def _old_offset_fetch(group: str) -> offset_fetch.OffsetFetchRequest:
    return offset_fetch.OffsetFetchRequest(
        group_id=group,
        topics=[
            offset_fetch.OffsetFetchRequestTopic(name=name, partition_indexes=[0])
            for name in TOPICS
        ],
    )


def _join(group: str) -> join_group.JoinGroupRequest:
    return join_group.JoinGroupRequest(
        group_id=group,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        member_id="nobody",
        protocol_type="consumer",
        protocols=[join_group.JoinGroupRequestProtocol(name="range", metadata=b"")],
    )


def _delete_records() -> delete_records.DeleteRecordsRequest:
    partition = delete_records.DeleteRecordsPartition(partition_index=0, offset=0)
    return delete_records.DeleteRecordsRequest(
        topics=[
            delete_records.DeleteRecordsTopic(name=name, partitions=[partition])
            for name in (*TOPICS, *MISSING)
        ],
        timeout_ms=1000,
    )


def _create_topics() -> create_topics.CreateTopicsRequest:
    return create_topics.CreateTopicsRequest(
        topics=[
            create_topics.CreatableTopic(name=name, num_partitions=1, replication_factor=1)
            for name in ("open-new", "shut-new", "open-topic")
        ],
        timeout_ms=1000,
        validate_only=True,
    )


def _resource(kind: int, name: str) -> describe_configs.DescribeConfigsResource:
    return describe_configs.DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=["retention.ms", "node.id"]
    )


def _alter(kind: int, name: str) -> incremental_alter_configs.AlterConfigsResource:
    change = incremental_alter_configs.AlterableConfig(
        name="retention.ms" if kind == 2 else "log.cleaner.threads", config_operation=0, value="2"
    )
    return incremental_alter_configs.AlterConfigsResource(
        resource_type=kind, resource_name=name, configs=[change]
    )


def _old_alter(name: str) -> alter_configs.AlterConfigsResource:
    return alter_configs.AlterConfigsResource(
        resource_type=2,
        resource_name=name,
        configs=[alter_configs.AlterableConfig(name="retention.ms", value="5")],
    )


def _txn_commit(transaction: str, group: str) -> txn_offset_commit.TxnOffsetCommitRequest:
    partition = txn_offset_commit.TxnOffsetCommitRequestPartition(
        partition_index=0, committed_offset=1
    )
    return txn_offset_commit.TxnOffsetCommitRequest(
        transactional_id=transaction,
        group_id=group,
        producer_id=1,
        producer_epoch=0,
        topics=[
            txn_offset_commit.TxnOffsetCommitRequestTopic(name=name, partitions=[partition])
            for name in (*TOPICS, *MISSING)
        ],
    )


def _add_partitions(transaction: str, *names: str) -> Any:
    return add_partitions_to_txn.AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=transaction,
        v3_and_below_producer_id=1,
        v3_and_below_producer_epoch=0,
        v3_and_below_topics=[
            add_partitions_to_txn.AddPartitionsToTxnTopic(name=name, partitions=[0])
            for name in names
        ],
    )


def _offset_delete(group: str) -> offset_delete.OffsetDeleteRequest:
    partition = offset_delete.OffsetDeleteRequestPartition(partition_index=0)
    return offset_delete.OffsetDeleteRequest(
        group_id=group,
        topics=[
            offset_delete.OffsetDeleteRequestTopic(name=name, partitions=[partition])
            for name in (*TOPICS, *MISSING)
        ],
    )


def _epochs() -> offset_for_leader_epoch.OffsetForLeaderEpochRequest:
    partition = offset_for_leader_epoch.OffsetForLeaderPartition(partition=0, leader_epoch=0)
    return offset_for_leader_epoch.OffsetForLeaderEpochRequest(
        replica_id=-1,
        topics=[
            offset_for_leader_epoch.OffsetForLeaderTopic(topic=name, partitions=[partition])
            for name in TOPICS
        ],
    )


ANY_ACL = {
    "resource_type_filter": 1,
    "resource_name_filter": None,
    "pattern_type_filter": 1,
    "principal_filter": "User:nobody",
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}


def requests(ids: TopicIds) -> dict[str, tuple[Any, int | None]]:
    """By name: a request, and its version; None is the highest."""
    made: dict[str, tuple[Any, int | None]] = {
        "metadata of all": (_metadata(None), None),
        "metadata by name": (
            _metadata(
                [*TOPICS, *MISSING],
                include_topic_authorized_operations=True,
            ),
            None,
        ),
        "metadata, creating": (
            _metadata(["shut-created"], allow_auto_topic_creation=True),
            None,
        ),
        "metadata 0 by name": (_metadata([*TOPICS], allow_auto_topic_creation=True), 0),
        "metadata 10": (
            _metadata(
                [*TOPICS],
                include_topic_authorized_operations=True,
                include_cluster_authorized_operations=True,
            ),
            10,
        ),
        "metadata by id": (
            metadata.MetadataRequest(
                topics=[
                    metadata.MetadataRequestTopic(name=None, topic_id=ids[name]) for name in TOPICS
                ],
                allow_auto_topic_creation=False,
            ),
            None,
        ),
        "describe topic partitions": (
            describe_topic_partitions.DescribeTopicPartitionsRequest(
                topics=[
                    describe_topic_partitions.TopicRequest(name=name)
                    for name in (*TOPICS, *MISSING)
                ]
            ),
            None,
        ),
        "describe all topic partitions": (
            describe_topic_partitions.DescribeTopicPartitionsRequest(),
            None,
        ),
        "produce by name": (_produce(None), 9),
        "produce by id": (_produce(ids), 13),
        "fetch by name": (_fetch(None), 12),
        "fetch by id": (_fetch(ids), 17),
        "list offsets": (_list_offsets(), None),
        "offsets of epochs": (_epochs(), None),
        "delete records": (_delete_records(), None),
        "create topics": (_create_topics(), None),
        "delete topics that are missing": (
            delete_topics.DeleteTopicsRequest(
                topics=[delete_topics.DeleteTopicState(name=name) for name in MISSING],
                timeout_ms=1000,
            ),
            None,
        ),
        "delete topics that are shut": (
            delete_topics.DeleteTopicsRequest(topic_names=[*MISSING], timeout_ms=1000),
            5,
        ),
        "create partitions": (
            create_partitions.CreatePartitionsRequest(
                topics=[
                    create_partitions.CreatePartitionsTopic(name=name, count=2, assignments=None)
                    for name in (*TOPICS, *MISSING)
                ],
                timeout_ms=1000,
                validate_only=True,
            ),
            None,
        ),
        "describe configs": (
            describe_configs.DescribeConfigsRequest(
                resources=[
                    *(_resource(2, name) for name in (*TOPICS, *MISSING)),
                    _resource(4, "1"),
                    *(_resource(32, name) for name in GROUPS),
                ]
            ),
            None,
        ),
        "alter configs by increments": (
            incremental_alter_configs.IncrementalAlterConfigsRequest(
                resources=[
                    *(_alter(2, name) for name in (*TOPICS, *MISSING)),
                    _alter(4, ""),
                ],
                validate_only=True,
            ),
            None,
        ),
        "alter configs": (
            alter_configs.AlterConfigsRequest(
                resources=[_old_alter(name) for name in TOPICS], validate_only=True
            ),
            None,
        ),
        "list config resources": (list_config_resources.ListConfigResourcesRequest(), 0),
        "idempotent producer": (
            init_producer_id.InitProducerIdRequest(
                transactional_id=None, transaction_timeout_ms=1000
            ),
            None,
        ),
        "list groups": (list_groups.ListGroupsRequest(), None),
        "describe groups": (
            describe_groups.DescribeGroupsRequest(
                groups=[*GROUPS], include_authorized_operations=True
            ),
            None,
        ),
        "describe consumer groups": (
            consumer_group_describe.ConsumerGroupDescribeRequest(
                group_ids=[*GROUPS], include_authorized_operations=True
            ),
            None,
        ),
        "delete groups": (
            delete_groups.DeleteGroupsRequest(groups_names=["open-none", "shut-none"]),
            None,
        ),
        "offsets of groups": (_offset_fetch((*TOPICS, *MISSING)), 9),
        "all offsets of groups": (_offset_fetch(None), 9),
        "find groups": (
            find_coordinator.FindCoordinatorRequest(key_type=0, coordinator_keys=[*GROUPS]),
            None,
        ),
        "find transactions": (
            find_coordinator.FindCoordinatorRequest(key_type=1, coordinator_keys=[*TRANSACTIONS]),
            None,
        ),
        "describe transactions": (
            describe_transactions.DescribeTransactionsRequest(transactional_ids=[*TRANSACTIONS]),
            None,
        ),
        "list transactions": (list_transactions.ListTransactionsRequest(), None),
        "describe producers": (
            describe_producers.DescribeProducersRequest(
                topics=[
                    describe_producers.TopicRequest(name=name, partition_indexes=[0])
                    for name in (*TOPICS, *MISSING, "not a name")
                ]
            ),
            None,
        ),
        "describe cluster": (
            describe_cluster.DescribeClusterRequest(include_cluster_authorized_operations=True),
            None,
        ),
        "describe quorum": (describe_quorum.DescribeQuorumRequest(), None),
        "describe log dirs": (describe_log_dirs.DescribeLogDirsRequest(topics=[]), None),
        "describe log dirs 1": (describe_log_dirs.DescribeLogDirsRequest(topics=[]), 1),
        "alter replica log dirs": (alter_replica_log_dirs.AlterReplicaLogDirsRequest(), None),
        "elect leaders": (
            elect_leaders.ElectLeadersRequest(
                topic_partitions=[elect_leaders.TopicPartitions("open-topic", [0])],
                timeout_ms=1000,
            ),
            None,
        ),
        "reassign": (
            alter_partition_reassignments.AlterPartitionReassignmentsRequest(
                topics=[
                    alter_partition_reassignments.ReassignableTopic(
                        name="open-topic",
                        partitions=[
                            alter_partition_reassignments.ReassignablePartition(
                                partition_index=0, replicas=None
                            )
                        ],
                    )
                ]
            ),
            None,
        ),
        "list reassignments": (
            list_partition_reassignments.ListPartitionReassignmentsRequest(topics=None),
            None,
        ),
        "describe quotas": (
            describe_client_quotas.DescribeClientQuotasRequest(components=[], strict=False),
            None,
        ),
        "alter quotas": (
            alter_client_quotas.AlterClientQuotasRequest(
                entries=[
                    alter_client_quotas.EntryDataRequest(
                        entity=[alter_client_quotas.EntityData("user", "open")],
                        ops=[alter_client_quotas.OpData("producer_byte_rate", 1e9, False)],
                    )
                ],
                validate_only=True,
            ),
            None,
        ),
        "describe scram": (
            describe_user_scram_credentials.DescribeUserScramCredentialsRequest(
                users=[describe_user_scram_credentials.UserName("nobody")]
            ),
            None,
        ),
        "alter scram": (
            alter_user_scram_credentials.AlterUserScramCredentialsRequest(
                deletions=[alter_user_scram_credentials.ScramCredentialDeletion("nobody", 1)]
            ),
            None,
        ),
        "update features": (
            update_features.UpdateFeaturesRequest(feature_updates=[], validate_only=True),
            None,
        ),
        "unregister": (unregister_broker.UnregisterBrokerRequest(broker_id=99), None),
        "write markers": (write_txn_markers.WriteTxnMarkersRequest(markers=[]), None),
        "describe acls": (describe_acls.DescribeAclsRequest(**ANY_ACL), None),
        "create acls": (
            create_acls.CreateAclsRequest(
                creations=[
                    create_acls.AclCreation(4, "x", 3, "User:nobody", "*", 3, 3),
                    create_acls.AclCreation(2, "", 3, "User:nobody", "*", 3, 3),
                    create_acls.AclCreation(2, "x", 3, "nobody", "*", 3, 3),
                ]
            ),
            None,
        ),
        "create acls of any operation": (
            create_acls.CreateAclsRequest(
                creations=[
                    create_acls.AclCreation(2, "x", 3, "User:nobody", "*", 1, 3),
                    create_acls.AclCreation(2, "", 3, "User:nobody", "*", 3, 3),
                ]
            ),
            None,
        ),
        "delete acls": (
            delete_acls.DeleteAclsRequest(filters=[delete_acls.DeleteAclsFilter(**ANY_ACL)]),
            None,
        ),
        "tokens of all": (
            describe_delegation_token.DescribeDelegationTokenRequest(owners=None),
            None,
        ),
        "a token of another": (
            create_delegation_token.CreateDelegationTokenRequest(
                owner_principal_type="User",
                owner_principal_name="shut-owner",
                max_lifetime_ms=1,
            ),
            None,
        ),
        "a token with a renewer of another type": (
            create_delegation_token.CreateDelegationTokenRequest(
                renewers=[create_delegation_token.CreatableRenewers("Group", "x")],
                max_lifetime_ms=-1,
            ),
            None,
        ),
    }
    for kind, group in zip(("open", "shut"), GROUPS, strict=True):
        made |= {
            f"commit, {kind}": (_commit(group), 9),
            f"old offsets, {kind}": (_old_offset_fetch(group), 5),
            f"oldest offsets, {kind}": (_old_offset_fetch(group), 1),
            f"find group, {kind}": (find_coordinator.FindCoordinatorRequest(key=group), 3),
            f"join, {kind}": (_join(group), None),
            f"heartbeat, {kind}": (heartbeat.HeartbeatRequest(group, 1, "nobody"), None),
            f"leave, {kind}": (
                leave_group.LeaveGroupRequest(
                    group_id=group, members=[leave_group.MemberIdentity("nobody")]
                ),
                None,
            ),
            f"sync, {kind}": (
                sync_group.SyncGroupRequest(
                    group_id=group,
                    generation_id=1,
                    member_id="nobody",
                    protocol_type="consumer",
                    protocol_name="range",
                ),
                None,
            ),
            f"sync without protocol, {kind}": (
                sync_group.SyncGroupRequest(group_id=group, generation_id=1, member_id="nobody"),
                None,
            ),
            f"delete offsets, {kind}": (_offset_delete(group), None),
            f"subscribe, {kind}": (
                consumer_group_heartbeat.ConsumerGroupHeartbeatRequest(
                    group_id=f"{group}-2",
                    member_id="nobody",
                    member_epoch=5,
                    subscribed_topic_names=[*TOPICS],
                ),
                None,
            ),
        }
    for kind, transaction in zip(("open", "shut"), TRANSACTIONS, strict=True):
        made |= {
            f"add offsets, {kind}": (
                add_offsets_to_txn.AddOffsetsToTxnRequest(transaction, 1, 0, "open-group"),
                None,
            ),
            f"add shut offsets, {kind}": (
                add_offsets_to_txn.AddOffsetsToTxnRequest(transaction, 1, 0, "shut-group"),
                None,
            ),
            f"add partitions, {kind}": (_add_partitions(transaction, "open-topic"), 3),
            f"add mixed partitions, {kind}": (
                _add_partitions(transaction, *TOPICS, *MISSING),
                3,
            ),
            f"end, {kind}": (end_txn.EndTxnRequest(transaction, 1, 0, True), None),
            f"commit in transaction, {kind}": (_txn_commit(transaction, "open-group"), None),
            f"commit shut in transaction, {kind}": (_txn_commit(transaction, "shut-group"), None),
        }
    return made
