"""GetTelemetrySubscriptions (key 71), version 0, flexible since 0.

Which metrics a client shall push (KIP-714). Kafka advertises it only with a receiver plugged in.
"""

from uuid import UUID

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import boolean, int8, int16, int32, string, uuid
from kafkalite.wire.schema import array, field, request, response


@request(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, versions=(0, 0), flexible=0)
class GetTelemetrySubscriptionsRequest:
    client_instance_id: UUID = field(uuid)


@response(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, versions=(0, 0), flexible=0)
class GetTelemetrySubscriptionsResponse:
    throttle_time_ms: int = field(int32)
    error_code: int = field(int16)
    client_instance_id: UUID = field(uuid)
    subscription_id: int = field(int32)
    accepted_compression_types: list[int] = array(int8)
    push_interval_ms: int = field(int32)
    telemetry_max_bytes: int = field(int32)
    delta_temporality: bool = field(boolean)
    requested_metrics: list[str] = array(string)
