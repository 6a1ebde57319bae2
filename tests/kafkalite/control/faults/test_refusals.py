"""A refusal of each API says one error, and repeats what was asked as Apache Kafka does."""

from __future__ import annotations

from random import Random
from typing import Any

from conformance.harness.random_messages import random_message
from kafkalite.apis import APIS
from kafkalite.control.faults.refusals import has_partition_errors, partition_refusal, refusal
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.api_messages import request_class
from kafkalite.wire.codec import decode_response, encode_response
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from kafkalite.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkalite.wire.messages.join_group import JoinGroupRequest
from kafkalite.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkalite.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalite.wire.schema import fields_of, message_of
from tests.each import for_each

CODE = ErrorCode.NOT_COORDINATOR


def codes(value: Any) -> set[int]:
    """Every error in an answer, at whatever depth."""
    found: set[int] = set()
    if isinstance(value, list):
        for each in value:
            found |= codes(each)
    elif hasattr(type(value), "__dataclass_fields__"):
        for field in fields_of(type(value)):
            inner = getattr(value, field.name)
            if field.name in ("error_code", "partition_error_code"):
                found.add(inner)
            else:
                found |= codes(inner)
    return found


@for_each(APIS)
def test_a_refusal_is_an_answer_in_every_version(key: ApiKey) -> None:
    """A client decodes the named error, and nothing for what was not asked."""
    random = Random(int(key))
    message = message_of(request_class(key))
    told: set[int] = set()
    for version in range(message.min_version, message.max_version + 1):
        for _ in range(20):
            request = random_message(random, request_class(key), version)
            answer = refusal(key, version, request, CODE)
            if answer is None:
                assert key is ApiKey.PRODUCE
                continue
            data = b"".join(map(bytes, encode_response(key, version, 7, answer)))
            decoded = decode_response(key, version, data[4:])
            assert decoded[0] == 7
            told |= codes(decoded[1])
    assert int(CODE) in told
    assert told <= {int(CODE), 0}


def produced(acks: int = -1) -> ProduceRequest:
    data = [PartitionProduceData(index=index) for index in (0, 2)]
    return ProduceRequest(acks=acks, topic_data=[TopicProduceData(name="t", partition_data=data)])


def test_a_produce_without_acks_is_not_answered() -> None:
    assert refusal(ApiKey.PRODUCE, 9, produced(acks=0), CODE) is None


def test_a_produce_is_refused_by_partition_with_no_offset() -> None:
    answer = refusal(ApiKey.PRODUCE, 9, produced(), CODE, "why")
    (topic,) = answer.responses
    assert topic.name == "t"
    assert [
        (each.index, each.error_code, each.base_offset, each.error_message)
        for each in topic.partition_responses
    ] == [(0, CODE, -1, "why"), (2, CODE, -1, "why")]


def test_a_fetch_repeats_no_topics_since_they_have_ids() -> None:
    request = FetchRequest(
        session_id=9,
        topics=[FetchTopic(topic="t", partitions=[FetchPartition(partition=1)])],
    )
    old, new = (refusal(ApiKey.FETCH, version, request, CODE) for version in (12, 13))
    assert (old.error_code, old.session_id) == (new.error_code, new.session_id) == (CODE, 9)
    assert [(each.topic, each.partitions[0].error_code) for each in old.responses] == [("t", CODE)]
    assert new.responses == []


def test_an_offset_fetch_says_it_of_the_whole_in_between() -> None:
    """By partition up to v1, of the whole up to v7, then by group (OffsetFetchRequest)."""
    by_topic = OffsetFetchRequest(
        group_id="g", topics=[OffsetFetchRequestTopic(name="t", partition_indexes=[4])]
    )
    whole = refusal(ApiKey.OFFSET_FETCH, 5, by_topic, CODE)
    assert (whole.error_code, whole.topics) == (CODE, [])
    old = refusal(ApiKey.OFFSET_FETCH, 1, by_topic, CODE)
    assert [(each.partition_index, each.error_code) for each in old.topics[0].partitions] == [
        (4, CODE)
    ]
    topics = [OffsetFetchRequestTopics(name="t", partition_indexes=[4])]
    by_group = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=topics)])
    (group,) = refusal(ApiKey.OFFSET_FETCH, 9, by_group, CODE).groups
    assert (group.group_id, group.error_code, group.topics) == ("g", CODE, [])


def test_details_that_differ_from_the_defaults() -> None:
    join = JoinGroupRequest(group_id="g", member_id="m")
    assert refusal(ApiKey.JOIN_GROUP, 6, join, CODE).protocol_name == ""
    assert refusal(ApiKey.JOIN_GROUP, 7, join, CODE).protocol_name is None
    by_id = MetadataRequest(topics=[MetadataRequestTopic(name=None)])
    assert [each.name for each in refusal(ApiKey.METADATA, 12, by_id, CODE).topics] == [""]
    users = AlterUserScramCredentialsRequest(
        deletions=[ScramCredentialDeletion(name="b"), ScramCredentialDeletion(name="a")],
        upsertions=[ScramCredentialUpsertion(name="b")],
    )
    answer = refusal(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, users, CODE)
    assert [(each.user, each.error_code) for each in answer.results] == [("a", CODE), ("b", CODE)]


def test_a_client_learns_which_versions_it_may_ask_with() -> None:
    """An unknown version of ApiVersions is answered with the versions it has (KIP-511)."""
    request = ApiVersionsRequest()
    told = refusal(ApiKey.API_VERSIONS, 0, request, ErrorCode.UNSUPPORTED_VERSION)
    assert [(each.api_key, each.min_version, each.max_version) for each in told.api_keys] == [
        (18, 0, APIS[ApiKey.API_VERSIONS].max_version)
    ]
    assert refusal(ApiKey.API_VERSIONS, 0, request, CODE).api_keys == []


def test_partitions_are_refused_where_answers_tell_of_them() -> None:
    request = OffsetFetchRequest(
        group_id="g", topics=[OffsetFetchRequestTopic(name="t", partition_indexes=[4])]
    )
    answer = partition_refusal(ApiKey.OFFSET_FETCH, 5, request, CODE)
    assert answer.error_code == 0
    assert [each.error_code for each in answer.topics[0].partitions] == [CODE]
    assert not has_partition_errors(ApiKey.HEARTBEAT)
    assert partition_refusal(ApiKey.HEARTBEAT, 4, object(), CODE) is None
