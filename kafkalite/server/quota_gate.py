"""The gate that throttles: it measures a client's use, and the answer says how long to wait.

The answer goes out at once, and the connection is not read until the time is over (KIP-219). All
APIs but those of brokers pay for the time of the request itself. These are measured besides:

    Produce                           the bytes of the request
    Fetch, ShareFetch                 the bytes of the response; throttled, it comes empty
    CreateTopics, CreatePartitions,   partitions created and deleted (KIP-599): newer versions are
    DeleteTopics                      refused when the tokens are spent, older ones wait

Without quotas there is no such gate. Source: Kafka's KafkaApis, RequestHandlerHelper.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

import trio

from kafkalite.apis import Api, Handler
from kafkalite.log.open_files import close_slices
from kafkalite.requests.context import RequestContext
from kafkalite.requests.slices import Steps, at_once, has_many, in_slices
from kafkalite.requests.suspension import has_to_wait
from kafkalite.security.mutations import MUTATIONS, MutationQuota
from kafkalite.security.node_quotas import NodeQuotas
from kafkalite.server.gates import Gate, when_done
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.api_messages import response_class
from kafkalite.wire.rows import LargeResponse, row_of
from kafkalite.wire.schema import fields_of

if TYPE_CHECKING:
    from kafkalite.services import Services
    from kafkalite.wire.messages.share_fetch import ShareFetchRequest, ShareFetchResponse

QuotasOf = Callable[[int], NodeQuotas]

# Requests between brokers, and those that come before a client may be asked for anything.
_EXEMPT: Final = frozenset(
    {
        ApiKey.WRITE_TXN_MARKERS,
        ApiKey.SASL_HANDSHAKE,
        ApiKey.SASL_AUTHENTICATE,
    }
)
_FETCH_MAX_BYTES: Final = 5


def quota_gate(quotas_of: QuotasOf) -> Gate:
    """The gate for one broker; `quotas_of` gives the quotas of a node."""

    def gate(api: Api, handle: Handler) -> Handler:
        if api.key in _EXEMPT:
            return handle
        if api.key is ApiKey.PRODUCE:
            return _producing(quotas_of, api, handle)
        if api.key is ApiKey.FETCH:
            return _fetching(quotas_of, api, handle)
        if api.key is ApiKey.SHARE_FETCH:
            return _share_fetching(quotas_of, handle)
        if api.key in MUTATIONS:
            return _mutating(quotas_of, api, handle)
        return _timed(quotas_of, api, handle)

    return gate


def _now_ms() -> int:
    return int(trio.current_time() * 1000)


def _request_wait_ms(quotas: NodeQuotas, context: RequestContext, seconds: float) -> int:
    """Measure the time of a request; the wait it costs."""
    user = context.principal.name
    return quotas.request.record(user, context.client_id, seconds * 100, _now_ms())


def _mute(context: RequestContext, wait_ms: int) -> None:
    if wait_ms > 0:
        context.connection.mute(trio.current_time() + wait_ms / 1000)


def _setter(api: Api) -> Callable[[Any, int], Any]:
    """A function that says the throttle time in a response of the API."""
    names = [each.name for each in fields_of(response_class(api.key))]
    if "throttle_time_ms" not in names:
        return lambda response, wait_ms: response
    if api.rows:
        at = names.index("throttle_time_ms")

        def say_in_row(response: Any, wait_ms: int) -> Any:
            row = row_of(response)
            row = (*row[:at], wait_ms, *row[at + 1 :])
            return LargeResponse(row) if type(response) is LargeResponse else row

        return say_in_row

    def say(response: Any, wait_ms: int) -> Any:
        response.throttle_time_ms = wait_ms
        return response

    return say


def _timed(quotas_of: QuotasOf, api: Api, handle: Handler) -> Handler:
    say = _setter(api)

    def timed(services: Services, context: RequestContext, request: Any) -> Any:
        quotas = quotas_of(context.node_id)
        began = perf_counter()
        response = handle(services, context, request)
        took = perf_counter() - began

        def finish(response: Any) -> Any:
            wait_ms = _request_wait_ms(quotas, context, took)
            _mute(context, wait_ms)
            return response if response is None or not wait_ms else say(response, wait_ms)

        return when_done(response, finish)

    return timed


def _producing(quotas_of: QuotasOf, api: Api, handle: Handler) -> Handler:
    say = _setter(api)

    def produce(services: Services, context: RequestContext, request: Any) -> Any:
        quotas = quotas_of(context.node_id)
        size = context.request_bytes
        began = perf_counter()
        response = handle(services, context, request)
        took = perf_counter() - began

        def finish(response: Any) -> Any:
            user = context.principal.name
            wait_ms = quotas.produce.record(user, context.client_id, size, _now_ms())
            if response is not None:
                wait_ms = max(wait_ms, _request_wait_ms(quotas, context, took))
            _mute(context, wait_ms)
            return response if response is None or not wait_ms else say(response, wait_ms)

        return when_done(response, finish)

    return produce


def _fetching(quotas_of: QuotasOf, api: Api, handle: Handler) -> Handler:
    def fetch(services: Services, context: RequestContext, request: Any) -> Any:
        quotas = quotas_of(context.node_id)
        user, client_id = context.principal.name, context.client_id
        most = quotas.fetch.most_in_window(user, client_id)
        if most != inf and most < request[_FETCH_MAX_BYTES]:
            rest = request[_FETCH_MAX_BYTES + 1 :]
            request = (*request[:_FETCH_MAX_BYTES], int(most), *rest)
        began = perf_counter()
        response = handle(services, context, request)
        took = perf_counter() - began

        def finish(response: Any) -> Any:
            size = _fetched_bytes(response)
            bytes_wait_ms = quotas.fetch.record(user, client_id, size, _now_ms())
            request_wait_ms = _request_wait_ms(quotas, context, took)
            wait_ms = max(bytes_wait_ms, request_wait_ms)
            if not wait_ms:
                return response
            # Records that were read are not sent now, and do not count.
            quotas.fetch.unrecord(user, client_id, size, _now_ms())
            _mute(context, wait_ms)
            _, error_code, session_id, topics, _ = row_of(response)
            close_slices([row[10] for _, _, rows in topics for row in rows])
            return (wait_ms, error_code, session_id, [], [])

        return when_done(response, finish)

    return fetch


def _fetched_bytes(response: Any) -> int:
    """About the size of a Fetch response: its records, and what stands around them."""
    return sum(
        len(name) + 24 + sum(64 + len(row[10] or b"") for row in rows)
        for name, _, rows in row_of(response)[3]
    )


def _share_fetching(quotas_of: QuotasOf, handle: Handler) -> Handler:
    def share_fetch(services: Services, context: RequestContext, request: ShareFetchRequest) -> Any:
        quotas = quotas_of(context.node_id)
        user, client_id = context.principal.name, context.client_id
        request.max_bytes = int(
            min(request.max_bytes, quotas.fetch.most_in_window(user, client_id))
        )
        began = perf_counter()
        response = handle(services, context, request)
        took = perf_counter() - began

        def finish(response: ShareFetchResponse) -> ShareFetchResponse:
            size = sum(
                24 + sum(64 + len(each.records or b"") for each in topic.partitions)
                for topic in response.responses
            )
            bytes_wait_ms = quotas.fetch.record(user, client_id, size, _now_ms())
            wait_ms = max(bytes_wait_ms, _request_wait_ms(quotas, context, took))
            if wait_ms:
                quotas.fetch.unrecord(user, client_id, size, _now_ms())
                _mute(context, wait_ms)
                response.throttle_time_ms = wait_ms
                _leave_out_records(request, response)
            return response

        return when_done(response, finish)

    return share_fetch


def _leave_out_records(request: ShareFetchRequest, response: ShareFetchResponse) -> None:
    """Answer the acknowledgements alone. The records stay acquired until their locks end."""
    acknowledged = {
        (topic.topic_id, each.partition_index)
        for topic in request.topics
        for each in topic.partitions
        if each.acknowledgement_batches
    }
    for topic in response.responses:
        close_slices([each.records for each in topic.partitions])
        topic.partitions = [
            each
            for each in topic.partitions
            if (topic.topic_id, each.partition_index) in acknowledged
        ]
        for each in topic.partitions:
            each.records, each.acquired_records = b"", []
    response.responses = [topic for topic in response.responses if topic.partitions]


def _mutating(quotas_of: QuotasOf, api: Api, handle: Handler) -> Handler:
    say = _setter(api)
    mutation = MUTATIONS[api.key]

    def mutate(services: Services, context: RequestContext, request: Any) -> Any:
        quota = MutationQuota(
            quotas_of(context.node_id).mutation,
            context.principal.name,
            context.client_id,
            _now_ms,
            is_strict=context.api_version >= mutation.strict_since,
        )
        steps = mutation.admitting(services.cluster.image, services.config, request, quota)
        if has_many(request):
            return mutate_in_slices(services, context, quota, steps)
        return admitted(services, context, quota, at_once(steps))

    async def mutate_in_slices(
        services: Services, context: RequestContext, quota: MutationQuota, steps: Steps[Any]
    ) -> Any:
        response = admitted(services, context, quota, await in_slices(steps, context))
        return await response if has_to_wait(response) else response

    def admitted(
        services: Services, context: RequestContext, quota: MutationQuota, parts: Any
    ) -> Any:
        request, refused = parts
        began = perf_counter()
        response = handle(services, context, request)
        took = perf_counter() - began

        def finish(response: Any) -> Any:
            response = mutation.merge(response, refused)
            quotas = quotas_of(context.node_id)
            wait_ms = max(quota.wait_ms, _request_wait_ms(quotas, context, took))
            _mute(context, wait_ms)
            return say(response, wait_ms) if wait_ms else response

        return when_done(response, finish)

    return mutate
