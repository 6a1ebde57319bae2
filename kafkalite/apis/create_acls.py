"""CreateAcls (key 30), versions 1-3: adds ACLs (KIP-140, KIP-290, KIP-373).

One that exists already is created again without a trace. All or nothing is done where there are too
many new ones. Kafka: AclApis, AclControlManager.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kafkalite.cluster.operation_size import MAX_RECORDS, TooManyRecords
from kafkalite.requests.context import CloseConnection
from kafkalite.requests.slices import (
    WaitingSteps,
    batches,
    in_slices,
    mapped,
    release_dict,
    sized_batches,
)
from kafkalite.security.acls import (
    Acl,
    Operation,
    PatternType,
    Permission,
    ResourceType,
    numbers_of_entry,
    validate_name,
    validate_new,
)
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.create_acls import (
    AclCreation,
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: CreateAclsRequest
) -> CreateAclsResponse:
    results = await in_slices(_create_each(services, request.creations), context)
    return CreateAclsResponse(results=results)


def _create_each(
    services: Services, creations: list[AclCreation]
) -> WaitingSteps[list[AclCreationResult]]:
    if any((yield from mapped(lambda each: 0 in numbers_of_entry(each), creations))):
        raise CloseConnection("CreateAcls with an unknown type, operation or permission")
    authorizer = services.security.authorizer
    if authorizer is None:
        disabled = KafkaError(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")
        return (yield from mapped(lambda _: _result(disabled), creations))
    acls = yield from mapped(_acl, creations)
    if any((yield from mapped(_is_no_entry, acls))):
        wrong = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        return (yield from mapped(lambda _: _result(wrong), acls))
    outcomes: list[KafkaError | None] = []
    new: dict[Acl, None] = {}
    for some in batches(acls):
        yield None
        for acl in some:
            outcomes.append(outcome := _error_of(validate_new, acl))
            if outcome is None and not authorizer.has(acl):
                new[acl] = None
    if len(new) > MAX_RECORDS:
        too_many = TooManyRecords()
        refused = yield from mapped(lambda acl: _error_of(validate_name, acl) or too_many, acls)
        return (yield from mapped(_result, refused))
    for some_new in sized_batches(new, _size):
        yield from services.cluster.settling()
        # Others may have created some of them meanwhile.
        services.cluster.begin_write(
            [
                acl.to_record(services.cluster.ids.uuid("acl"))
                for acl in some_new
                if not authorizer.has(acl)
            ]
        )
        yield from services.cluster.finishing()
        yield None
    yield from release_dict(new)
    return (yield from mapped(_result, outcomes))


def _size(acl: Acl) -> int:
    """The bytes of the names in its record."""
    return len(acl.resource_name) + len(acl.principal) + len(acl.host)


def _error_of(validate: Callable[[Acl], None], acl: Acl) -> KafkaError | None:
    try:
        validate(acl)
    except KafkaError as error:
        return error
    return None


def _acl(creation: AclCreation) -> Acl:
    return Acl(
        resource_type=ResourceType.of(creation.resource_type),
        resource_name=creation.resource_name,
        pattern_type=PatternType.of(creation.resource_pattern_type),
        principal=creation.principal,
        host=creation.host,
        operation=Operation.of(creation.operation),
        permission=Permission.of(creation.permission_type),
    )


def _is_no_entry(acl: Acl) -> bool:
    """True if it is a filter rather than an entry; Kafka fails then, for the whole request."""
    return (
        acl.resource_type is ResourceType.ANY
        or acl.pattern_type in (PatternType.ANY, PatternType.MATCH)
        or acl.operation is Operation.ANY
        or acl.permission is Permission.ANY
    )


def _result(error: KafkaError | None) -> AclCreationResult:
    if error is None:
        return AclCreationResult(error_code=ErrorCode.NONE)
    return AclCreationResult(error_code=error.code, error_message=error.message)
