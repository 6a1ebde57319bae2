"""DescribeAcls (key 29), versions 1-3: the ACLs that match a filter (KIP-140, KIP-290, KIP-373).

Without an authorizer there are none, and the answer is SECURITY_DISABLED. Kafka: AclApis.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.requests.context import CloseConnection
from kafkalite.requests.slices import Steps, batches, briefly_or_in_slices
from kafkalite.security.acls import AclFilter, PatternType, ResourceType, numbers_of_filter
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.security.authorizer import Authorizer
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: DescribeAclsRequest
) -> DescribeAclsResponse:
    if 0 in numbers_of_filter(request):
        # Kafka does not even parse it.
        raise CloseConnection("DescribeAcls with an unknown type, operation or permission")
    authorizer = services.security.authorizer
    if authorizer is None:
        return DescribeAclsResponse(
            error_code=ErrorCode.SECURITY_DISABLED,
            error_message="No Authorizer is configured on the broker",
        )
    resources = await briefly_or_in_slices(_resources(authorizer, AclFilter.of(request)), context)
    return DescribeAclsResponse(error_code=ErrorCode.NONE, resources=resources)


def _resources(authorizer: Authorizer, wanted: AclFilter) -> Steps[list[DescribeAclsResource]]:
    found: dict[tuple[ResourceType, str, PatternType], DescribeAclsResource] = {}
    for some in batches((yield from authorizer.matching(wanted))):
        for _, acl in some:
            key = (acl.resource_type, acl.resource_name, acl.pattern_type)
            resource = found.get(key)
            if resource is None:
                resource = found[key] = DescribeAclsResource(
                    resource_type=acl.resource_type,
                    resource_name=acl.resource_name,
                    pattern_type=acl.pattern_type,
                )
            resource.acls.append(
                AclDescription(
                    principal=acl.principal,
                    host=acl.host,
                    operation=acl.operation,
                    permission_type=acl.permission,
                )
            )
        yield
    return list(found.values())
