"""Requests about ACLs: one that Kafka does not parse is for the handler, which closes."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.requests.slices import at_once
from kafkalite.security.acls import Operation
from kafkalite.security.authorization.acl_requests import create_acls, delete_acls, describe_acls
from kafkalite.security.authorization.rules import Rule
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.create_acls import AclCreation, CreateAclsRequest
from kafkalite.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from kafkalite.wire.messages.describe_acls import DescribeAclsRequest
from tests.kafkalite.security.authorizers import asked, on_cluster


def described(operation: int) -> DescribeAclsRequest:
    return DescribeAclsRequest(1, None, 1, None, None, operation, 1)


def created(operation: int) -> CreateAclsRequest:
    entries = [AclCreation(2, "t", 3, "User:a", "*", each, 3) for each in (3, operation)]
    return CreateAclsRequest(creations=entries)


def deleted(operation: int) -> DeleteAclsRequest:
    filters = [DeleteAclsFilter(1, None, 1, None, None, each, 1) for each in (3, operation)]
    return DeleteAclsRequest(filters=filters)


@pytest.mark.parametrize(
    ("api_key", "rule", "request_of", "needed"),
    [
        (ApiKey.DESCRIBE_ACLS, describe_acls, described, Operation.DESCRIBE),
        (ApiKey.CREATE_ACLS, create_acls, created, Operation.ALTER),
        (ApiKey.DELETE_ACLS, delete_acls, deleted, Operation.ALTER),
    ],
)
def test_what_is_asked(api_key: ApiKey, rule: Rule, request_of: Any, needed: Operation) -> None:
    def is_refused(operation: int, *given: Operation) -> bool:
        request = request_of(operation)
        entries = map(on_cluster, given)
        return at_once(rule(asked(api_key, request, *entries, version=3))).is_final

    assert is_refused(3)
    assert not is_refused(3, needed)
    assert not is_refused(0)
