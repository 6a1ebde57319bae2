"""CreateAcls (key 30), versions 1-3, flexible since 2.

Adds ACLs (KIP-140).

    1  pattern type (KIP-290); answered first and throttled by the client afterwards (KIP-219)
    3  resource type USER (KIP-373)
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int8, int16, int32, nullable_string, string
from kafkalite.wire.schema import array, field, request, response, struct


@struct
class AclCreation:
    resource_type: int = field(int8)
    resource_name: str = field(string)
    resource_pattern_type: int = field(int8, default=3)
    principal: str = field(string)
    host: str = field(string)
    operation: int = field(int8)
    permission_type: int = field(int8)


@request(ApiKey.CREATE_ACLS, versions=(1, 3), flexible=2)
class CreateAclsRequest:
    creations: list[AclCreation] = array(AclCreation)


@struct
class AclCreationResult:
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string, default="")


@response(ApiKey.CREATE_ACLS, versions=(1, 3), flexible=2)
class CreateAclsResponse:
    throttle_time_ms: int = field(int32)
    results: list[AclCreationResult] = array(AclCreationResult)
