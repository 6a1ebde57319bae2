"""Share groups: who reads them, and who sees and sets their offsets (KIP-932)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kafkalite.requests.slices import at_once
from kafkalite.security.acls import Acl, Operation
from kafkalite.security.authorization.share import (
    alter_offsets,
    delete_offsets,
    describe_offsets,
    session,
)
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages import alter_share_group_offsets as alter
from kafkalite.wire.messages import delete_share_group_offsets as delete
from kafkalite.wire.messages import describe_share_group_offsets as describe
from kafkalite.wire.messages.share_fetch import ShareFetchRequest
from tests.kafkalite.security.authorizers import acl, asked, on_group

GROUP_DENIED = ErrorCode.GROUP_AUTHORIZATION_FAILED
TOPIC_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
WORDS = "Topic authorization failed."
DESCRIBE = Operation.DESCRIBE


def test_a_session_needs_read_on_the_group() -> None:
    request = ShareFetchRequest(group_id="g")
    verdict = at_once(session(asked(ApiKey.SHARE_FETCH, request, version=1)))
    assert (verdict.is_final, verdict.response.error_code) == (True, GROUP_DENIED)
    assert not at_once(
        session(asked(ApiKey.SHARE_FETCH, request, on_group("g"), version=1))
    ).is_final


def test_a_session_of_no_group_is_refused_by_the_handler() -> None:
    request = ShareFetchRequest(group_id=None)
    assert not at_once(session(asked(ApiKey.SHARE_FETCH, request, version=1))).is_final


def described(*acls: Acl, topics: list[str] | None) -> Any:
    named = None
    if topics is not None:
        named = [describe.DescribeShareGroupOffsetsRequestTopic(name, [0, 1]) for name in topics]
    groups = [
        describe.DescribeShareGroupOffsetsRequestGroup(group_id="x", topics=None),
        describe.DescribeShareGroupOffsetsRequestGroup(group_id="g", topics=named),
    ]
    request = describe.DescribeShareGroupOffsetsRequest(groups=groups)
    return at_once(
        describe_offsets(asked(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, request, *acls, version=1))
    )


def told(*names: str, error_code: int = 0) -> describe.DescribeShareGroupOffsetsResponse:
    topics = [
        describe.DescribeShareGroupOffsetsResponseTopic(topic_name=name, partitions=[])
        for name in names
    ]
    group = describe.DescribeShareGroupOffsetsResponseGroup(
        group_id="g", topics=topics, error_code=error_code
    )
    return describe.DescribeShareGroupOffsetsResponse(groups=[group])


def test_named_topics_are_refused_one_by_one() -> None:
    verdict = described(on_group("g", DESCRIBE), acl("a", DESCRIBE), topics=["b", "a"])
    (kept,) = verdict.request.groups
    assert [each.topic_name for each in kept.topics] == ["a"]
    refused, seen = at_once(verdict.finish(told("a"))).groups
    assert (refused.group_id, refused.error_code) == ("x", GROUP_DENIED)
    assert [each.topic_name for each in seen.topics] == ["a", "b"]
    assert [
        (each.partition_index, each.start_offset, each.error_code, each.error_message)
        for each in seen.topics[1].partitions
    ] == [(0, -1, TOPIC_DENIED, WORDS), (1, -1, TOPIC_DENIED, WORDS)]


def test_of_all_topics_secret_ones_are_left_out() -> None:
    verdict = described(on_group("g", DESCRIBE), acl("a", DESCRIBE), topics=None)
    _, seen = at_once(verdict.finish(told("a", "b"))).groups
    assert [each.topic_name for each in seen.topics] == ["a"]


def test_a_group_that_fails_has_no_refused_topics() -> None:
    verdict = described(on_group("g", DESCRIBE), topics=["b"])
    _, seen = at_once(verdict.finish(told(error_code=ErrorCode.GROUP_ID_NOT_FOUND))).groups
    assert (seen.error_code, seen.topics) == (ErrorCode.GROUP_ID_NOT_FOUND, [])


def altered(*acls: Acl) -> Any:
    topics = [
        alter.AlterShareGroupOffsetsRequestTopic(
            topic_name=name,
            partitions=[alter.AlterShareGroupOffsetsRequestPartition(partition_index=0)],
        )
        for name in ("b", "a")
    ]
    request = alter.AlterShareGroupOffsetsRequest(group_id="g", topics=topics)
    return at_once(
        alter_offsets(
            asked(
                ApiKey.ALTER_SHARE_GROUP_OFFSETS, request, *acls, version=0, topics={"a": 1, "b": 1}
            )
        )
    )


def removed(*acls: Acl) -> Any:
    topics = [delete.DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in ("b", "a")]
    request = delete.DeleteShareGroupOffsetsRequest(group_id="g", topics=topics)
    return at_once(
        delete_offsets(
            asked(
                ApiKey.DELETE_SHARE_GROUP_OFFSETS,
                request,
                *acls,
                version=0,
                topics={"a": 1, "b": 1},
            )
        )
    )


@pytest.mark.parametrize(
    ("ask", "operation", "other"),
    [(altered, Operation.READ, DESCRIBE), (removed, Operation.DELETE, Operation.READ)],
)
def test_offsets_are_changed_by_an_operation_on_the_group(
    ask: Any, operation: Operation, other: Operation
) -> None:
    verdict = ask(on_group("g", other), acl("*"))
    assert verdict.is_final
    assert (verdict.response.error_code, verdict.response.error_message) == (
        GROUP_DENIED,
        "Group authorization failed.",
    )
    assert not ask(on_group("g", operation), acl("*")).is_final


def test_topics_that_may_not_be_read_keep_their_offsets() -> None:
    verdict = altered(on_group("g"), acl("a"))
    assert [each.topic_name for each in verdict.request.topics] == ["a"]
    response = alter.AlterShareGroupOffsetsResponse(
        responses=[alter.AlterShareGroupOffsetsResponseTopic(topic_name="a")]
    )
    refused, done = at_once(verdict.finish(response)).responses
    assert (refused.topic_name, refused.topic_id, done.topic_name) == ("b", UUID(int=2), "a")
    (partition,) = refused.partitions
    assert (partition.error_code, partition.error_message) == (TOPIC_DENIED, WORDS)


def test_topics_that_may_not_be_read_are_not_deleted() -> None:
    verdict = removed(on_group("g", Operation.DELETE), acl("a"))
    assert [each.topic_name for each in verdict.request.topics] == ["a"]
    response = delete.DeleteShareGroupOffsetsResponse(
        responses=[delete.DeleteShareGroupOffsetsResponseTopic(topic_name="a")]
    )
    refused, done = at_once(verdict.finish(response)).responses
    assert (refused.topic_name, refused.error_code, refused.error_message) == (
        "b",
        TOPIC_DENIED,
        WORDS,
    )
    assert (refused.topic_id, done.topic_name) == (UUID(int=0), "a")


def test_an_error_of_the_whole_is_not_added_to() -> None:
    verdict = removed(on_group("g", Operation.DELETE), acl("a"))
    response = delete.DeleteShareGroupOffsetsResponse(error_code=ErrorCode.NON_EMPTY_GROUP)
    assert at_once(verdict.finish(response)).responses == []
