"""AlterClientQuotas (key 49), versions 0-1, flexible since 1.

Quotas of users, clients and addresses (KIP-546).

Kafka names a struct of the request and a differing one of the response EntryData: the request's
has the suffix.
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import boolean, float64, int16, int32, nullable_string, string
from kafkalite.wire.schema import array, field, request, response, struct


@struct
class EntityData:
    entity_type: str = field(string)
    entity_name: str | None = field(nullable_string, default="")


@struct
class OpData:
    key: str = field(string)
    value: float = field(float64)
    remove: bool = field(boolean)


@struct
class EntryDataRequest:
    entity: list[EntityData] = array(EntityData)
    ops: list[OpData] = array(OpData)


@request(ApiKey.ALTER_CLIENT_QUOTAS, versions=(0, 1), flexible=1)
class AlterClientQuotasRequest:
    entries: list[EntryDataRequest] = array(EntryDataRequest)
    validate_only: bool = field(boolean)


@struct
class EntryData:
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string, default="")
    entity: list[EntityData] = array(EntityData)


@response(ApiKey.ALTER_CLIENT_QUOTAS, versions=(0, 1), flexible=1)
class AlterClientQuotasResponse:
    throttle_time_ms: int = field(int32)
    entries: list[EntryData] = array(EntryData)
