"""The gate around requests that change the metadata: they decide one at a time.

A handler decides by the metadata as they are, and begins a change (`Cluster.begin_write`). The
change is seen, and the request answered, when it is on the disk; the next decision waits for that.
If the disk fails meanwhile the connection is closed, as the answer is made already.

A `timeout_ms` of 0 or less is over before the controller decides: everything has timed out then,
unless there is nothing that only the controller could refuse. The handlers know (`check_time`), and
the answer is made outside of the authorization, which takes elements out of a request
(ControllerRequestContext.requestTimeoutMsToDeadlineNs, KafkaEventQueue.handleEvents).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kafkalite.requests.context import CloseConnection, RefuseRequest
from kafkalite.requests.slices import in_slices
from kafkalite.requests.suspension import has_to_wait
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import KafkaError

if TYPE_CHECKING:
    from kafkalite.apis import Api, Handler
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services

_CHANGING: Final = frozenset(
    {
        ApiKey.ALTER_CLIENT_QUOTAS,
        ApiKey.ALTER_CONFIGS,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        ApiKey.CREATE_ACLS,
        ApiKey.CREATE_DELEGATION_TOKEN,
        ApiKey.DELETE_ACLS,
        ApiKey.ELECT_LEADERS,
        ApiKey.EXPIRE_DELEGATION_TOKEN,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        ApiKey.RENEW_DELEGATION_TOKEN,
        ApiKey.UNREGISTER_BROKER,
        ApiKey.UPDATE_FEATURES,
    }
)
# Kafka's controller takes the deadline of no other request from the client.
_REFUSED_WHOLE: Final = frozenset(
    {
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        ApiKey.CREATE_PARTITIONS,
        ApiKey.CREATE_TOPICS,
        ApiKey.DELETE_TOPICS,
        ApiKey.ELECT_LEADERS,
    }
)


def change_gate(api: Api, handle: Handler) -> Handler:
    """Let the handlers of changes decide one after the other."""
    if api.key not in _CHANGING:
        return handle

    def guarded(services: Services, context: RequestContext, request: Any) -> Any:
        cluster = services.cluster
        if cluster.is_changing:
            return _when_settled(handle, services, context, request)
        response = handle(services, context, request)
        if has_to_wait(response) or cluster.is_changing:
            return _when_changed(services, context, response)
        return response

    return guarded


def refusal_gate(api: Api, handle: Handler) -> Handler:
    """Answer changes that are refused as a whole (RefuseRequest)."""
    if api.key not in _REFUSED_WHOLE:
        return handle

    async def answered(services: Services, context: RequestContext, request: Any) -> Any:
        try:
            response = handle(services, context, request)
            return await response if has_to_wait(response) else response
        except RefuseRequest as error:
            from kafkalite.requests.refusals import refuse_in_steps  # a start has no need of it

            refusal = refuse_in_steps(api.key, context.api_version, request, error.code)
            return await in_slices(refusal, context)

    return answered


async def _when_settled(
    handle: Handler, services: Services, context: RequestContext, request: Any
) -> Any:
    while services.cluster.is_changing:
        await in_slices(services.cluster.settling(), context)
    return await _when_changed(services, context, handle(services, context, request))


async def _when_changed(services: Services, context: RequestContext, response: Any) -> Any:
    try:
        if has_to_wait(response):
            response = await response
        if services.cluster.is_changing:
            await in_slices(services.cluster.finishing(), context)
    except KafkaError as error:
        raise CloseConnection(f"the change is not on the disk: {error}") from error
    return response
