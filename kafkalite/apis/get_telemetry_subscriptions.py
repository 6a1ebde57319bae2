"""GetTelemetrySubscriptions (key 71), version 0: which metrics a client shall push (KIP-714).

Advertised with `kafkalite.client.telemetry` only, as Kafka does with a receiver; answered always.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkalite.requests.context import RequestContext
from kafkalite.requests.slices import briefly_or_in_slices
from kafkalite.wire.compression import Compression
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.messages.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)

if TYPE_CHECKING:
    from kafkalite.services import Services

# The first one that a client has is the one it takes.
_COMPRESSION: Final = (
    Compression.ZSTD,
    Compression.LZ4,
    Compression.GZIP,
    Compression.SNAPPY,
)


async def handle(
    services: Services, context: RequestContext, request: GetTelemetrySubscriptionsRequest
) -> GetTelemetrySubscriptionsResponse:
    instances = services.telemetry.instances(context.node_id)
    try:
        getting = instances.getting(context, request.client_instance_id)
        instance = await briefly_or_in_slices(getting, context)
    except KafkaError as error:
        return GetTelemetrySubscriptionsResponse(error_code=error.code)
    return GetTelemetrySubscriptionsResponse(
        client_instance_id=instance.client_instance_id,
        subscription_id=instance.subscription_id,
        accepted_compression_types=list(_COMPRESSION),
        push_interval_ms=instance.wanted.interval_ms,
        telemetry_max_bytes=services.telemetry.max_bytes,
        delta_temporality=True,
        requested_metrics=instance.wanted.metrics,
    )
