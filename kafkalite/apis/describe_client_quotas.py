"""DescribeClientQuotas (key 48), versions 0-1: the quotas of the entities that match (KIP-546)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kafkalite.cluster.client_quotas import QuotaFilter, matching_quotas
from kafkalite.requests.context import RequestContext
from kafkalite.requests.slices import briefly_or_in_slices, mapped
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)

if TYPE_CHECKING:
    from kafkalite.cluster.image import QuotaEntity
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: DescribeClientQuotasRequest
) -> DescribeClientQuotasResponse:
    filters = await briefly_or_in_slices(mapped(_filter, request.components), context)
    try:
        matching = matching_quotas(services.cluster.image.quotas, filters, strict=request.strict)
        found = await briefly_or_in_slices(matching, context)
    except KafkaError as error:
        return DescribeClientQuotasResponse(
            error_code=error.code, error_message=error.message, entries=None
        )
    entries = await briefly_or_in_slices(mapped(_entry, found), context)
    return DescribeClientQuotasResponse(error_code=ErrorCode.NONE, entries=entries)


def _entry(found: tuple[QuotaEntity, Mapping[str, float]]) -> EntryData:
    entity, values = found
    return EntryData(
        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
        values=[ValueData(key=key, value=value) for key, value in values.items()],
    )


def _filter(component: ComponentData) -> QuotaFilter:
    return QuotaFilter(component.entity_type, component.match_type, component.match)
