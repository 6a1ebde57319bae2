"""CreateAcls (key 30), versions 1-3: adds ACLs (KIP-140, KIP-290, KIP-373).

One that exists already is created again without a trace. Kafka: AclApis, AclControlManager.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

from kafkalite.requests.context import CloseConnection
from kafkalite.security.acls import (
    Acl,
    Operation,
    PatternType,
    Permission,
    ResourceType,
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


def handle(
    services: Services, context: RequestContext, request: CreateAclsRequest
) -> CreateAclsResponse:
    authorizer = services.security.authorizer
    if authorizer is None:
        disabled = KafkaError(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")
        return CreateAclsResponse(results=[_result(disabled) for _ in request.creations])
    acls = [_acl(creation) for creation in request.creations]
    if any(map(_is_unknown, request.creations)):
        raise CloseConnection("CreateAcls with an unknown type, operation or permission")
    if any(_is_no_entry(acl) for acl in acls):
        wrong = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        return CreateAclsResponse(results=[_result(wrong) for _ in acls])
    known = set(authorizer.acls.values())
    records: list[object] = []
    results: list[AclCreationResult] = []
    for acl in acls:
        try:
            validate_new(acl)
        except KafkaError as error:
            results.append(_result(error))
            continue
        results.append(AclCreationResult(error_code=ErrorCode.NONE))
        if acl not in known:
            known.add(acl)
            records.append(acl.to_record(uuid4()))
    services.cluster.begin_write(records)
    return CreateAclsResponse(results=results)


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


def _is_unknown(creation: AclCreation) -> bool:
    """True if it says UNKNOWN itself: Kafka does not even parse the request."""
    return 0 in (
        creation.resource_type,
        creation.resource_pattern_type,
        creation.operation,
        creation.permission_type,
    )


def _is_no_entry(acl: Acl) -> bool:
    """True if it is a filter rather than an entry; Kafka fails then, for the whole request."""
    return (
        acl.resource_type is ResourceType.ANY
        or acl.pattern_type in (PatternType.ANY, PatternType.MATCH)
        or acl.operation is Operation.ANY
        or acl.permission is Permission.ANY
    )


def _result(error: KafkaError) -> AclCreationResult:
    return AclCreationResult(error_code=error.code, error_message=error.message)
