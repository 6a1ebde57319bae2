"""Counters of requests, errors and durations.

`RequestMetrics.count` is a gate of the dispatcher (server/gates.py): a handler around the handler
of each API. A broker without metrics has no such gate. The counters are plain integers: everything
happens in one event loop.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import trio

from kafkalite.apis import Api, Handler
from kafkalite.metrics.error_counts import (
    Errors,
    ResponseCounter,
    counter_in_steps,
    counter_of_messages,
    response_counter,
)
from kafkalite.metrics.readings import Distribution, Readings
from kafkalite.requests.context import CloseConnection, RequestContext
from kafkalite.requests.slices import Steps, cut, has_many, in_slices
from kafkalite.requests.suspension import has_to_wait
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.rows import row_of

if TYPE_CHECKING:
    from kafkalite.replica.topics import Topics
    from kafkalite.services import Services
    from kafkalite.wire.messages.end_txn import EndTxnRequestRow, EndTxnResponseRow
    from kafkalite.wire.messages.fetch import FetchRequestRow, FetchResponseRow

# A connection closed because it can be told nothing: a Produce with acks=0 failed.
_NO_ANSWER: Final = "CONNECTION_CLOSED"


class RequestMetrics:
    """Counters of one broker's requests."""

    def __init__(self) -> None:
        self._durations: dict[str, Distribution] = {}
        self._errors: dict[str, Errors] = {}
        # Bytes that consumers were given, by the name of the topic.
        self._sent_bytes: dict[str, int] = {}
        self._ended: Counter[str] = Counter()

    def count(self, api: Api, handle: Handler) -> Handler:
        """A handler that responds as `handle` does, and counts."""
        name = api_name(api.key)
        durations = self._durations[name] = Distribution()
        errors = self._errors[name] = Counter()
        counters: dict[ApiKey, ResponseCounter] = {
            ApiKey.FETCH: self._count_fetched,
            ApiKey.END_TXN: self._count_ended,
        }
        count = counters.get(api.key, _errors_of(api))
        now, add = trio.lowlevel.current_clock().current_time, durations.add

        def counted(services: Services, context: RequestContext, request: Any) -> Any:
            try:
                response = handle(services, context, request)
            except CloseConnection:
                errors[_NO_ANSWER] += 1
                raise
            if has_to_wait(response):
                return counted_later(services, context, request, response)
            count(response, errors, services, request)
            add(now() - context.received_at)
            return response

        async def counted_later(
            services: Services, context: RequestContext, request: Any, handling: Any
        ) -> Any:
            try:
                response = await handling
            except CloseConnection:
                errors[_NO_ANSWER] += 1
                raise
            if has_many(row_of(response)):
                steps = self._counting(api, services, request, response, errors)
                await in_slices(steps, context)
            else:
                count(response, errors, services, request)
            add(now() - context.received_at)
            return response

        return counted

    def _counting(
        self, api: Api, services: Services, request: Any, response: Any, errors: Errors
    ) -> Steps[None]:
        """Count what is in a huge response, in steps."""
        if api.key is not ApiKey.FETCH:
            yield from counter_in_steps(api.key, rows=api.rows)(row_of(response), errors)
            return
        wait_ms, code, session_id, responses, leaders = row_of(response)
        for name, topic_id, rows in responses:
            for some in cut(rows):
                part = wait_ms, 0, session_id, [(name, topic_id, some)], leaders
                self._count_fetched(part, errors, services, request)
                yield
        if code:
            errors[code] += 1

    def _count_fetched(
        self,
        response: FetchResponseRow,
        errors: Errors,
        services: Services,
        request: FetchRequestRow,
    ) -> None:
        _, code, _, responses, _ = row_of(response)
        if code:
            errors[code] += 1
        for name, topic_id, rows in responses:
            size = 0
            for row in rows:
                records = row[10]
                if records:
                    size += len(records)
                if row[1]:
                    errors[row[1]] += 1
            if size:
                if not name:
                    name = services.topics.name_of(topic_id) or ""
                self._sent_bytes[name] = self._sent_bytes.get(name, 0) + size

    def _count_ended(
        self,
        response: EndTxnResponseRow,
        errors: Errors,
        services: Services,
        request: EndTxnRequestRow,
    ) -> None:
        _, code, _, _ = row_of(response)
        if code:
            errors[code] += 1
        else:
            _, _, _, is_commit = request
            self._ended["committed" if is_commit else "aborted"] += 1

    def read(self, topics: Topics, readings: Readings) -> None:
        """Put down all counters; those of topics that are gone are forgotten."""
        for api, durations in self._durations.items():
            readings.put("kafkalite_requests_total", sum(durations.counts), api)
            readings.put_distribution("kafkalite_request_duration_seconds", durations, api)
            for error, count in self._errors[api].items():
                word = error if isinstance(error, str) else ErrorCode(error).name
                readings.put("kafkalite_request_errors_total", count, api, word)
        for topic in [name for name in self._sent_bytes if topics.get(name) is None]:
            del self._sent_bytes[topic]
        for topic, size in self._sent_bytes.items():
            readings.put("kafkalite_topic_sent_bytes_total", size, topic)
        for outcome in ("committed", "aborted"):
            readings.put("kafkalite_transactions_ended_total", self._ended[outcome], outcome)


def api_name(key: ApiKey) -> str:
    """The API's name as Kafka writes it: DescribeConfigs."""
    return "".join(word.capitalize() for word in key.name.split("_"))


def _errors_of(api: Api) -> ResponseCounter:
    if api.rows:
        return response_counter(api.key)

    def count(response: Any, errors: Errors, services: Services, request: Any) -> None:
        if response is not None:
            counter_of_messages(response.__class__)(response, errors)

    return count
