"""Counters of requests, errors and durations.

`RequestMetrics.count` is a gate of the dispatcher (server/gates.py): a handler around the handler
of each API. A broker without metrics has no such gate. The counters are plain integers: everything
happens in one event loop.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import repeat
from operator import attrgetter, itemgetter
from struct import Struct
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Final

import trio

from kafkalite.apis import Api, Handler
from kafkalite.metrics.readings import Distribution, Readings
from kafkalite.requests.context import CloseConnection, RequestContext
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.api_messages import response_class
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.rows import row_of
from kafkalite.wire.schema import Shape, fields_of

if TYPE_CHECKING:
    from uuid import UUID

    from kafkalite.replica.topics import Topics
    from kafkalite.services import Services
    from kafkalite.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
    from kafkalite.wire.messages.fetch import FetchRequestRow, FetchResponseRow
    from kafkalite.wire.messages.produce import ProduceRequestRow, ProduceResponseRow

# The number of its records, at byte 57 of a batch.
_unpack_record_count: Final = Struct(">i").unpack_from
# A connection closed because it can be told nothing: a Produce with acks=0 failed.
_NO_ANSWER: Final = "CONNECTION_CLOSED"
# The beginning of a partition's row: index and error code.
_NO_ERROR: Final = (0, 0)

# By error code, or by another word where there is none.
Errors = Counter[int | str]
ErrorCounter = Callable[[Any, Errors], None]
_ERROR_COUNTERS: Final[dict[type[Any], ErrorCounter]] = {}


class TopicTraffic:
    """Bytes and records that producers wrote to a topic, and bytes that consumers were given."""

    __slots__ = ("received_bytes", "received_records", "sent_bytes")

    def __init__(self) -> None:
        self.received_bytes = 0
        self.received_records = 0
        self.sent_bytes = 0


class RequestMetrics:
    """Counters of one broker's requests."""

    def __init__(self) -> None:
        self._durations: dict[str, Distribution] = {}
        self._errors: dict[str, Errors] = {}
        self._traffic: dict[str, TopicTraffic] = {}
        self._ended: Counter[str] = Counter()

    def count(self, api: Api, handle: Handler) -> Handler:
        """A handler that responds as `handle` does, and counts."""
        name = api_name(api.key)
        durations = self._durations[name] = Distribution()
        errors = self._errors[name] = Counter()
        counters: dict[ApiKey, Callable[[Topics, Any, Any, Errors], None]] = {
            ApiKey.PRODUCE: self._count_produced,
            ApiKey.FETCH: self._count_fetched,
            ApiKey.END_TXN: self._count_ended,
        }
        count = counters.get(api.key, _row_errors_of(api.key) if api.rows else _count_errors)
        now = trio.current_time

        def counted(services: Services, context: RequestContext, request: Any) -> Any:
            try:
                response = handle(services, context, request)
            except CloseConnection:
                errors[_NO_ANSWER] += 1
                raise
            if isinstance(response, CoroutineType):
                return counted_later(services, context, request, response)
            count(services.topics, request, response, errors)
            durations.add(now() - context.received_at)
            return response

        async def counted_later(
            services: Services, context: RequestContext, request: Any, handling: Any
        ) -> Any:
            try:
                response = await handling
            except CloseConnection:
                errors[_NO_ANSWER] += 1
                raise
            count(services.topics, request, response, errors)
            durations.add(now() - context.received_at)
            return response

        return counted

    def _count_produced(
        self,
        topics: Topics,
        request: ProduceRequestRow,
        response: ProduceResponseRow | None,
        errors: Errors,
    ) -> None:
        answered = None if response is None else iter(response[0])
        for name, topic_id, partitions in request[3]:
            if not partitions:
                continue  # the response does not name the topic
            size = count = 0
            # Without a response all went well.
            rows: Iterable[Any] = repeat(_NO_ERROR) if answered is None else next(answered)[2]
            for (_, records), row in zip(partitions, rows, strict=False):
                code: int = row[1]
                if code:
                    errors[code] += 1
                elif records is not None:
                    size += len(records)
                    count += _unpack_record_count(records, 57)[0]
            if size:
                traffic = self._traffic_of(topics, name, topic_id)
                if traffic is not None:
                    traffic.received_bytes += size
                    traffic.received_records += count

    def _count_fetched(
        self,
        topics: Topics,
        request: FetchRequestRow,
        response: FetchResponseRow,
        errors: Errors,
    ) -> None:
        _, code, _, responses, _ = row_of(response)
        if code:
            errors[code] += 1
        for name, topic_id, rows in responses:
            size = 0
            for row in rows:
                size += len(row[10] or b"")
                if row[1]:
                    errors[row[1]] += 1
            if size:
                traffic = self._traffic_of(topics, name, topic_id)
                if traffic is not None:
                    traffic.sent_bytes += size

    def _count_ended(
        self, topics: Topics, request: EndTxnRequest, response: EndTxnResponse, errors: Errors
    ) -> None:
        if response.error_code:
            errors[response.error_code] += 1
        else:
            self._ended["committed" if request.committed else "aborted"] += 1

    def _traffic_of(self, topics: Topics, name: str | None, topic_id: UUID) -> TopicTraffic | None:
        """None for a topic that does not exist: its name may be anybody's, and there is no end of
        them."""
        if not name:
            topic = topics.by_id(topic_id)
            if topic is None:
                return None
            name = topic.name
        traffic = self._traffic.get(name)
        if traffic is None and topics.get(name) is not None:
            traffic = self._traffic[name] = TopicTraffic()
        return traffic

    def read(self, topics: Topics, readings: Readings) -> None:
        """Put down all counters; those of topics that are gone are forgotten."""
        for api, durations in self._durations.items():
            readings.put("kafkalite_requests_total", sum(durations.counts), api)
            readings.put_distribution("kafkalite_request_duration_seconds", durations, api)
            for error, count in self._errors[api].items():
                word = error if isinstance(error, str) else ErrorCode(error).name
                readings.put("kafkalite_request_errors_total", count, api, word)
        for topic in [name for name in self._traffic if topics.get(name) is None]:
            del self._traffic[topic]
        for topic, traffic in self._traffic.items():
            readings.put("kafkalite_topic_received_bytes_total", traffic.received_bytes, topic)
            readings.put("kafkalite_topic_received_records_total", traffic.received_records, topic)
            readings.put("kafkalite_topic_sent_bytes_total", traffic.sent_bytes, topic)
        for outcome in ("committed", "aborted"):
            readings.put("kafkalite_transactions_ended_total", self._ended[outcome], outcome)


def api_name(key: ApiKey) -> str:
    """The API's name as Kafka writes it: DescribeConfigs."""
    return "".join(word.capitalize() for word in key.name.split("_"))


def _count_errors(topics: Topics, request: Any, response: Any, errors: Errors) -> None:
    if response is not None:
        _error_counter(response.__class__)(response, errors)


def error_codes(response: Any) -> Errors:
    """Every error code in a response that is not NONE, wherever it stands, and how often."""
    errors: Errors = Counter()
    _error_counter(response.__class__)(response, errors)
    return errors


def _row_errors_of(key: ApiKey) -> Callable[[Topics, Any, Any, Errors], None]:
    """`_count_errors` for responses that are rows."""
    count_errors = _make_error_counter(response_class(key), rows=True)

    def count(topics: Topics, request: Any, response: Any, errors: Errors) -> None:
        if response is not None:
            count_errors(row_of(response), errors)

    return count


def _error_counter(struct: type[Any]) -> ErrorCounter:
    counter = _ERROR_COUNTERS.get(struct)
    if counter is None:
        counter = _ERROR_COUNTERS[struct] = _make_error_counter(struct, rows=False)
    return counter


def _make_error_counter(struct: type[Any], *, rows: bool) -> ErrorCounter:
    """From the declaration of a response: it looks only where there is an error code."""
    code_of: Callable[[Any], int] | None = None
    inner: list[tuple[Callable[[Any], Any], bool, ErrorCounter]] = []
    for position, field in enumerate(fields_of(struct)):
        value_of = itemgetter(position) if rows else attrgetter(field.name)
        if field.name == "error_code":
            code_of = value_of
        elif isinstance(field.element, type) and _has_error_code(field.element):
            counter = _make_error_counter(field.element, rows=rows)
            inner.append((value_of, field.shape is Shape.ARRAY, counter))

    def count(message: Any, errors: Errors) -> None:
        if code_of is not None and (code := code_of(message)):
            errors[code] += 1
        for value_of, is_array, count_inner in inner:
            value = value_of(message)
            if is_array:
                for item in value or ():
                    count_inner(item, errors)
            elif value is not None:
                count_inner(value, errors)

    return count


def _has_error_code(struct: type[Any]) -> bool:
    return any(
        field.name == "error_code"
        or (isinstance(field.element, type) and _has_error_code(field.element))
        for field in fields_of(struct)
    )
