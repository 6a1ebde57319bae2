"""PushTelemetry (key 72), version 0: a client's own metrics, as it was asked for them (KIP-714).

Advertised with `kafkalite.client.telemetry` only, as Kafka does with a receiver; answered always.
Bytes that cannot be read are INVALID_RECORD, upon which clients push no more.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from kafkalite.requests.context import RequestContext
from kafkalite.requests.slices import WaitingSteps, briefly_or_in_slices, in_slices
from kafkalite.telemetry.client_telemetry import is_installed
from kafkalite.wire.compression import Compression, DecompressionError, decompress
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.push_telemetry import PushTelemetryRequest, PushTelemetryResponse

if TYPE_CHECKING:
    from kafkalite.services import Services
    from kafkalite.telemetry.client_instances import ClientInstance

# Loaded with the handler, so that no turn of the loop imports it.
if is_installed():
    importlib.import_module("kafkalite.telemetry.pushed_metrics")


async def handle(
    services: Services, context: RequestContext, request: PushTelemetryRequest
) -> PushTelemetryResponse:
    try:
        pushing = services.telemetry.instances(context.node_id).pushing(context, request)
        instance = await briefly_or_in_slices(pushing, context)
    except KafkaError as error:
        return PushTelemetryResponse(error_code=error.code)
    instance.last_error = ErrorCode.NONE
    if request.metrics:
        try:
            await _receive(services, context, request, instance)
        except (DecompressionError, KafkaError):
            instance.last_error = ErrorCode.INVALID_RECORD
    return PushTelemetryResponse(error_code=instance.last_error)


async def _receive(
    services: Services,
    context: RequestContext,
    request: PushTelemetryRequest,
    instance: ClientInstance,
) -> None:
    """Keep what was pushed, if there is a receiver. Raises DecompressionError, KafkaError."""
    telemetry = services.telemetry
    codec = Compression(request.compression_type)
    data = await in_slices(_decompressed(codec, request.metrics, telemetry.max_bytes), context)
    if telemetry.is_received:
        receiving = telemetry.pushed.receive(instance.attributes, data, instance.expires_at_ms)
        await in_slices(receiving, context)


def _decompressed(codec: Compression, metrics: bytes, most_bytes: int) -> WaitingSteps[bytes]:
    """A thread does it: a small push may unfold to much, or consist of very many parts."""
    data = metrics
    if codec:

        def work() -> None:
            nonlocal data
            data = decompress(codec, metrics, most_bytes)

        yield work
    return data
