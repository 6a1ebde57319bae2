"""DescribeClientQuotas (key 48), versions 0-1, flexible since 1.

Quotas of users, clients and addresses (KIP-546).
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import boolean, float64, int8, int16, int32, nullable_string, string
from kafkalite.wire.schema import array, field, nullable_array, request, response, struct


@struct
class ComponentData:
    entity_type: str = field(string)
    match_type: int = field(int8)
    match: str | None = field(nullable_string, default="")


@request(ApiKey.DESCRIBE_CLIENT_QUOTAS, versions=(0, 1), flexible=1)
class DescribeClientQuotasRequest:
    components: list[ComponentData] = array(ComponentData)
    strict: bool = field(boolean)


@struct
class EntityData:
    entity_type: str = field(string)
    entity_name: str | None = field(nullable_string, default="")


@struct
class ValueData:
    key: str = field(string)
    value: float = field(float64)


@struct
class EntryData:
    entity: list[EntityData] = array(EntityData)
    values: list[ValueData] = array(ValueData)


@response(ApiKey.DESCRIBE_CLIENT_QUOTAS, versions=(0, 1), flexible=1)
class DescribeClientQuotasResponse:
    throttle_time_ms: int = field(int32)
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string, default="")
    entries: list[EntryData] | None = nullable_array(EntryData, default=[])
