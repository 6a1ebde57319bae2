"""PushTelemetry (key 72), version 0, flexible since 0.

Metrics of a client (KIP-714). Kafka advertises it only with a receiver plugged in.
"""

from uuid import UUID

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import boolean, bytes_, int8, int16, int32, uuid
from kafkalite.wire.schema import field, request, response


@request(ApiKey.PUSH_TELEMETRY, versions=(0, 0), flexible=0)
class PushTelemetryRequest:
    client_instance_id: UUID = field(uuid)
    subscription_id: int = field(int32)
    terminating: bool = field(boolean)
    compression_type: int = field(int8)
    metrics: bytes = field(bytes_)


@response(ApiKey.PUSH_TELEMETRY, versions=(0, 0), flexible=0)
class PushTelemetryResponse:
    throttle_time_ms: int = field(int32)
    error_code: int = field(int16)
