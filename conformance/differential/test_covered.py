"""Nothing was forgotten: runs last, over what the other files of this folder have asked.

Left out when only some of them run: then it says nothing.
"""

from __future__ import annotations

import pytest

from conformance.differential.comparison import Pair, Tally
from conformance.differential.summary import PAIRS, served
from kafkalite.wire.api_keys import ApiKey as Api
from kafkalite.wire.errors import ErrorCode as Code

# Kafka's answers to a client that does something wrong, by API. Not in it, as one broker that is
# asked alone, and whose disk is whole, has no occasion to say it: KAFKA_STORAGE_ERROR, and
# INVALID_REQUEST to a DescribeCluster, which is the answer of a controller's listener.
ERRORS: dict[Api, set[Code]] = {
    Api.API_VERSIONS: {Code.UNSUPPORTED_VERSION, Code.INVALID_REQUEST},
    Api.PRODUCE: {
        Code.INVALID_REQUIRED_ACKS,
        Code.INVALID_RECORD,
        Code.UNSUPPORTED_COMPRESSION_TYPE,
        Code.MESSAGE_TOO_LARGE,
        Code.CORRUPT_MESSAGE,
        Code.RECORD_LIST_TOO_LARGE,
        Code.INVALID_TIMESTAMP,
        Code.UNKNOWN_TOPIC_OR_PARTITION,
        Code.INVALID_TOPIC_EXCEPTION,
        Code.UNKNOWN_TOPIC_ID,
        Code.OUT_OF_ORDER_SEQUENCE_NUMBER,
        Code.INVALID_PRODUCER_EPOCH,
        Code.INVALID_TXN_STATE,
        Code.TRANSACTION_ABORTABLE,
    },
    Api.FETCH: {
        Code.OFFSET_OUT_OF_RANGE,
        Code.UNKNOWN_TOPIC_OR_PARTITION,
        Code.UNKNOWN_TOPIC_ID,
        Code.FETCH_SESSION_ID_NOT_FOUND,
        Code.INVALID_FETCH_SESSION_EPOCH,
        Code.FETCH_SESSION_TOPIC_ID_ERROR,
        Code.FENCED_LEADER_EPOCH,
        Code.UNKNOWN_LEADER_EPOCH,
        Code.UNSUPPORTED_VERSION,
    },
    Api.LIST_OFFSETS: {
        Code.UNSUPPORTED_VERSION,
        Code.INVALID_REQUEST,
        Code.UNKNOWN_TOPIC_OR_PARTITION,
        Code.FENCED_LEADER_EPOCH,
        Code.UNKNOWN_LEADER_EPOCH,
    },
    Api.OFFSET_FOR_LEADER_EPOCH: {
        Code.UNKNOWN_TOPIC_OR_PARTITION,
        Code.FENCED_LEADER_EPOCH,
        Code.UNKNOWN_LEADER_EPOCH,
    },
    Api.DELETE_RECORDS: {
        Code.OFFSET_OUT_OF_RANGE,
        Code.POLICY_VIOLATION,
        Code.INVALID_TOPIC_EXCEPTION,
        Code.UNKNOWN_TOPIC_OR_PARTITION,
    },
    Api.METADATA: {
        Code.UNKNOWN_TOPIC_OR_PARTITION,
        Code.INVALID_TOPIC_EXCEPTION,
        Code.UNKNOWN_TOPIC_ID,
        Code.INVALID_REQUEST,
    },
    Api.CREATE_TOPICS: {
        Code.INVALID_REQUEST,
        Code.TOPIC_ALREADY_EXISTS,
        Code.INVALID_TOPIC_EXCEPTION,
        Code.INVALID_REPLICATION_FACTOR,
        Code.INVALID_PARTITIONS,
        Code.INVALID_REPLICA_ASSIGNMENT,
        Code.INVALID_CONFIG,
    },
    Api.CREATE_PARTITIONS: {
        Code.INVALID_PARTITIONS,
        Code.UNKNOWN_TOPIC_OR_PARTITION,
        Code.INVALID_REPLICA_ASSIGNMENT,
    },
    Api.DELETE_TOPICS: {
        Code.INVALID_REQUEST,
        Code.UNKNOWN_TOPIC_OR_PARTITION,
        Code.UNKNOWN_TOPIC_ID,
        Code.TOPIC_DELETION_DISABLED,
    },
    Api.DESCRIBE_CONFIGS: {Code.UNKNOWN_TOPIC_OR_PARTITION, Code.INVALID_REQUEST},
    Api.INCREMENTAL_ALTER_CONFIGS: {
        Code.INVALID_REQUEST,
        Code.INVALID_CONFIG,
        Code.UNKNOWN_TOPIC_OR_PARTITION,
    },
    Api.ALTER_CONFIGS: {
        Code.INVALID_REQUEST,
        Code.INVALID_CONFIG,
        Code.UNKNOWN_TOPIC_OR_PARTITION,
    },
    Api.DESCRIBE_CLUSTER: {Code.MISMATCHED_ENDPOINT_TYPE, Code.UNSUPPORTED_ENDPOINT_TYPE},
    Api.FIND_COORDINATOR: {Code.INVALID_REQUEST},
    Api.JOIN_GROUP: {
        Code.INVALID_GROUP_ID,
        Code.INVALID_SESSION_TIMEOUT,
        Code.MEMBER_ID_REQUIRED,
        Code.UNKNOWN_MEMBER_ID,
        Code.INCONSISTENT_GROUP_PROTOCOL,
        Code.GROUP_MAX_SIZE_REACHED,
        Code.FENCED_INSTANCE_ID,
    },
    Api.SYNC_GROUP: {
        Code.ILLEGAL_GENERATION,
        Code.REBALANCE_IN_PROGRESS,
        Code.UNKNOWN_MEMBER_ID,
        Code.INCONSISTENT_GROUP_PROTOCOL,
        Code.FENCED_INSTANCE_ID,
    },
    Api.HEARTBEAT: {
        Code.REBALANCE_IN_PROGRESS,
        Code.ILLEGAL_GENERATION,
        Code.UNKNOWN_MEMBER_ID,
        Code.FENCED_INSTANCE_ID,
    },
    Api.LEAVE_GROUP: {Code.UNKNOWN_MEMBER_ID, Code.FENCED_INSTANCE_ID, Code.INVALID_GROUP_ID},
    Api.OFFSET_COMMIT: {
        Code.UNKNOWN_MEMBER_ID,
        Code.GROUP_ID_NOT_FOUND,
        Code.ILLEGAL_GENERATION,
        Code.REBALANCE_IN_PROGRESS,
        Code.OFFSET_METADATA_TOO_LARGE,
        Code.UNKNOWN_TOPIC_OR_PARTITION,
        Code.UNKNOWN_TOPIC_ID,
        Code.UNSUPPORTED_VERSION,
        Code.STALE_MEMBER_EPOCH,
        Code.FENCED_INSTANCE_ID,
    },
    Api.OFFSET_FETCH: {
        Code.UNSTABLE_OFFSET_COMMIT,
        Code.STALE_MEMBER_EPOCH,
        Code.UNKNOWN_MEMBER_ID,
        Code.UNKNOWN_TOPIC_ID,
    },
    Api.DESCRIBE_GROUPS: {Code.GROUP_ID_NOT_FOUND},
    Api.DELETE_GROUPS: {Code.NON_EMPTY_GROUP, Code.GROUP_ID_NOT_FOUND},
    Api.OFFSET_DELETE: {
        Code.GROUP_SUBSCRIBED_TO_TOPIC,
        Code.GROUP_ID_NOT_FOUND,
        Code.UNKNOWN_TOPIC_OR_PARTITION,
    },
    Api.CONSUMER_GROUP_HEARTBEAT: {
        Code.INVALID_REQUEST,
        Code.UNKNOWN_MEMBER_ID,
        Code.FENCED_MEMBER_EPOCH,
        Code.UNRELEASED_INSTANCE_ID,
        Code.FENCED_INSTANCE_ID,
        Code.UNSUPPORTED_ASSIGNOR,
        Code.INVALID_REGULAR_EXPRESSION,
    },
    Api.CONSUMER_GROUP_DESCRIBE: {Code.GROUP_ID_NOT_FOUND},
    Api.INIT_PRODUCER_ID: {
        Code.INVALID_REQUEST,
        Code.INVALID_TRANSACTION_TIMEOUT,
        Code.CONCURRENT_TRANSACTIONS,
        Code.PRODUCER_FENCED,
        Code.INVALID_PRODUCER_EPOCH,
    },
    Api.ADD_PARTITIONS_TO_TXN: {
        Code.INVALID_PRODUCER_ID_MAPPING,
        Code.PRODUCER_FENCED,
        Code.INVALID_PRODUCER_EPOCH,
        Code.CONCURRENT_TRANSACTIONS,
        Code.UNKNOWN_TOPIC_OR_PARTITION,
        Code.OPERATION_NOT_ATTEMPTED,
    },
    Api.ADD_OFFSETS_TO_TXN: {
        Code.INVALID_PRODUCER_ID_MAPPING,
        Code.PRODUCER_FENCED,
        Code.INVALID_PRODUCER_EPOCH,
        Code.CONCURRENT_TRANSACTIONS,
    },
    Api.END_TXN: {
        Code.INVALID_PRODUCER_ID_MAPPING,
        Code.PRODUCER_FENCED,
        Code.INVALID_PRODUCER_EPOCH,
        Code.INVALID_TXN_STATE,
        Code.CONCURRENT_TRANSACTIONS,
    },
    Api.TXN_OFFSET_COMMIT: {
        Code.ILLEGAL_GENERATION,
        Code.UNKNOWN_MEMBER_ID,
        Code.FENCED_INSTANCE_ID,
        Code.UNKNOWN_TOPIC_OR_PARTITION,
    },
}


@pytest.fixture
def scripts(pytestconfig: pytest.Config, pair: Pair) -> Tally:
    """The tally of all scripts, on any brokers (`pair`: not without Apache Kafka)."""
    found = Tally()
    assert pair in pytestconfig.stash[PAIRS]
    for each in pytestconfig.stash[PAIRS]:
        if "scripts" in each.tallies:
            found.requests += each.tallies["scripts"].requests
            found.errors += each.tallies["scripts"].errors
    return found


def test_scripts_ask_every_api_in_every_version(scripts: Tally) -> None:
    missing = [
        f"{api.name} v{version}" for api, version in served() if not scripts.requests[api, version]
    ]
    assert not missing, "\n".join(missing)


def test_scripts_meet_every_error(scripts: Tally) -> None:
    met = {(asked, code) for asked, code in scripts.errors}
    missing = [
        f"{api.name}: {code.name}"
        for api, codes in ERRORS.items()
        for code in sorted(codes)
        if (api, code) not in met
    ]
    assert not missing, "\n".join(missing)
