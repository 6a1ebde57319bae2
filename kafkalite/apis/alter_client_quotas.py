"""AlterClientQuotas (key 49), versions 0-1: set and remove quotas (KIP-546).

Each entity changes as a whole or not at all. One named again is answered with INVALID_REQUEST; what
was asked first is done all the same (ClientQuotaControlManager.alterClientQuotas). An ip entity may
be the name of a host, which is looked up, and counts for its first address.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from kafkalite.cluster.client_quotas import (
    MOST_TYPES,
    QuotaChange,
    entity_of,
    named_twice,
    plan_quota_changes,
)
from kafkalite.requests.context import RequestContext
from kafkalite.requests.hosts import addresses_of
from kafkalite.requests.slices import (
    Steps,
    WaitingSteps,
    batches,
    in_slices,
    mapped,
    release_dict,
    sized_batches,
)
from kafkalite.security.quotas import named_hosts
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    EntryData,
    EntryDataRequest,
    OpData,
)

if TYPE_CHECKING:
    from kafkalite.cluster.image import QuotaEntity
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: AlterClientQuotasRequest
) -> AlterClientQuotasResponse:
    hosts = await in_slices(_named_hosts(request), context)
    addresses = services.security.addresses
    if unknown := hosts - addresses.keys():
        await context.connection.move_to_task()
        addresses.update(await trio.to_thread.run_sync(addresses_of, unknown))
    entries = await in_slices(_alter_each(services, request), context)
    for host in hosts:
        if addresses.get(host) == "":
            del addresses[host]  # it may have an address when it is named again
    return AlterClientQuotasResponse(entries=entries)


def _alter_each(
    services: Services, request: AlterClientQuotasRequest
) -> WaitingSteps[list[EntryData]]:
    told: dict[QuotaEntity, EntryData] = {}
    for some in sized_batches(request.entries, _size):
        yield from services.cluster.settling()
        records: list[object] = []
        for entry in some:
            entity = yield from entity_of(
                (part.entity_type, part.entity_name) for part in entry.entity
            )
            code, message = ErrorCode.NONE, None
            try:
                if entity in told:
                    raise (yield from named_twice(entity))
                changes = map(_change, entry.ops)
                records += yield from plan_quota_changes(
                    services.cluster, entity, changes, services.security.addresses
                )
            except KafkaError as error:
                code, message = error.code, error.message
            told[entity] = EntryData(
                error_code=code,
                error_message=message,
                entity=(yield from mapped(_told, entity)),
            )
        if not request.validate_only:
            services.cluster.begin_write(records)
            yield from services.cluster.finishing()
        yield None
    entries = list(told.values())
    yield from release_dict(told)
    return entries


def _named_hosts(request: AlterClientQuotasRequest) -> Steps[set[str]]:
    """The hosts that are named, other than by their addresses."""
    hosts: set[str] = set()
    for entry in request.entries:
        yield
        for some in batches(entry.entity):
            hosts |= named_hosts([[(part.entity_type, part.entity_name) for part in some]])
            yield
    return hosts


def _size(entry: EntryDataRequest) -> int:
    """The bytes of names in its records, of which there is one for each key. An entity of more
    types than there are is refused."""
    return len(entry.ops) * sum(len(part.entity_name or "") for part in entry.entity[:MOST_TYPES])


def _told(part: tuple[str, str | None]) -> EntityData:
    return EntityData(entity_type=part[0], entity_name=part[1])


def _change(item: OpData) -> QuotaChange:
    return QuotaChange(item.key, None if item.remove else item.value)
