"""The gate that throttles: it measures a client's use, and the answer says how long to wait.

The answer goes out at once, and the connection is not read until the time is over (KIP-219). All
APIs but those of brokers pay for the time of the request itself. These are measured besides:

    Produce                           the bytes of the request
    Fetch, ShareFetch                 the bytes of the response; throttled, it comes empty
    CreateTopics, CreatePartitions,   partitions created and deleted (KIP-599): newer versions are
    DeleteTopics                      refused when the tokens are spent, older ones wait
    Metadata, StreamsGroupHeartbeat   the same for topics that are created because they are missing

Without quotas there is no such gate. Source: Kafka's KafkaApis, RequestHandlerHelper.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

import trio

from kafkalite.apis import Api, Handler
from kafkalite.log.open_files import close_slices
from kafkalite.requests.context import RequestContext
from kafkalite.security.mutations import STRICT_SINCE, MutationQuota
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
_CREATE_TOPICS_THAT_ARE_MISSING: Final = (ApiKey.METADATA, ApiKey.STREAMS_GROUP_HEARTBEAT)
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
        if api.key in STRICT_SINCE or api.key in _CREATE_TOPICS_THAT_ARE_MISSING:
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


def _controllers_wait_ms(api: Api, response: Any) -> int:
    """The wait that the controllers of a cluster, who have quotas of their own, already tell."""
    wait_ms: int = getattr(response, "throttle_time_ms", 0) if api.forwarded else 0
    return wait_ms


def _measured(
    handle: Callable[[], Any],
    quotas: NodeQuotas,
    context: RequestContext,
    other_wait_ms: Callable[[Any], int],
    say: Callable[[Any, int], Any],
) -> Any:
    """Handle a request. Its time and `other_wait_ms(response)` cost a wait: the longer one counts.

    A request without a response, a Produce with acks=0, does not pay for its time.
    """
    began = perf_counter()
    response = handle()
    took = perf_counter() - began

    def finish(response: Any) -> Any:
        wait_ms = other_wait_ms(response)
        if response is not None:
            wait_ms = max(wait_ms, _request_wait_ms(quotas, context, took))
        _mute(context, wait_ms)
        return response if response is None or not wait_ms else say(response, wait_ms)

    return when_done(response, finish)


def _timed(quotas_of: QuotasOf, api: Api, handle: Handler) -> Handler:
    say = _setter(api)

    def timed(services: Services, context: RequestContext, request: Any) -> Any:
        return _measured(
            lambda: handle(services, context, request),
            quotas_of(context.node_id),
            context,
            lambda response: _controllers_wait_ms(api, response),
            say,
        )

    return timed


def _producing(quotas_of: QuotasOf, api: Api, handle: Handler) -> Handler:
    say = _setter(api)

    def produce(services: Services, context: RequestContext, request: Any) -> Any:
        quotas = quotas_of(context.node_id)
        size = context.request_bytes

        def bytes_wait_ms(_response: Any) -> int:
            user = context.principal.name
            return quotas.produce.record(user, context.client_id, size, _now_ms())

        return _measured(
            lambda: handle(services, context, request), quotas, context, bytes_wait_ms, say
        )

    return produce


class _Answer:
    """The use of one request that is answered with records, measured before it is answered."""

    def __init__(self, quotas: NodeQuotas, context: RequestContext) -> None:
        self._quotas = quotas
        self._context = context
        self._began = perf_counter()
        self._took: float | None = None
        self.wait_ms: int | None = None

    def is_given_later(self) -> None:
        """The time until now is the request's, and not what it waits for from now on."""
        self._took = perf_counter() - self._began

    def wait_for(self, size: int) -> int:
        """The time to wait instead of being given so many bytes, or 0."""
        if self.wait_ms is None:
            quota, now_ms = self._quotas.fetch, _now_ms()
            who = self._context.principal.name, self._context.client_id
            bytes_wait_ms = quota.record(*who, size, now_ms)
            self.wait_ms = max(bytes_wait_ms, self.time_wait_ms())
            if self.wait_ms:
                # Records that were read are not sent now, and do not count.
                quota.unrecord(*who, size, now_ms)
        return self.wait_ms

    def time_wait_ms(self) -> int:
        """Measure the time of the request; the wait it costs."""
        took = perf_counter() - self._began if self._took is None else self._took
        return _request_wait_ms(self._quotas, self._context, took)


def _fetching(quotas_of: QuotasOf, api: Api, handle: Handler) -> Handler:
    say = _setter(api)

    def fetch(services: Services, context: RequestContext, request: Any) -> Any:
        _, replica_id, (id_in_state, _), *_ = request
        if max(replica_id, id_in_state) >= 0:
            return handle(services, context, request)  # a broker is no client
        quotas = quotas_of(context.node_id)
        most = quotas.fetch.most_in_window(context.principal.name, context.client_id)
        if most < request[_FETCH_MAX_BYTES]:
            rest = request[_FETCH_MAX_BYTES + 1 :]
            request = (*request[:_FETCH_MAX_BYTES], most, *rest)
        answer = _Answer(quotas, context)
        context.wait_for = answer.wait_for
        response = handle(services, context, request)
        answer.is_given_later()

        def finish(response: Any) -> Any:
            context.wait_for = None
            if answer.wait_ms is not None:
                _mute(context, answer.wait_ms)
                return response
            wait_ms = answer.time_wait_ms()
            _mute(context, wait_ms)
            return say(response, wait_ms) if wait_ms else response

        return when_done(response, finish)

    return fetch


def _share_fetching(quotas_of: QuotasOf, handle: Handler) -> Handler:
    def share_fetch(services: Services, context: RequestContext, request: ShareFetchRequest) -> Any:
        quotas = quotas_of(context.node_id)
        most = quotas.fetch.most_in_window(context.principal.name, context.client_id)
        request.max_bytes = min(request.max_bytes, most)
        answer = _Answer(quotas, context)
        response = handle(services, context, request)
        answer.is_given_later()

        def finish(response: ShareFetchResponse) -> ShareFetchResponse:
            size = sum(
                24 + sum(64 + len(each.records or b"") for each in topic.partitions)
                for topic in response.responses
            )
            wait_ms = answer.wait_for(size)
            if wait_ms:
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
    """Topics change, or are created because they are asked for. The latter lets no client wait."""
    say = _setter(api)
    strict_since = STRICT_SINCE.get(api.key)

    def mutate(services: Services, context: RequestContext, request: Any) -> Any:
        quotas = quotas_of(context.node_id)
        quota = MutationQuota(
            quotas.mutation,
            context.principal.name,
            context.client_id,
            _now_ms,
            is_strict=strict_since is None or context.api_version >= strict_since,
        )
        context.charge = quota.charge

        def changes_wait_ms(response: Any) -> int:
            context.charge = None
            if strict_since is None:
                return 0
            return max(quota.wait_ms, _controllers_wait_ms(api, response))

        return _measured(
            lambda: handle(services, context, request), quotas, context, changes_wait_ms, say
        )

    return mutate
