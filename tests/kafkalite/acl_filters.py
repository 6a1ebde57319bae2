"""Filters of ACLs over the wire, and what they find."""

from __future__ import annotations

from typing import Any

from kafkalite.wire.messages.delete_acls import DeleteAclsFilter
from kafkalite.wire.messages.describe_acls import DescribeAclsRequest

ANY = 1
_ALL: dict[str, Any] = {
    "resource_type_filter": ANY,
    "resource_name_filter": None,
    "pattern_type_filter": ANY,
    "principal_filter": None,
    "host_filter": None,
    "operation": ANY,
    "permission_type": ANY,
}


def describe(**changes: Any) -> DescribeAclsRequest:
    """A request for all entries, but for these changes."""
    return DescribeAclsRequest(**(_ALL | changes))


def deletion(**changes: Any) -> DeleteAclsFilter:
    """A filter of all entries, but for these changes."""
    return DeleteAclsFilter(**(_ALL | changes))


async def described(client: Any, **changes: Any) -> list[tuple[str, str, int]]:
    """Each entry's resource, principal and operation."""
    answer = await client.ask(describe(**changes))
    assert answer.error_code == 0
    return [
        (resource.resource_name, acl.principal, acl.operation)
        for resource in answer.resources
        for acl in resource.acls
    ]
