"""AlterClientQuotas (key 49), versions 0-1: set and remove quotas (KIP-546).

Each entity changes as a whole or not at all. Quotas are stored; nothing is throttled by them yet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.cluster.client_quotas import QuotaChange, plan_quota_changes
from kafkalite.requests.context import RequestContext
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntryData,
)

if TYPE_CHECKING:
    from kafkalite.services import Services


def handle(
    services: Services, context: RequestContext, request: AlterClientQuotasRequest
) -> AlterClientQuotasResponse:
    records: list[object] = []
    response = AlterClientQuotasResponse()
    for entry in request.entries:
        code, message = ErrorCode.NONE, None
        try:
            records += plan_quota_changes(
                services.cluster,
                [(part.entity_type, part.entity_name) for part in entry.entity],
                [QuotaChange(item.key, None if item.remove else item.value) for item in entry.ops],
            )
        except KafkaError as error:
            code, message = error.code, error.message
        response.entries.append(
            EntryData(error_code=code, error_message=message, entity=entry.entity)
        )
    if not request.validate_only:
        services.cluster.begin_write(records)
    return response
