"""AlterClientQuotas (key 49), versions 0-1: set and remove quotas (KIP-546).

Each entity changes as a whole or not at all. Quotas are stored; nothing is throttled by them yet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.cluster.client_quotas import QuotaChange, plan_quota_changes
from kafkalite.requests.context import RequestContext
from kafkalite.requests.slices import Steps, WaitingSteps, batches, in_slices, mapped
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntryData,
    EntryDataRequest,
    OpData,
)

if TYPE_CHECKING:
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: AlterClientQuotasRequest
) -> AlterClientQuotasResponse:
    entries = await in_slices(_alter_each(services, request), context)
    return AlterClientQuotasResponse(entries=entries)


def _alter_each(
    services: Services, request: AlterClientQuotasRequest
) -> WaitingSteps[list[EntryData]]:
    told: list[EntryData] = []
    for some in batches(request.entries):
        yield from services.cluster.settling()
        records: list[object] = []
        for entry in some:
            code, message = ErrorCode.NONE, None
            try:
                records += yield from _plan(services, entry)
            except KafkaError as error:
                code, message = error.code, error.message
            told.append(EntryData(error_code=code, error_message=message, entity=entry.entity))
        if not request.validate_only:
            services.cluster.begin_write(records)
            yield from services.cluster.finishing()
        yield None
    return told


def _plan(services: Services, entry: EntryDataRequest) -> Steps[list[object]]:
    entity = yield from mapped(lambda part: (part.entity_type, part.entity_name), entry.entity)
    return (yield from plan_quota_changes(services.cluster, entity, map(_change, entry.ops)))


def _change(item: OpData) -> QuotaChange:
    return QuotaChange(item.key, None if item.remove else item.value)
