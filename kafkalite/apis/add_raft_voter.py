"""AddRaftVoter (key 80), versions 0-1: another voter for the metadata log (KIP-853).

The quorum has the voters that it was configured with, which is Kafka's kraft.version 0: no request
changes them. The checks before come in the order of KafkaRaftClient and AddVoterHandler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from uuid import UUID

from kafkalite.requests.context import RequestContext
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.add_raft_voter import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    Listener,
)

if TYPE_CHECKING:
    from kafkalite.services import Services

_NO_DIRECTORY: Final = UUID(int=0)
_CONTROLLER_LISTENER: Final = "CONTROLLER"


def handle(
    services: Services, context: RequestContext, request: AddRaftVoterRequest
) -> AddRaftVoterResponse:
    code, message = refusal(
        services, request.cluster_id, request.voter_id, request.voter_directory_id, "Add", "adding"
    )
    if code is ErrorCode.UNSUPPORTED_VERSION:
        endpoints = {each.name.upper(): each for each in request.listeners}
        if _CONTROLLER_LISTENER not in endpoints:
            code = ErrorCode.INVALID_REQUEST
            message = (
                f"Add voter request didn't include the endpoint ({_words(endpoints)}) for the "
                f"default listener ListenerName({_CONTROLLER_LISTENER})"
            )
    return AddRaftVoterResponse(error_code=code, error_message=message)


def refusal(
    services: Services,
    cluster_id: str | None,
    voter_id: int,
    directory_id: UUID,
    verb: str,
    doing: str,
) -> tuple[ErrorCode, str]:
    """The error of a change of the voters, and Kafka's words for it; `verb` names the change."""
    own_id = services.cluster.cluster_id
    if cluster_id not in (None, own_id):
        return (
            ErrorCode.INCONSISTENT_CLUSTER_ID,
            f'The given id "{cluster_id}" doesn\'t match the cluster id "{own_id}"',
        )
    if voter_id < 0 or directory_id == _NO_DIRECTORY:
        return (
            ErrorCode.INVALID_REQUEST,
            f"{verb} voter request didn't include a valid voter",
        )
    return (
        ErrorCode.UNSUPPORTED_VERSION,
        f"Cluster doesn't support {doing} voter because the kraft.version feature is 0",
    )


def _words(endpoints: dict[str, Listener]) -> str:
    each = ", ".join(
        f"ListenerName({name})={listener.host}/<unresolved>:{listener.port}"
        for name, listener in endpoints.items()
    )
    return f"Endpoints(endpoints={{{each}}})"
