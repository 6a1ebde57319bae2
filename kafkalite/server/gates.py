"""The gates around every handler: each matter is built once, here, for all APIs.

    log             one line for each request, while the log is to have them
    throttle        quotas: how long the client is to wait
    count           metrics: requests, errors, durations
    authenticate    refuses a connection that has not said who it is
    refusal         answers a handler that refuses the whole request
    authorize       refuses what the principal may not do
    fault           what a test has set up: faults, and the spy
    change          changes of the metadata: one decides after the other
    transaction     asks coordinators on other brokers before the first batch of a transaction
    replication     holds a coordinator's answer back until its replicas have what it rests on
    flush           holds the answer back until what it rests on is on the disk
    linger          holds the answer back until the share states that it rests on are written
    (served)        refuses what is for a type of groups that is switched off
    (handle)

They stand from the outside in: a request passes them from top to bottom, its response back up.
A gate is asked once per API, when the first request for the API comes in, and returns a handler
around the one it is given; or that one itself, if it has nothing to do with the API. So a gate that
is absent costs nothing, and one that is there costs a call.

    def authorize(api: Api, handle: Handler) -> Handler:
        if api.key not in GUARDED:
            return handle

        def authorized(services: Services, context: RequestContext, request: Any) -> Any:
            context.principal.check(...)
            return handle(services, context, request)

        return authorized

A handler returns its response, or a coroutine of it. A gate that does something with the response
says so by `when_done`, which serves both.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kafkalite.apis import Api, Handler
from kafkalite.requests.slices import briefly_or_in_slices
from kafkalite.requests.suspension import has_to_wait
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.rows import rows_of

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services

Gate = Callable[[Api, Handler], Handler]


@dataclass(frozen=True, slots=True)
class Gates:
    """The gates of one broker. None: there is no such gate."""

    authenticate: Gate | None = None
    authorize: Gate | None = None
    refusal: Gate | None = None
    fault: Gate | None = None
    change: Gate | None = None
    linger: Gate | None = None
    flush: Gate | None = None
    replication: Gate | None = None
    transaction: Gate | None = None
    count: Gate | None = None
    throttle: Gate | None = None
    log: Gate | None = None

    def around(self, api: Api, handle: Handler) -> Handler:
        """The handler with all gates around it, the innermost first.

        `count`, `throttle` and `log` are outside: a request that another gate refuses is counted
        and logged, too.
        """
        if api.groups:
            handle = _while_served(api, handle)
        for gate in (
            *(self.linger, self.flush, self.replication, self.transaction, self.change),
            *(self.fault, self.authorize, self.refusal, self.authenticate),
            *(self.count, self.throttle, self.log),
        ):
            if gate is not None:
                handle = gate(api, handle)
        return handle


def _while_served(api: Api, handle: Handler) -> Handler:
    def served(services: Services, context: RequestContext, request: Any) -> Any:
        if services.serves_groups(api.groups):
            return handle(services, context, request)
        return _not_served(api, context, request)

    return served


async def _not_served(api: Api, context: RequestContext, request: Any) -> Any:
    from kafkalite.requests.refusals import refuse_in_steps  # a start has no need of it

    refusal = refuse_in_steps(api.key, context.api_version, request, ErrorCode.UNSUPPORTED_VERSION)
    response: Any = await briefly_or_in_slices(refusal, context)
    if api.key is ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS:
        for group in response.groups:
            group.error_message = None  # Kafka's handler gives none
    return rows_of(response) if api.rows else response


def when_done(response: Any, finish: Callable[[Any], Any]) -> Any:
    """`finish(response)`; if the handler has to wait, a coroutine that does so in the end."""
    if has_to_wait(response):
        return _finished(response, finish)
    return finish(response)


async def _finished(handling: Coroutine[Any, Any, Any], finish: Callable[[Any], Any]) -> Any:
    return finish(await handling)
