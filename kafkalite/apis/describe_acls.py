"""DescribeAcls (key 29), versions 1-3: the ACLs that match a filter (KIP-140, KIP-290, KIP-373).

Without an authorizer there are none, and the answer is SECURITY_DISABLED. Kafka: AclApis.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.requests.context import CloseConnection
from kafkalite.security.acls import Acl, AclFilter, Operation, PatternType, Permission, ResourceType
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


def handle(
    services: Services, context: RequestContext, request: DescribeAclsRequest
) -> DescribeAclsResponse:
    authorizer = services.security.authorizer
    if authorizer is None:
        return DescribeAclsResponse(
            error_code=ErrorCode.SECURITY_DISABLED,
            error_message="No Authorizer is configured on the broker",
        )
    if 0 in (
        request.resource_type_filter,
        request.pattern_type_filter,
        request.operation,
        request.permission_type,
    ):
        # Kafka does not even parse it.
        raise CloseConnection("DescribeAcls with an unknown type, operation or permission")
    wanted = AclFilter(
        resource_type=ResourceType.of(request.resource_type_filter),
        resource_name=request.resource_name_filter,
        pattern_type=PatternType.of(request.pattern_type_filter),
        principal=request.principal_filter,
        host=request.host_filter,
        operation=Operation.of(request.operation),
        permission=Permission.of(request.permission_type),
    )
    resources: dict[tuple[ResourceType, str, PatternType], list[Acl]] = {}
    for _, acl in authorizer.matching(wanted):
        key = (acl.resource_type, acl.resource_name, acl.pattern_type)
        resources.setdefault(key, []).append(acl)
    return DescribeAclsResponse(
        error_code=ErrorCode.NONE,
        resources=[
            DescribeAclsResource(
                resource_type=resource_type,
                resource_name=name,
                pattern_type=pattern_type,
                acls=[
                    AclDescription(
                        principal=acl.principal,
                        host=acl.host,
                        operation=acl.operation,
                        permission_type=acl.permission,
                    )
                    for acl in acls
                ],
            )
            for (resource_type, name, pattern_type), acls in resources.items()
        ],
    )
