"""The gate that authorizes: what the table of authorization says is asked before a handler is.

There is no such gate without an authorizer. Requests that come as rows are turned into messages
only if their rule has more to say than yes. Controllers in other processes authorize what they
decide: they know of a new ACL before this broker does, as its client does.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar
from uuid import UUID

from kafkalite.apis import Api, Handler
from kafkalite.requests.context import CloseConnection, RequestContext
from kafkalite.requests.slices import AT_ONCE, Steps, begun, in_slices, let_go
from kafkalite.requests.suspension import has_to_wait
from kafkalite.security.access import Access, Permits
from kafkalite.security.acls import Operation, ResourceType
from kafkalite.security.authorization.rules import Asked, Finish, Rule, Verdict
from kafkalite.security.authorization.table import AUTHORIZATION, FETCH_NEED
from kafkalite.security.authorizer import Authorizer
from kafkalite.server.gates import Gate
from kafkalite.wire.api_keys import PRODUCE_BY_ID_SINCE, ApiKey
from kafkalite.wire.api_messages import request_class, response_class
from kafkalite.wire.messages.fetch import FetchRequestRow
from kafkalite.wire.messages.produce import ProduceRequestRow
from kafkalite.wire.rows import LargeResponse, message_in_steps, row_of, rows_in_steps

if TYPE_CHECKING:
    from kafkalite.services import Services

T = TypeVar("T")
_MayRead = Callable[[str], bool]
_CONSUMER: Final = -1
_LARGE_BYTES: Final = 32 * 1024
# Forwarded, and yet partly decided here: configs of this broker, and whose tokens one may ask for.
_ALSO_HERE: Final = (
    *(ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS, ApiKey.CREATE_DELEGATION_TOKEN),
)
_SHARING: Final = (ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE)
# The connection is closed: the only sign there is.
_REFUSED_IN_SILENCE: Final = "a Produce with acks=0 was refused by an ACL"


class _Topics:
    """The topics of a broker, as rules ask for them."""

    __slots__ = ("_services",)

    def __init__(self, services: Services) -> None:
        self._services = services

    @property
    def creates_topics(self) -> bool:
        return self._services.config.boolean("auto.create.topics.enable")

    def names(self) -> list[str]:
        return [topic.name for topic in self._services.topics.all()]

    def name_of(self, topic_id: UUID) -> str | None:
        return self._services.topics.name_of(topic_id)

    def id_of(self, name: str) -> UUID | None:
        topic = self._services.topics.get(name)
        return None if topic is None else topic.topic_id

    def has_partition(self, name: str, index: int) -> bool:
        topic = self._services.topics.get(name)
        return topic is not None and topic.partition(index) is not None


def authorize_gate(authorizer: Authorizer, *, forwards: bool = False) -> Gate:
    """The gate for one broker. `forwards`: controllers in other processes decide."""

    def gate(api: Api, handle: Handler) -> Handler:
        if api.key is ApiKey.FETCH:
            return _fetching(authorizer, handle)
        rule = AUTHORIZATION.get(api.key)
        if rule is None or (forwards and api.forwarded and api.key not in _ALSO_HERE):
            return handle
        authorized = _authorized(authorizer, api, rule, handle, forwards=forwards)
        if api.key is ApiKey.PRODUCE:
            return _producing(authorizer, handle, authorized)
        if api.key in _ASKING:
            return _asking(authorizer, authorized, *_ASKING[api.key])
        return authorized

    return gate


def _access(authorizer: Authorizer, context: RequestContext) -> Access:
    return Access(authorizer, context.principal, context.client_host, context.api_key)


def _permits(authorizer: Authorizer, context: RequestContext, operation: Operation) -> Permits:
    return Permits(authorizer, context.principal, context.client_host, operation, context.api_key)


def _authorized(
    authorizer: Authorizer, api: Api, rule: Rule, handle: Handler, *, forwards: bool
) -> Handler:
    """The handler, asked for what its rule allows."""

    def judged(services: Services, context: RequestContext, request: Any) -> Steps[Verdict]:
        """The verdict, with a request and a response as the API has them: messages or rows."""
        if api.groups and not services.serves_groups(api.groups):
            return Verdict(request)  # the answer is the same for all
        access, topics = _access(authorizer, context), _Topics(services)
        message = request
        if api.rows:
            message = yield from message_in_steps(request_class(api.key), request)
        version, protocol = context.api_version, context.security_protocol
        asked = Asked(
            *(api.key, version, message, access, topics, protocol, context.node_id, forwards)
        )
        verdict = yield from rule(asked)
        if not api.rows:
            return verdict
        if verdict.response is not None:
            verdict.response = yield from rows_in_steps(verdict.response)
        if verdict.request is message:
            verdict.request = request
            yield from let_go(message)
        elif verdict.request is not None:
            verdict.request = yield from rows_in_steps(verdict.request)
        if verdict.finish is not None:
            verdict.finish = partial(_finished_row, api, verdict.finish)
        return verdict

    def authorized(services: Services, context: RequestContext, request: Any) -> Any:
        judging = judged(services, context, request)
        verdict = _begun(judging, context)
        if verdict is None or api.waits:
            return handled(services, context, judging, verdict)
        if verdict.is_final:
            return _answered(verdict)
        response = handle(services, context, verdict.request)
        return _finished(verdict.finish, response, context)

    async def handled(
        services: Services,
        context: RequestContext,
        judging: Steps[Verdict],
        verdict: Verdict | None,
    ) -> Any:
        """The response of a handler that waits, or to a request whose judging takes long."""
        if verdict is None:
            verdict = await in_slices(judging, context)
        if verdict.is_final:
            return _answered(verdict)
        response = handle(services, context, verdict.request)
        return await _waited_for(_finished(verdict.finish, response, context))

    return authorized


def _begun(steps: Steps[T], context: RequestContext) -> T | None:
    """The result of work that may be short. That of a large frame goes in slices from the start.

    There the garbage collector does not go through all that the frame made.
    """
    return None if context.request_bytes > _LARGE_BYTES else begun(steps)


def _answered(verdict: Verdict) -> Any:
    """The response to what is not handled. Raises CloseConnection if there is none."""
    if verdict.response is None:
        raise CloseConnection(_REFUSED_IN_SILENCE)
    return verdict.response


def _finished(finish: Finish | None, response: Any, context: RequestContext) -> Any:
    """The finished response, or a coroutine of it.

    Raises CloseConnection where a refusal cannot be told as there is no response.
    """
    if finish is None:
        return response
    if response is None:
        raise CloseConnection(_REFUSED_IN_SILENCE)
    if has_to_wait(response):
        return _finished_later(finish, response, context)
    finishing = finish(response)
    finished = _begun(finishing, context)
    return in_slices(finishing, context) if finished is None else finished


async def _finished_later(
    finish: Finish, handling: Coroutine[Any, Any, Any], context: RequestContext
) -> Any:
    return await _waited_for(_finished(finish, await handling, context))


async def _waited_for(response: Any) -> Any:
    return await response if has_to_wait(response) else response


def _finished_row(api: Api, finish: Finish, response: Any) -> Steps[Any]:
    """`finish` for a response that is a row."""
    message = yield from message_in_steps(response_class(api.key), row_of(response))
    finished = yield from finish(message)
    row = yield from rows_in_steps(finished)
    yield from let_go(message, finished)
    return LargeResponse(row) if type(response) is LargeResponse else row


def _producing(authorizer: Authorizer, handle: Handler, authorized: Handler) -> Handler:
    """Produce: a request without a transactional id, to a few topics that may be written."""

    def produce(services: Services, context: RequestContext, request: ProduceRequestRow) -> Any:
        transactional_id, _, _, topics = request
        if transactional_id is not None or len(topics) > AT_ONCE:
            return authorized(services, context, request)
        may = context.may_write
        if not isinstance(may, Permits) or may.principal is not context.principal:
            may = context.may_write = _permits(authorizer, context, Operation.WRITE)
        for name, topic_id, _ in topics:
            if context.api_version >= PRODUCE_BY_ID_SINCE:
                topic = services.topics.by_id(topic_id)
                if topic is None:
                    continue
                name = topic.name
            if not may(name, log=False):
                return authorized(services, context, request)
        return handle(services, context, request)

    return produce


def _fetching(authorizer: Authorizer, handle: Handler) -> Handler:
    """Fetch: each partition of its session is asked about when it is read."""

    def fetch(services: Services, context: RequestContext, request: FetchRequestRow) -> Any:
        replica_id = request[1] if request[2][0] == _CONSUMER else request[2][0]
        may = context.may_read
        if replica_id >= 0:
            context.may_read = _may_replicate(_access(authorizer, context))
        elif not isinstance(may, Permits) or may.principal is not context.principal:
            context.may_read = _permits(authorizer, context, FETCH_NEED.operation)
        return handle(services, context, request)

    return fetch


def _asking(
    authorizer: Authorizer, authorized: Handler, name: str, may: Callable[[Access], _MayRead]
) -> Handler:
    """A handler that asks for single topics by this field of the context."""

    def asking(services: Services, context: RequestContext, request: Any) -> Any:
        setattr(context, name, may(_access(authorizer, context)))
        return authorized(services, context, request)

    return asking


def _may_describe(access: Access) -> _MayRead:
    """Regular expressions match such topics. Kafka only filters: it logs no refusal."""
    return lambda name: access.may(Operation.DESCRIBE, ResourceType.TOPIC, name, log=False)


def _may_create(access: Access) -> _MayRead:
    """For the internal topics of streams groups."""
    return lambda name: (
        access.may(Operation.CREATE, ResourceType.CLUSTER, log=False)
        or access.may(Operation.CREATE, ResourceType.TOPIC, name)
    )


def _may_consume(access: Access) -> _MayRead:
    """Share groups: as Fetch, for those who may read the group."""
    return lambda name: access.may(FETCH_NEED.operation, FETCH_NEED.resource_type, name)


def _may_replicate(access: Access) -> _MayRead:
    return lambda name: access.may(Operation.CLUSTER_ACTION, ResourceType.CLUSTER)


_ASKING: Final[Mapping[ApiKey, tuple[str, Callable[[Access], _MayRead]]]] = {
    **dict.fromkeys(_SHARING, ("may_read", _may_consume)),
    ApiKey.STREAMS_GROUP_HEARTBEAT: ("may_create", _may_create),
    # Their members may subscribe to a regular expression, or join a group of such.
    ApiKey.CONSUMER_GROUP_HEARTBEAT: ("may_describe", _may_describe),
    ApiKey.JOIN_GROUP: ("may_describe", _may_describe),
}
