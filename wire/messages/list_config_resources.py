"""ListConfigResources (key 74), versions 0-1, flexible since 0.

Names of resources that have configs.

    0  ListClientMetricsResources (KIP-714)
    1  any type of resource (KIP-1142)
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int8, int16, int32, string
from kafkalite.wire.schema import array, field, request, response, struct


@request(ApiKey.LIST_CONFIG_RESOURCES, versions=(0, 1), flexible=0)
class ListConfigResourcesRequest:
    resource_types: list[int] = array(int8, since=1)


@struct
class ConfigResource:
    resource_name: str = field(string)
    resource_type: int = field(int8, since=1, default=16, ignorable=True)


@response(ApiKey.LIST_CONFIG_RESOURCES, versions=(0, 1), flexible=0)
class ListConfigResourcesResponse:
    throttle_time_ms: int = field(int32)
    error_code: int = field(int16)
    config_resources: list[ConfigResource] = array(ConfigResource)
