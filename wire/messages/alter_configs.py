"""AlterConfigs (key 33), versions 0-2, flexible since 2.

Replaces all configs of a resource (KIP-133): what is not named falls back to its default. See
IncrementalAlterConfigs.

    1  answered first and throttled by the client afterwards (KIP-219)
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import boolean, int8, int16, int32, nullable_string, string
from kafkalite.wire.schema import array, field, request, response, struct


@struct
class AlterableConfig:
    name: str = field(string)
    value: str | None = field(nullable_string, default="")


@struct
class AlterConfigsResource:
    resource_type: int = field(int8)
    resource_name: str = field(string)
    configs: list[AlterableConfig] = array(AlterableConfig)


@request(ApiKey.ALTER_CONFIGS, versions=(0, 2), flexible=2)
class AlterConfigsRequest:
    resources: list[AlterConfigsResource] = array(AlterConfigsResource)
    validate_only: bool = field(boolean)


@struct
class AlterConfigsResourceResponse:
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string, default="")
    resource_type: int = field(int8)
    resource_name: str = field(string)


@response(ApiKey.ALTER_CONFIGS, versions=(0, 2), flexible=2)
class AlterConfigsResponse:
    throttle_time_ms: int = field(int32)
    responses: list[AlterConfigsResourceResponse] = array(AlterConfigsResourceResponse)
