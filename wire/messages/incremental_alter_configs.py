"""IncrementalAlterConfigs (key 44), versions 0-1, flexible since 1.

Sets, deletes, appends to, subtracts from single configs (KIP-339).
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import boolean, int8, int16, int32, nullable_string, string
from kafkalite.wire.schema import array, field, request, response, struct


@struct
class AlterableConfig:
    name: str = field(string)
    config_operation: int = field(int8)
    value: str | None = field(nullable_string, default="")


@struct
class AlterConfigsResource:
    resource_type: int = field(int8)
    resource_name: str = field(string)
    configs: list[AlterableConfig] = array(AlterableConfig)


@request(ApiKey.INCREMENTAL_ALTER_CONFIGS, versions=(0, 1), flexible=1)
class IncrementalAlterConfigsRequest:
    resources: list[AlterConfigsResource] = array(AlterConfigsResource)
    validate_only: bool = field(boolean)


@struct
class AlterConfigsResourceResponse:
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string, default="")
    resource_type: int = field(int8)
    resource_name: str = field(string)


@response(ApiKey.INCREMENTAL_ALTER_CONFIGS, versions=(0, 1), flexible=1)
class IncrementalAlterConfigsResponse:
    throttle_time_ms: int = field(int32)
    responses: list[AlterConfigsResourceResponse] = array(AlterConfigsResourceResponse)
