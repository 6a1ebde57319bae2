"""One line in the log for each request: the gate that stands around handlers while DEBUG is on.

    Produce v13 by app at 127.0.0.1: orders-0 orders-1: NOT_LEADER_OR_FOLLOWER x2, 0.8 ms

It names the API and version, the client, the topics, groups and transactional ids of the request,
the errors in the answer, and the time from the request's arrival to its answer. Nothing else of a
message is in it: no record, no config, no password. The logger is Kafka's, so that Kafka's tools
switch it while the broker runs: kafka-configs.sh --entity-type broker-loggers.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import trio

from kafkalite.apis import Api, Handler
from kafkalite.cluster.broker_loggers import request_logger
from kafkalite.metrics.error_counts import (
    Errors,
    counter_in_steps,
    counter_of_messages,
    counter_of_rows,
)
from kafkalite.metrics.requests import api_name
from kafkalite.requests.context import CloseConnection, RequestContext
from kafkalite.requests.names import Place, finding_names, shown_topic
from kafkalite.requests.slices import (
    COUNTED_FROM_BYTES,
    Steps,
    at_once,
    briefly_or_in_slices,
    has_many,
    in_slices,
    release_dict,
)
from kafkalite.requests.suspension import has_to_wait
from kafkalite.wire.api_messages import request_class
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.rows import message_in_steps, row_of

if TYPE_CHECKING:
    from kafkalite.replica.topics import Topics
    from kafkalite.services import Services

# More names would bury the rest of the line.
_NAMES_AT_MOST: Final = 8


def log_gate(api: Api, handle: Handler) -> Handler:
    """A handler that responds as `handle` does, and says so in the log."""
    name = api_name(api.key)
    count = counter_of_rows(api.key) if api.rows else _count
    now = trio.lowlevel.current_clock().current_time

    def logged(services: Services, context: RequestContext, request: Any) -> Any:
        # A handler may take a large request apart: it is looked at before.
        looking = about_of(api, context.api_version, request, services.topics)
        if context.request_bytes >= COUNTED_FROM_BYTES:
            return logged_large(services, context, request, looking)
        return answered(services, context, request, at_once(looking))

    async def logged_large(
        services: Services, context: RequestContext, request: Any, looking: Steps[str]
    ) -> Any:
        about = await briefly_or_in_slices(looking, context)
        response = answered(services, context, request, about)
        return await response if has_to_wait(response) else response

    def answered(services: Services, context: RequestContext, request: Any, about: str) -> Any:
        try:
            response = handle(services, context, request)
        except CloseConnection as end:
            say(context, about, f"connection closed: {end}")
            raise
        if has_to_wait(response):
            return logged_later(context, about, response)
        errors: Errors = Counter()
        if response is not None:
            count(response, errors)
        say(context, about, outcome(response, errors))
        return response

    async def logged_later(context: RequestContext, about: str, handling: Any) -> Any:
        try:
            response = await handling
        except CloseConnection as end:
            say(context, about, f"connection closed: {end}")
            raise
        errors: Errors = Counter()
        if has_many(row_of(response)):
            counting = counter_in_steps(api.key, rows=api.rows)(row_of(response), errors)
            await in_slices(counting, context)
        elif response is not None:
            count(response, errors)
        say(context, about, outcome(response, errors))
        return response

    def say(context: RequestContext, about: str, what: str) -> None:
        request_logger.debug(
            "%s v%d by %s at %s:%s %s, %.1f ms",
            name,
            context.api_version,
            context.client_id or "-",
            context.client_host,
            about,
            what,
            (now() - context.received_at) * 1000,
        )

    return logged


def _count(response: Any, errors: Errors) -> None:
    counter_of_messages(response.__class__)(response, errors)


def outcome(response: Any, errors: Errors) -> str:
    """The errors in a response, or "ok"; a Produce with acks=0 has no response."""
    if response is None:
        return "no answer"
    return " ".join(_counted(code, number) for code, number in errors.items()) or "ok"


def _counted(code: int | str, count: int) -> str:
    name = code if isinstance(code, str) else ErrorCode(code).name
    return name if count == 1 else f"{name} x{count}"


def about_of(api: Api, version: int, request: Any, topics: Topics) -> Steps[str]:
    """The topics, groups and transactional ids that a request names, each after a space."""
    body = request
    if api.rows:
        body = yield from message_in_steps(request_class(api.key), request)
    names = yield from finding_names(body, version)
    found: dict[str, None] = {}
    for place in names.places:
        found[_shown(place, topics)] = None
        yield
    for kind, several in (
        ("group", names.groups),
        ("transactional id", names.transactional_ids),
    ):
        found.update({f"{kind} {each}": None for each in sorted(filter(None, several))})
    more = len(found) - _NAMES_AT_MOST
    shown = list(islice(found, _NAMES_AT_MOST))
    if more > 0:
        shown.append(f"and {more} more")
    yield from release_dict(found)
    return f" {', '.join(shown)}:" if shown else ""


def _shown(place: Place, topics: Topics) -> str:
    named, partition = place
    topic = shown_topic(named, topics.name_of)
    return topic if partition is None else f"{topic}-{partition}"
