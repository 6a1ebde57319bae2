"""Refusals: one error for everything that was asked, as each API's response says it."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from conformance.harness.random_messages import random_message
from kafkalite.apis import APIS
from kafkalite.requests.mirrors import mirror_of
from kafkalite.requests.refusals import refuse, refused
from kafkalite.requests.slices import at_once
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.api_messages import request_class
from kafkalite.wire.codec import decode_response, encode_response
from kafkalite.wire.errors import ERROR_FIELDS, ErrorCode
from kafkalite.wire.message_codec import join
from kafkalite.wire.messages import (
    alter_client_quotas,
    alter_replica_log_dirs,
    alter_user_scram_credentials,
    delete_topics,
    describe_client_quotas,
    describe_configs,
    fetch,
    find_coordinator,
    init_producer_id,
    join_group,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    produce,
    write_txn_markers,
)
from kafkalite.wire.schema import fields_of, message_of
from tests.each import for_each

CLUSTER = ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def codes(value: Any) -> set[int]:
    """Every error in an answer, at whatever depth."""
    found: set[int] = set()
    if isinstance(value, list):
        for each in value:
            found |= codes(each)
    elif hasattr(type(value), "__dataclass_fields__"):
        for field in fields_of(type(value)):
            inner = getattr(value, field.name)
            found |= {inner} if field.name in ERROR_FIELDS else codes(inner)
    return found


@for_each(APIS)
def test_every_api_can_be_refused_in_every_version(api_key: ApiKey) -> None:
    """A client decodes the named error, and nothing is lost on the way: it belongs to the
    version.
    """
    random = Random(int(api_key))
    message = message_of(request_class(api_key))
    told: set[int] = set()
    for version in range(message.min_version, message.max_version + 1):
        for _ in range(20):
            request = random_message(random, request_class(api_key), version)
            response = refuse(api_key, version, request, CLUSTER, "no")
            if response is None:
                assert (api_key, request.acks) == (ApiKey.PRODUCE, 0)
                continue
            sent = join(encode_response(api_key, version, 7, response))
            assert decode_response(api_key, version, sent[4:]) == (7, response)
            told |= codes(response)
    assert CLUSTER in told
    assert told <= {CLUSTER, 0}


def ask(api_key: ApiKey, version: int, request: Any, message: str | None = None) -> Any:
    return refuse(api_key, version, request, CLUSTER, message)


def test_partitions_are_refused_one_by_one() -> None:
    topic = offset_commit.OffsetCommitRequestTopic(
        name="t",
        partitions=[
            offset_commit.OffsetCommitRequestPartition(partition_index=index) for index in (3, 5)
        ],
    )
    request = offset_commit.OffsetCommitRequest(group_id="g", topics=[topic])
    (answer,) = ask(ApiKey.OFFSET_COMMIT, 9, request).topics
    assert answer.name == "t"
    assert [(each.partition_index, each.error_code) for each in answer.partitions] == [
        (3, CLUSTER),
        (5, CLUSTER),
    ]


def test_markers_are_refused_three_lists_deep() -> None:
    topic = write_txn_markers.WritableTxnMarkerTopic(name="t", partition_indexes=[4])
    marker = write_txn_markers.WritableTxnMarker(producer_id=9, topics=[topic])
    request = write_txn_markers.WriteTxnMarkersRequest(markers=[marker])
    (answer,) = ask(ApiKey.WRITE_TXN_MARKERS, 1, request).markers
    assert answer.producer_id == 9
    (partition,) = answer.topics[0].partitions
    assert (partition.partition_index, partition.error_code) == (4, CLUSTER)


def test_a_produce_without_acknowledgement_hears_nothing() -> None:
    assert ask(ApiKey.PRODUCE, 9, produce.ProduceRequest(acks=0)) is None
    assert ask(ApiKey.PRODUCE, 9, produce.ProduceRequest(acks=1)) is not None


def test_a_fetch_repeats_no_topics_since_they_have_ids() -> None:
    topic = fetch.FetchTopic(topic="t", partitions=[fetch.FetchPartition(partition=1)])
    request = fetch.FetchRequest(session_id=9, topics=[topic])
    old, new = (ask(ApiKey.FETCH, version, request) for version in (12, 13))
    assert (old.error_code, old.session_id) == (new.error_code, new.session_id) == (CLUSTER, 9)
    (answer,) = old.responses
    assert (answer.topic, answer.partitions[0].error_code) == ("t", CLUSTER)
    assert new.responses == []


def test_a_topic_without_a_name_is_answered_with_an_empty_one() -> None:
    by_id = metadata.MetadataRequest(topics=[metadata.MetadataRequestTopic(name=None)])
    assert [each.name for each in ask(ApiKey.METADATA, 12, by_id).topics] == [""]


def test_an_offset_that_is_not_told_is_minus_one() -> None:
    topic = offset_fetch.OffsetFetchRequestTopic(name="t", partition_indexes=[0])
    request = offset_fetch.OffsetFetchRequest(group_id="g", topics=[topic])
    (answer,) = ask(ApiKey.OFFSET_FETCH, 1, request).topics
    (partition,) = answer.partitions
    assert (partition.committed_offset, partition.metadata) == (-1, "")
    assert partition.error_code == CLUSTER


@pytest.mark.parametrize(
    ("api_key", "version", "request_", "elements"),
    [
        (
            ApiKey.OFFSET_FETCH,
            7,
            offset_fetch.OffsetFetchRequest(
                group_id="g",
                topics=[offset_fetch.OffsetFetchRequestTopic(name="t", partition_indexes=[0])],
            ),
            "topics",
        ),
        (
            ApiKey.OFFSET_DELETE,
            0,
            offset_delete.OffsetDeleteRequest(
                group_id="g", topics=[offset_delete.OffsetDeleteRequestTopic(name="t")]
            ),
            "topics",
        ),
    ],
    ids=["OffsetFetch", "OffsetDelete"],
)
def test_some_say_it_once_for_the_whole(
    api_key: ApiKey, version: int, request_: Any, elements: str
) -> None:
    response = ask(api_key, version, request_)
    assert response.error_code == CLUSTER
    assert getattr(response, elements) == []


def test_offsets_are_refused_by_group() -> None:
    topics = [offset_fetch.OffsetFetchRequestTopics(name="t", partition_indexes=[4])]
    group = offset_fetch.OffsetFetchRequestGroup(group_id="g", topics=topics)
    request = offset_fetch.OffsetFetchRequest(groups=[group])
    (answer,) = ask(ApiKey.OFFSET_FETCH, 9, request).groups
    assert (answer.group_id, answer.error_code, answer.topics) == ("g", CLUSTER, [])


@pytest.mark.parametrize(
    ("api_key", "version", "message", "text"),
    [
        (ApiKey.DESCRIBE_CLUSTER, 1, "why", "why"),
        (ApiKey.DESCRIBE_CLUSTER, 1, None, None),
        (ApiKey.UNREGISTER_BROKER, 0, "why", "why"),
        (ApiKey.UNREGISTER_BROKER, 0, None, "Cluster authorization failed."),
        (ApiKey.DESCRIBE_QUORUM, 2, "why", "Cluster authorization failed."),
        (ApiKey.SHARE_FETCH, 1, "why", None),
    ],
)
def test_apis_differ_in_what_they_tell(
    api_key: ApiKey, version: int, message: str | None, text: str | None
) -> None:
    request = request_class(api_key)()
    assert ask(api_key, version, request, message).error_message == text


def test_old_deletions_are_of_names() -> None:
    named = delete_topics.DeleteTopicsRequest(topic_names=["a"])
    assert [each.name for each in ask(ApiKey.DELETE_TOPICS, 5, named).responses] == ["a"]
    states = delete_topics.DeleteTopicsRequest(topics=[delete_topics.DeleteTopicState(name="b")])
    assert [each.name for each in ask(ApiKey.DELETE_TOPICS, 6, states).responses] == ["b"]


def test_a_coordinator_that_is_not_told() -> None:
    old = ask(ApiKey.FIND_COORDINATOR, 3, find_coordinator.FindCoordinatorRequest(key="g"))
    assert (old.node_id, old.port, old.error_code) == (-1, -1, CLUSTER)
    assert old.error_message == "Cluster authorization failed."
    request = find_coordinator.FindCoordinatorRequest(coordinator_keys=["g"])
    (new,) = ask(ApiKey.FIND_COORDINATOR, 4, request).coordinators
    assert (new.key, new.node_id, new.port, new.error_code) == ("g", -1, -1, CLUSTER)


def test_a_producer_id_that_is_not_given() -> None:
    answer = ask(ApiKey.INIT_PRODUCER_ID, 4, init_producer_id.InitProducerIdRequest())
    assert (answer.producer_id, answer.producer_epoch) == (-1, -1)


@pytest.mark.parametrize(("version", "name"), [(6, ""), (7, None)])
def test_a_join_has_no_protocol(version: int, name: str | None) -> None:
    answer = ask(ApiKey.JOIN_GROUP, version, join_group.JoinGroupRequest())
    assert answer.protocol_name == name


def test_quotas_that_are_not_described_are_null() -> None:
    request = describe_client_quotas.DescribeClientQuotasRequest()
    assert ask(ApiKey.DESCRIBE_CLIENT_QUOTAS, 1, request).entries is None


def test_quotas_that_are_not_altered() -> None:
    entity = alter_client_quotas.EntityData(entity_type="user", entity_name="alice")
    entry = alter_client_quotas.EntryDataRequest(entity=[entity], ops=[])
    request = alter_client_quotas.AlterClientQuotasRequest(entries=[entry])
    (answer,) = ask(ApiKey.ALTER_CLIENT_QUOTAS, 1, request).entries
    assert (answer.error_code, answer.error_message) == (CLUSTER, "Cluster authorization failed.")
    assert [(each.entity_type, each.entity_name) for each in answer.entity] == [("user", "alice")]


def test_credentials_are_refused_user_by_user() -> None:
    request = alter_user_scram_credentials.AlterUserScramCredentialsRequest(
        deletions=[
            alter_user_scram_credentials.ScramCredentialDeletion(name=name) for name in ("b", "a")
        ],
        upsertions=[alter_user_scram_credentials.ScramCredentialUpsertion(name="a")],
    )
    results = ask(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, request, "no").results
    assert [(each.user, each.error_code, each.error_message) for each in results] == [
        ("a", CLUSTER, "no"),
        ("b", CLUSTER, "no"),
    ]


def test_directories_are_refused_partition_by_partition() -> None:
    topic = alter_replica_log_dirs.AlterReplicaLogDirTopic(name="t", partitions=[0, 1])
    directory = alter_replica_log_dirs.AlterReplicaLogDir(path="/d", topics=[topic])
    request = alter_replica_log_dirs.AlterReplicaLogDirsRequest(dirs=[directory])
    (answer,) = ask(ApiKey.ALTER_REPLICA_LOG_DIRS, 2, request).results
    assert answer.topic_name == "t"
    assert [(each.partition_index, each.error_code) for each in answer.partitions] == [
        (0, CLUSTER),
        (1, CLUSTER),
    ]


def test_one_element_is_refused_alone() -> None:
    resource = describe_configs.DescribeConfigsResource(resource_type=2, resource_name="t")
    request = describe_configs.DescribeConfigsRequest(resources=[resource])
    mirror = mirror_of(ApiKey.DESCRIBE_CONFIGS, request)
    assert mirror is not None
    answer = at_once(refused(ApiKey.DESCRIBE_CONFIGS, mirror, resource, CLUSTER, "no"))
    assert (answer.resource_type, answer.resource_name) == (2, "t")
    assert (answer.error_code, answer.error_message) == (CLUSTER, "no")
