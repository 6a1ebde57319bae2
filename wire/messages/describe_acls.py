"""DescribeAcls (key 29), versions 1-3, flexible since 2.

ACLs that match a filter (KIP-140).

    1  pattern type (KIP-290); answered first and throttled by the client afterwards (KIP-219)
    3  resource type USER (KIP-373)
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int8, int16, int32, nullable_string, string
from kafkalite.wire.schema import array, field, request, response, struct


@request(ApiKey.DESCRIBE_ACLS, versions=(1, 3), flexible=2)
class DescribeAclsRequest:
    resource_type_filter: int = field(int8)
    resource_name_filter: str | None = field(nullable_string, default="")
    pattern_type_filter: int = field(int8, default=3)
    principal_filter: str | None = field(nullable_string, default="")
    host_filter: str | None = field(nullable_string, default="")
    operation: int = field(int8)
    permission_type: int = field(int8)


@struct
class AclDescription:
    principal: str = field(string)
    host: str = field(string)
    operation: int = field(int8)
    permission_type: int = field(int8)


@struct
class DescribeAclsResource:
    resource_type: int = field(int8)
    resource_name: str = field(string)
    pattern_type: int = field(int8, default=3)
    acls: list[AclDescription] = array(AclDescription)


@response(ApiKey.DESCRIBE_ACLS, versions=(1, 3), flexible=2)
class DescribeAclsResponse:
    throttle_time_ms: int = field(int32)
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string, default="")
    resources: list[DescribeAclsResource] = array(DescribeAclsResource)
