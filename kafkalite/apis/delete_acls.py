"""DeleteAcls (key 31), versions 1-3: removes the ACLs that match filters (KIP-140, KIP-290).

Nothing is removed where there are too many. Kafka: AclApis, AclControlManager.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING
from uuid import UUID

from kafkalite.cluster.operation_size import MAX_RECORDS
from kafkalite.requests.context import CloseConnection
from kafkalite.requests.slices import Steps, WaitingSteps, batches, in_slices, mapped
from kafkalite.security.acls import Acl, AclFilter, numbers_of_filter
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from kafkalite.wire.messages.stored.remove_access_control_entry_record import (
    RemoveAccessControlEntryRecord,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.security.authorizer import Authorizer
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: DeleteAclsRequest
) -> DeleteAclsResponse:
    results = await in_slices(_delete_each(services, request.filters), context)
    return DeleteAclsResponse(filter_results=results)


def _delete_each(
    services: Services, filters: list[DeleteAclsFilter]
) -> WaitingSteps[list[DeleteAclsFilterResult]]:
    if any((yield from mapped(lambda each: 0 in numbers_of_filter(each), filters))):
        raise CloseConnection("DeleteAcls with an unknown type, operation or permission")
    authorizer = services.security.authorizer
    if authorizer is None:
        disabled = KafkaError(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")
        return (yield from mapped(lambda _: _refused(disabled), filters))
    # Kafka counts each match, and finds its table full before it sees that it has one already.
    gone: dict[UUID, None] = {}
    results: list[DeleteAclsFilterResult] = []
    for each in filters:
        yield None
        try:
            found = yield from _matching(authorizer, AclFilter.of(each))
        except KafkaError as error:
            results.append(_refused(error))
            continue
        repeated = len(gone) + len(found)
        gone.update(dict.fromkeys(found))
        repeated -= len(gone)
        if len(gone) > MAX_RECORDS or (len(gone) == MAX_RECORDS and repeated):
            return (yield from mapped(_too_many, filters))
        results.append(
            DeleteAclsFilterResult(
                error_code=ErrorCode.NONE,
                error_message=None,
                matching_acls=(yield from mapped(_described, found.values())),
            )
        )
    yield from services.cluster.deciding(lambda: _removals(authorizer, gone))
    return results


def _removals(authorizer: Authorizer, gone: Iterable[UUID]) -> Steps[list[object]]:
    """Records that remove entries, but for those that others have removed meanwhile."""
    records: list[object] = []
    for some in batches(gone):
        records += [
            RemoveAccessControlEntryRecord(id=key) for key in some if key in authorizer.acls
        ]
        yield
    return records


def _matching(authorizer: Authorizer, wanted: AclFilter) -> Steps[dict[UUID, Acl]]:
    if wanted.has_unknown_pattern:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Unknown patternFilter.")
    if wanted.has_unknown_entry:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Unknown entryFilter.")
    return dict((yield from authorizer.matching(wanted)))


def _refused(error: KafkaError) -> DeleteAclsFilterResult:
    return DeleteAclsFilterResult(error_code=error.code, error_message=error.message)


def _too_many(_: DeleteAclsFilter) -> DeleteAclsFilterResult:
    words = f"Cannot remove more than {MAX_RECORDS} acls in a single delete operation."
    return _refused(KafkaError(ErrorCode.INVALID_REQUEST, words))


def _described(acl: Acl) -> DeleteAclsMatchingAcl:
    return DeleteAclsMatchingAcl(
        error_code=ErrorCode.NONE,
        error_message=None,
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission,
    )
