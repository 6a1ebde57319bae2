"""Refusals by a rule: the whole request in the words of the rule, or its partitions."""

from __future__ import annotations

from kafkalite.apis import APIS
from kafkalite.control.faults.refusals import has_partition_errors, partition_refusal, refusal
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from kafkalite.wire.messages.describe_quorum import DescribeQuorumRequest
from kafkalite.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)

CODE = ErrorCode.NOT_COORDINATOR


def test_a_client_learns_which_versions_it_may_ask_with() -> None:
    """An unknown version of ApiVersions is answered with the versions it has (KIP-511)."""
    request = ApiVersionsRequest()
    told = refusal(ApiKey.API_VERSIONS, 0, request, ErrorCode.UNSUPPORTED_VERSION)
    assert [(each.api_key, each.min_version, each.max_version) for each in told.api_keys] == [
        (18, 0, APIS[ApiKey.API_VERSIONS].max_version)
    ]
    assert refusal(ApiKey.API_VERSIONS, 0, request, CODE).api_keys == []


def test_a_rule_has_its_own_words() -> None:
    request = DescribeQuorumRequest()
    assert refusal(ApiKey.DESCRIBE_QUORUM, 2, request, CODE, "why").error_message == "why"
    usual = refusal(ApiKey.DESCRIBE_QUORUM, 2, request, CODE).error_message
    assert usual == "This is not the correct coordinator."


def test_partitions_are_refused_where_answers_tell_of_them() -> None:
    request = OffsetFetchRequest(
        group_id="g", topics=[OffsetFetchRequestTopic(name="t", partition_indexes=[4])]
    )
    answer = partition_refusal(ApiKey.OFFSET_FETCH, 5, request, CODE)
    assert answer.error_code == 0
    assert [each.error_code for each in answer.topics[0].partitions] == [CODE]
    assert not has_partition_errors(ApiKey.HEARTBEAT)
    assert partition_refusal(ApiKey.HEARTBEAT, 4, object(), CODE) is None


def test_partitions_are_refused_though_their_group_could_be() -> None:
    topics = [OffsetFetchRequestTopics(name="t", partition_indexes=[4])]
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=topics)])
    (group,) = partition_refusal(ApiKey.OFFSET_FETCH, 9, request, CODE, "why").groups
    assert (group.group_id, group.error_code) == ("g", 0)
    (partition,) = group.topics[0].partitions
    assert (partition.error_code, partition.committed_offset) == (CODE, -1)
