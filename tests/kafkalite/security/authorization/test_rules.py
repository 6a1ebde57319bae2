"""The parts that rules of authorization are made of."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kafkalite.requests.slices import at_once
from kafkalite.security.acls import Acl, Operation, ResourceType
from kafkalite.security.authorization.places import Place
from kafkalite.security.authorization.rules import (
    Each,
    all_of,
    cluster,
    named,
    need,
    shown_if,
    topic_by_name_or_id,
    valid_topic_name,
    whole,
)
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from kafkalite.wire.messages.describe_acls import DescribeAclsRequest
from kafkalite.wire.messages.heartbeat import HeartbeatRequest
from kafkalite.wire.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from kafkalite.wire.messages.metadata import MetadataRequestTopic
from kafkalite.wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from kafkalite.wire.messages.offset_delete import OffsetDeleteRequestTopic as DeletedTopic
from tests.kafkalite.security.authorizers import asked, on_cluster, on_group

DENIED = ErrorCode.GROUP_AUTHORIZATION_FAILED
DELETES = need(Operation.DELETE, ResourceType.GROUP)
READS = whole(need(Operation.READ, ResourceType.GROUP), "group_id")


def on_heartbeat(*acls: Acl, group_id: str = "g") -> Any:
    return asked(ApiKey.HEARTBEAT, HeartbeatRequest(group_id=group_id), *acls, version=4)


@pytest.mark.parametrize(
    ("says_why", "message"),
    [(True, "Request DESCRIBE_ACLS needs DESCRIBE permission."), (False, None)],
)
def test_the_cluster_s_operation_or_nothing(says_why: bool, message: str | None) -> None:
    rule = cluster(Operation.DESCRIBE, says_why=says_why)
    request = DescribeAclsRequest()
    verdict = at_once(
        rule(asked(ApiKey.DESCRIBE_ACLS, request, on_cluster(Operation.ALL), version=3))
    )
    assert (verdict.request, verdict.is_final) == (request, False)
    verdict = at_once(
        rule(asked(ApiKey.DESCRIBE_ACLS, request, on_cluster(Operation.CREATE), version=3))
    )
    assert verdict.is_final
    assert verdict.response.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert verdict.response.error_message == message


def test_a_resource_of_the_request_or_nothing() -> None:
    assert not at_once(READS(on_heartbeat(on_group("g")))).is_final
    verdict = at_once(READS(on_heartbeat(on_group("h"))))
    assert (verdict.is_final, verdict.response.error_code) == (True, DENIED)


def test_rules_one_after_the_other() -> None:
    both = all_of(READS, cluster(Operation.ALTER))
    assert at_once(both(on_heartbeat(on_cluster(Operation.ALTER)))).response.error_code == DENIED
    second = at_once(both(on_heartbeat(on_group("g")))).response.error_code
    assert second == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert not at_once(both(on_heartbeat(on_group("g"), on_cluster(Operation.ALTER)))).is_final


def on_deletion(*names: str) -> Any:
    request = DeleteGroupsRequest(groups_names=list(names))
    entries = [on_group(name, Operation.DELETE) for name in ("b", "d")]
    return asked(ApiKey.DELETE_GROUPS, request, *entries, version=2)


def deleted(*names: str) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(results=[DeletableGroupResult(group_id=name) for name in names])


@pytest.mark.parametrize(
    ("place", "order"), [(Place.FIRST, "acbd"), (Place.LAST, "bdac"), (Place.AS_ASKED, "abcd")]
)
def test_elements_are_refused_one_by_one(place: Place, order: str) -> None:
    verdict = at_once(Each(DELETES, named(""), place)(on_deletion("a", "b", "c", "d")))
    assert verdict.request.groups_names == ["b", "d"]
    assert verdict.finish is not None
    results = at_once(verdict.finish(deleted("b", "d"))).results
    assert "".join(each.group_id for each in results) == order
    assert {each.group_id: each.error_code for each in results} == {
        "a": DENIED,
        "b": 0,
        "c": DENIED,
        "d": 0,
    }


def test_what_is_named_twice_is_refused_once() -> None:
    rule = Each(DELETES, named(""), refused_once=True)
    request = DeleteGroupsRequest(groups_names=["a", "b", "a", "c", "c"])
    granted = on_group("b", Operation.DELETE)
    verdict = at_once(rule(asked(ApiKey.DELETE_GROUPS, request, granted, version=2)))
    assert verdict.request.groups_names == ["b"]
    assert verdict.finish is not None
    finished = at_once(verdict.finish(DeleteGroupsResponse()))
    assert [each.group_id for each in finished.results] == ["a", "c"]


def test_a_response_that_others_may_have_is_not_changed() -> None:
    response = deleted("b")
    verdict = at_once(Each(DELETES, named(""))(on_deletion("a", "b")))
    assert verdict.finish is not None
    assert len(at_once(verdict.finish(response)).results) == 2
    assert len(response.results) == 1


def test_a_request_with_nothing_to_refuse_is_handled_as_it_is() -> None:
    for names in ((), ("b", "d")):
        question = on_deletion(*names)
        verdict = at_once(Each(DELETES, named(""))(question))
        assert verdict.request is question.request
        assert verdict.finish is None


def test_an_element_without_a_name_is_for_the_handler() -> None:
    verdict = at_once(
        Each(DELETES, lambda asked, name: None if name == "a" else name)(on_deletion("a", "b", "c"))
    )
    assert verdict.request.groups_names == ["a", "b"]


def test_an_error_of_the_whole_has_no_elements() -> None:
    request = OffsetDeleteRequest(group_id="g", topics=[DeletedTopic(name="t", partitions=[])])
    rule = Each(need(Operation.READ, ResourceType.TOPIC), named("name"))
    verdict = at_once(rule(asked(ApiKey.OFFSET_DELETE, request, version=0)))
    assert verdict.finish is not None
    failed = OffsetDeleteResponse(error_code=ErrorCode.GROUP_ID_NOT_FOUND)
    assert at_once(verdict.finish(failed)).topics == []
    assert [each.name for each in at_once(verdict.finish(OffsetDeleteResponse())).topics] == ["t"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.b_c-D9", "a.b_c-D9"),
        ("", None),
        (".", None),
        ("..", None),
        ("...", "..."),
        ("a b", None),
        ("x" * 249, "x" * 249),
        ("x" * 250, None),
    ],
)
def test_names_that_topics_may_have(name: str, expected: str | None) -> None:
    topic = MetadataRequestTopic(name=name)
    assert valid_topic_name(on_heartbeat(), topic) == expected


def test_topics_by_name_or_id() -> None:
    question = asked(ApiKey.PRODUCE, None, version=13, topics={"a": 1})
    by_id = [MetadataRequestTopic(topic_id=UUID(int=n), name=None) for n in (1, 2)]
    assert [topic_by_name_or_id(question, each) for each in by_id] == ["a", None]
    question = asked(ApiKey.PRODUCE, None, version=12, topics={"a": 1})
    for name in ("z", ""):
        assert topic_by_name_or_id(question, MetadataRequestTopic(name=name)) == name


def test_elements_of_a_response_are_left_out_in_silence() -> None:
    rule = shown_if("groups", lambda asked, group: group.group_id != "b")
    verdict = at_once(rule(asked(ApiKey.LIST_GROUPS, ListGroupsRequest(), version=5)))
    response = ListGroupsResponse(groups=[ListedGroup(group_id=name) for name in "abc"])
    assert verdict.finish is not None
    assert [each.group_id for each in at_once(verdict.finish(response)).groups] == ["a", "c"]
