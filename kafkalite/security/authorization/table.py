"""THE table of authorization: what each API asks of whom, and how a refusal looks.

    rule                        meaning
    cluster(OP)                 OP on the cluster, or everything is refused
    whole(need(OP, TYPE), f)    OP on what the field `f` names, or everything is refused
    Each(need(OP, TYPE), ...)   OP on each element, or that element is refused
    shown_if(list, ...)         elements of the response are left out in silence

An API that is not in the table asks nothing. Fetch and share groups keep sessions: what is asked of
each of their partitions is FETCH_NEED, and the handlers ask for it through the request's context.

Source: Kafka's KafkaApis, ControllerApis, ConfigHelper, AclApis and
DescribeTopicPartitionsRequestHandler.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafkalite.security.acls import Operation, ResourceType
from kafkalite.security.authorization import share, streams
from kafkalite.security.authorization.acl_requests import create_acls, delete_acls, describe_acls
from kafkalite.security.authorization.groups import (
    describe_transactions,
    described_groups,
    find_coordinator,
    group_with_topics,
    list_groups,
    offset_fetch,
    subscribing_heartbeat,
    sync_group,
)
from kafkalite.security.authorization.metadata import (
    describe_cluster,
    describe_topic_partitions,
    metadata,
)
from kafkalite.security.authorization.places import Place
from kafkalite.security.authorization.records import (
    add_partitions_to_txn,
    init_producer_id,
    offset_for_leader_epoch,
    produce,
    write_txn_markers,
)
from kafkalite.security.authorization.rules import (
    Each,
    Rule,
    all_of,
    cluster,
    named,
    need,
    shown_if,
    topic_by_name_or_id,
    valid_topic_name,
    whole,
)
from kafkalite.security.authorization.tokens import create_delegation_token, sees_token
from kafkalite.security.authorization.topics import configs, create_topics, delete_topics
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.error_messages import default_message
from kafkalite.wire.errors import ErrorCode

_READ_GROUP: Final = whole(need(Operation.READ, ResourceType.GROUP), "group_id")
_WRITE_TRANSACTION: Final = whole(
    need(Operation.WRITE, ResourceType.TRANSACTIONAL_ID), "transactional_id"
)

_READ_TOPICS: Final = Each(
    need(Operation.READ, ResourceType.TOPIC), named("name"), Place.AMONG_REFUSED
)

# Told of all five, though a refusal of two would tell nothing by itself (toGlobalErrorResponse).
_BROKERS_SHARE_STATE: Final = cluster(
    Operation.CLUSTER_ACTION,
    says_why=False,
    message=default_message(ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
)

FETCH_NEED: Final = need(Operation.READ, ResourceType.TOPIC)

AUTHORIZATION: Final[Mapping[ApiKey, Rule]] = {
    ApiKey.PRODUCE: produce,
    ApiKey.LIST_OFFSETS: Each(need(Operation.DESCRIBE, ResourceType.TOPIC), named("name")),
    ApiKey.METADATA: metadata,
    ApiKey.OFFSET_COMMIT: all_of(
        _READ_GROUP,
        Each(
            need(Operation.READ, ResourceType.TOPIC),
            topic_by_name_or_id,
            Place.AMONG_REFUSED,
        ),
    ),
    ApiKey.OFFSET_FETCH: offset_fetch,
    ApiKey.FIND_COORDINATOR: find_coordinator,
    ApiKey.JOIN_GROUP: _READ_GROUP,
    ApiKey.HEARTBEAT: _READ_GROUP,
    ApiKey.LEAVE_GROUP: _READ_GROUP,
    ApiKey.SYNC_GROUP: sync_group,
    ApiKey.DESCRIBE_GROUPS: described_groups,
    ApiKey.LIST_GROUPS: list_groups,
    ApiKey.CREATE_TOPICS: create_topics,
    ApiKey.DELETE_TOPICS: delete_topics,
    ApiKey.DELETE_RECORDS: Each(
        need(Operation.DELETE, ResourceType.TOPIC), named("name"), refused_once=True
    ),
    ApiKey.INIT_PRODUCER_ID: init_producer_id,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: offset_for_leader_epoch,
    ApiKey.ADD_PARTITIONS_TO_TXN: add_partitions_to_txn,
    ApiKey.ADD_OFFSETS_TO_TXN: all_of(_WRITE_TRANSACTION, _READ_GROUP),
    ApiKey.END_TXN: _WRITE_TRANSACTION,
    ApiKey.WRITE_TXN_MARKERS: write_txn_markers,
    ApiKey.TXN_OFFSET_COMMIT: all_of(
        _WRITE_TRANSACTION,
        _READ_GROUP,
        _READ_TOPICS,
    ),
    ApiKey.DESCRIBE_ACLS: describe_acls,
    ApiKey.CREATE_ACLS: create_acls,
    ApiKey.DELETE_ACLS: delete_acls,
    ApiKey.DESCRIBE_CONFIGS: configs(Operation.DESCRIBE_CONFIGS, Place.LAST),
    ApiKey.ALTER_CONFIGS: configs(Operation.ALTER_CONFIGS, Place.AS_ASKED),
    ApiKey.ALTER_REPLICA_LOG_DIRS: cluster(Operation.ALTER),
    ApiKey.DESCRIBE_LOG_DIRS: cluster(Operation.DESCRIBE),
    ApiKey.CREATE_PARTITIONS: Each(
        need(Operation.ALTER, ResourceType.TOPIC), named("name"), Place.FIRST, each_once=True
    ),
    ApiKey.CREATE_DELEGATION_TOKEN: create_delegation_token,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: shown_if("tokens", sees_token),
    ApiKey.DELETE_GROUPS: Each(
        need(Operation.DELETE, ResourceType.GROUP), named(""), refused_once=True
    ),
    ApiKey.ELECT_LEADERS: cluster(Operation.ALTER),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: configs(Operation.ALTER_CONFIGS, Place.AS_ASKED),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: cluster(Operation.ALTER),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: cluster(Operation.DESCRIBE),
    ApiKey.OFFSET_DELETE: all_of(
        whole(need(Operation.DELETE, ResourceType.GROUP), "group_id"),
        _READ_TOPICS,
    ),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: cluster(Operation.DESCRIBE_CONFIGS, says_why=False),
    ApiKey.ALTER_CLIENT_QUOTAS: cluster(Operation.ALTER_CONFIGS),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: cluster(Operation.DESCRIBE, says_why=False),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: cluster(Operation.ALTER),
    ApiKey.DESCRIBE_QUORUM: cluster(Operation.DESCRIBE),
    ApiKey.UPDATE_FEATURES: cluster(Operation.ALTER),
    ApiKey.DESCRIBE_CLUSTER: describe_cluster,
    ApiKey.DESCRIBE_PRODUCERS: Each(
        need(Operation.READ, ResourceType.TOPIC),
        valid_topic_name,
        Place.AS_ASKED,
        default_message(ErrorCode.TOPIC_AUTHORIZATION_FAILED),
    ),
    ApiKey.UNREGISTER_BROKER: cluster(Operation.ALTER),
    ApiKey.DESCRIBE_TRANSACTIONS: describe_transactions,
    ApiKey.LIST_TRANSACTIONS: shown_if(
        "transaction_states",
        lambda asked, state: asked.access.may(
            Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, state.transactional_id
        ),
    ),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: subscribing_heartbeat,
    ApiKey.CONSUMER_GROUP_DESCRIBE: group_with_topics(
        "The group has described topic(s) that the client is not authorized to describe."
    ),
    ApiKey.LIST_CONFIG_RESOURCES: cluster(Operation.DESCRIBE_CONFIGS, says_why=False),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: describe_topic_partitions,
    ApiKey.SHARE_GROUP_HEARTBEAT: subscribing_heartbeat,
    ApiKey.SHARE_GROUP_DESCRIBE: group_with_topics(
        "The group has described topic(s) that the client is not authorized to describe."
    ),
    ApiKey.SHARE_FETCH: share.session,
    ApiKey.SHARE_ACKNOWLEDGE: share.session,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: share.describe_offsets,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: share.alter_offsets,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: share.delete_offsets,
    ApiKey.ADD_RAFT_VOTER: cluster(Operation.ALTER),
    ApiKey.REMOVE_RAFT_VOTER: cluster(Operation.ALTER),
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: _BROKERS_SHARE_STATE,
    ApiKey.READ_SHARE_GROUP_STATE: _BROKERS_SHARE_STATE,
    ApiKey.WRITE_SHARE_GROUP_STATE: _BROKERS_SHARE_STATE,
    ApiKey.DELETE_SHARE_GROUP_STATE: _BROKERS_SHARE_STATE,
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: _BROKERS_SHARE_STATE,
    ApiKey.STREAMS_GROUP_HEARTBEAT: streams.heartbeat,
    ApiKey.STREAMS_GROUP_DESCRIBE: group_with_topics(
        "The described group uses topics that the client is not authorized to describe."
    ),
}
