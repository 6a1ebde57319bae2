"""DescribeClientQuotas (key 48), versions 0-1: the quotas of the entities that match (KIP-546)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.cluster.client_quotas import QuotaFilter, matching_quotas
from kafkalite.requests.context import RequestContext
from kafkalite.requests.slices import in_slices, mapped
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
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: DescribeClientQuotasRequest
) -> DescribeClientQuotasResponse:
    filters = await in_slices(mapped(_filter, request.components), context)
    try:
        found = matching_quotas(services.cluster.image.quotas, filters, strict=request.strict)
    except KafkaError as error:
        return DescribeClientQuotasResponse(
            error_code=error.code, error_message=error.message, entries=None
        )
    return DescribeClientQuotasResponse(
        error_code=ErrorCode.NONE,
        entries=[
            EntryData(
                entity=[
                    EntityData(entity_type=entity_type, entity_name=name)
                    for entity_type, name in entity
                ],
                values=[ValueData(key=key, value=value) for key, value in values.items()],
            )
            for entity, values in found
        ],
    )


def _filter(component: ComponentData) -> QuotaFilter:
    return QuotaFilter(component.entity_type, component.match_type, component.match)
