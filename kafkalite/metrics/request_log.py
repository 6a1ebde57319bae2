"""One line in the log for each request: the gate that stands around handlers while DEBUG is on.

    Produce v13 by app at 127.0.0.1: orders-0 orders-1: NOT_LEADER_OR_FOLLOWER x2, 0.8 ms

It names the API and version, the client, the topics, groups and transactional ids of the request,
the errors in the answer, and the time from the request's arrival to its answer. Nothing else of a
message is in it: no record, no config, no password. The logger is Kafka's, so that Kafka's tools
switch it while the broker runs: kafka-configs.sh --entity-type broker-loggers.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import trio

from kafkalite.apis import Api, Handler
from kafkalite.cluster.broker_loggers import request_logger
from kafkalite.metrics.error_counts import counter_of_messages, counter_of_rows
from kafkalite.metrics.requests import api_name
from kafkalite.requests.context import CloseConnection, RequestContext
from kafkalite.requests.names import Place, names_in, shown_topic
from kafkalite.requests.suspension import has_to_wait
from kafkalite.wire.api_messages import request_class
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.rows import message_of_row

if TYPE_CHECKING:
    from kafkalite.metrics.error_counts import Errors
    from kafkalite.replica.topics import Topics
    from kafkalite.services import Services

# More names would bury the rest of the line.
_NAMES_AT_MOST: Final = 8


def log_gate(api: Api, handle: Handler) -> Handler:
    """A handler that responds as `handle` does, and says so in the log."""
    name = api_name(api.key)
    now = trio.lowlevel.current_clock().current_time

    def logged(services: Services, context: RequestContext, request: Any) -> Any:
        # A handler may take a large request apart: it is looked at before.
        body = message_of_row(request_class(api.key), request) if api.rows else request
        about = named(body, context.api_version, services.topics)
        try:
            response = handle(services, context, request)
        except CloseConnection as end:
            say(context, about, f"connection closed: {end}")
            raise
        if has_to_wait(response):
            return logged_later(context, about, response)
        say(context, about, outcome(api, response))
        return response

    async def logged_later(context: RequestContext, about: str, handling: Any) -> Any:
        try:
            response = await handling
        except CloseConnection as end:
            say(context, about, f"connection closed: {end}")
            raise
        say(context, about, outcome(api, response))
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


def outcome(api: Api, response: Any) -> str:
    """The errors in a response, or "ok"; a Produce with acks=0 has no response."""
    if response is None:
        return "no answer"
    errors: Errors = Counter()
    if api.rows:
        counter_of_rows(api.key)(response, errors)
    else:
        counter_of_messages(response.__class__)(response, errors)
    return " ".join(_counted(code, count) for code, count in errors.items()) or "ok"


def _counted(code: int | str, count: int) -> str:
    name = code if isinstance(code, str) else ErrorCode(code).name
    return name if count == 1 else f"{name} x{count}"


def named(body: Any, version: int, topics: Topics) -> str:
    """The topics, groups and transactional ids that a request names, each after a space."""
    names = names_in(body, version)
    found = [_shown(place, topics) for place in names.places]
    found += [f"group {each}" for each in sorted(filter(None, names.groups))]
    found += [f"transactional id {each}" for each in sorted(filter(None, names.transactional_ids))]
    unique = list(dict.fromkeys(found))
    more = len(unique) - _NAMES_AT_MOST
    shown = unique if more <= 0 else [*unique[:_NAMES_AT_MOST], f"and {more} more"]
    return f" {', '.join(shown)}:" if shown else ""


def _shown(place: Place, topics: Topics) -> str:
    named, partition = place
    topic = shown_topic(named, topics.name_of)
    return topic if partition is None else f"{topic}-{partition}"
