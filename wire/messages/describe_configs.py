"""DescribeConfigs (key 32), versions 1-4, flexible since 4.

Configs of topics, brokers and other resources (KIP-133).

    1  sources and synonyms of a value, in place of is_default (KIP-226)
    2  answered first and throttled by the client afterwards (KIP-219)
    3  types and documentation (KIP-569)
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import boolean, int8, int16, int32, nullable_string, string
from kafkalite.wire.schema import array, field, nullable_array, request, response, struct


@struct
class DescribeConfigsResource:
    resource_type: int = field(int8)
    resource_name: str = field(string)
    configuration_keys: list[str] | None = nullable_array(string, default=[])


@request(ApiKey.DESCRIBE_CONFIGS, versions=(1, 4), flexible=4)
class DescribeConfigsRequest:
    resources: list[DescribeConfigsResource] = array(DescribeConfigsResource)
    include_synonyms: bool = field(boolean)
    include_documentation: bool = field(boolean, since=3)


@struct
class DescribeConfigsSynonym:
    name: str = field(string)
    value: str | None = field(nullable_string, default="")
    source: int = field(int8)


@struct
class DescribeConfigsResourceResult:
    name: str = field(string)
    value: str | None = field(nullable_string, default="")
    read_only: bool = field(boolean)
    config_source: int = field(int8, default=-1)
    is_sensitive: bool = field(boolean)
    synonyms: list[DescribeConfigsSynonym] = array(DescribeConfigsSynonym)
    config_type: int = field(int8, since=3, ignorable=True)
    documentation: str | None = field(nullable_string, since=3, default="", ignorable=True)


@struct
class DescribeConfigsResult:
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string, default="")
    resource_type: int = field(int8)
    resource_name: str = field(string)
    configs: list[DescribeConfigsResourceResult] = array(DescribeConfigsResourceResult)


@response(ApiKey.DESCRIBE_CONFIGS, versions=(1, 4), flexible=4)
class DescribeConfigsResponse:
    throttle_time_ms: int = field(int32)
    results: list[DescribeConfigsResult] = array(DescribeConfigsResult)
