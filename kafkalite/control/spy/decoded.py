"""Entries of the ring, decoded when somebody looks at them.

What cannot be decoded is said, with the field and the byte. Of a Produce that was not kept as a
whole, all is shown but the records that are missing.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast
from uuid import UUID

from kafkalite.control.faults.matching import API_NAMES
from kafkalite.control.secrets import without_secrets
from kafkalite.control.sightings import RequestView
from kafkalite.control.spy.cluster_times import ClusterTimes
from kafkalite.control.spy.jsonable import message_as_json
from kafkalite.control.spy.ring import LENGTH_BYTES, Entry
from kafkalite.requests.names import TopicName, class_of, listed, names_in, shown_topic
from kafkalite.requests.slices import WaitingSteps
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import Request, decode_request, decode_response
from kafkalite.wire.errors import ErrorCode, Malformed, ProtocolViolation
from kafkalite.wire.headers import read_header
from kafkalite.wire.schema import FIELDS, fields_of

Parts = Sequence[bytes | int]
Join = Callable[[Parts], memoryview]

_LEADING_TO_ERRORS: Final[dict[type[Any], tuple[str, ...]]] = {}
_KNOWN_CODES: Final = frozenset(ErrorCode)
# A larger frame has memory of its own.
_SCRATCH_BYTES: Final = 16 << 20
# To decode more than this takes milliseconds.
_LARGE_BYTES: Final = 65_536
_NOT_KEPT: Final = "not all of it was kept: the spy keeps whole requests in the mode full"


@dataclass(frozen=True, slots=True)
class Header:
    """The first fields of a frame; `api` is a number where the API is unknown."""

    api: str
    version: int
    correlation_id: int
    client_id: str


def header_of(entry: Entry) -> Header:
    """The header of a request, as far as there is one."""
    frame = entry.frame
    try:
        key, version, correlation_id, size = read_header(frame)
    except Malformed:
        return Header("", -1, -1, "")
    name = API_NAMES[ApiKey(key)] if key in API_NAMES else str(key)
    client_id = frame[10 : 10 + max(size, 0)].decode("utf-8", "replace")
    return Header(name, version, correlation_id, client_id)


class Decoded:
    """A request and its answer as messages, and what is wrong with them."""

    def __init__(self, entry: Entry, join: Join | None = None) -> None:
        """`join` puts the parts of a frame together; `whole` unless given."""
        self._entry = entry
        self._join = whole if join is None else join
        self.problem: str | None = None
        self.request = self._request()
        self.answer = None if self.request is None else self._answer(self.request)

    def _request(self) -> Request | None:
        entry, frame = self._entry, self._entry.frame
        missing = entry.request_bytes - len(frame)
        try:
            request = decode_request(self._join((frame, missing)) if missing else frame)
        except ProtocolViolation as error:
            self.problem = _NOT_KEPT if entry.is_truncated else str(error)
            return None
        if entry.is_truncated:
            if request.api_key is not ApiKey.PRODUCE:
                self.problem = _NOT_KEPT
                return None
            _forget_what_is_missing(request.body)
        return request

    def _answer(self, request: Request) -> Any:
        chunks = self._entry.answer
        if not chunks:
            return None
        try:
            version = request.api_version
            _, answer = decode_response(request.api_key, version, whole(chunks)[LENGTH_BYTES:])
        except (ProtocolViolation, KeyError) as error:
            self.problem = f"the answer: {error}"
            return None
        return answer

    def topics(self, topic_name: TopicName) -> list[str]:
        """The topics that are named in the request, and in the answer to a Fetch."""
        if self.request is None:
            return []
        names = names_in(self.request.body, self.request.api_version)
        found: list[str | UUID] = [topic for topic, _ in names.places]
        if self.request.api_key is ApiKey.FETCH and self.answer is not None:
            answer = names_in(self.answer, self.request.api_version)
            found += [topic for topic, _ in answer.places]
        shown = (shown_topic(each, topic_name) for each in found)
        return [each for each in dict.fromkeys(shown) if each]

    def errors(self) -> list[str]:
        """The errors in the answer, each once, by Kafka's names."""
        return [
            ErrorCode(code).name if code in _KNOWN_CODES else str(code)
            for code in dict.fromkeys(error_codes(self.answer))
        ]


def whole(parts: Parts) -> memoryview:
    """The parts in one piece, zeros in the place of so many bytes that were not kept.

    The system gives memory to a page when it is first written to, so zeros cost next to nothing.
    """
    if all(isinstance(each, bytes) for each in parts):
        return memoryview(b"".join(cast("Sequence[bytes]", parts)))
    size = sum(each if isinstance(each, int) else len(each) for each in parts)
    memory = memoryview(mmap.mmap(-1, max(size, 1)))[:size]
    position = 0
    for each in parts:
        if isinstance(each, int):
            position += each
        else:
            memory[position : position + len(each)] = each
            position += len(each)
    return memory.toreadonly()


class Scratch:
    """Memory for one frame after the other: to map some for each takes longer than to decode it.

    What is made of a frame must be gone before the next one is put together.
    """

    def __init__(self) -> None:
        self._memory: memoryview | None = None
        self._head_bytes = 0

    def whole(self, parts: Parts) -> memoryview:
        """The parts in one piece: see the function of this name."""
        head, missing = parts if len(parts) == 2 else (b"", None)
        if not isinstance(head, bytes) or not isinstance(missing, int):
            return whole(parts)
        size = len(head) + missing
        if size > _SCRATCH_BYTES:
            return whole(parts)
        if self._memory is None:
            self._memory = memoryview(mmap.mmap(-1, _SCRATCH_BYTES))
        memory = self._memory
        memory[: len(head)] = head
        if len(head) < self._head_bytes:
            memory[len(head) : self._head_bytes] = bytes(self._head_bytes - len(head))
        self._head_bytes = len(head)
        return memory[:size].toreadonly()


_scratch: Final = Scratch()


def _forget_what_is_missing(body: Any) -> None:
    """Take out what was made of the zeros that stand for the bytes that were not kept."""
    for topic in body.topic_data:
        topic.partition_data = [each for each in topic.partition_data if each.records is not None]
    body.topic_data = [topic for topic in body.topic_data if topic.partition_data]


def error_codes(message: Any) -> Iterator[Any]:
    """Every error code in a message that is not NONE, in their order."""
    several = listed(message)
    if several is not None:
        for each in several:
            yield from error_codes(each)
    elif hasattr(message, FIELDS):
        for name in _leading_to_errors(class_of(message)):
            value = getattr(message, name)
            if name != "error_code":
                yield from error_codes(value)
            elif value:
                yield value


def _leading_to_errors(message: type[Any]) -> tuple[str, ...]:
    """The fields of a message that have an error code, or are one; found out once."""
    if message not in _LEADING_TO_ERRORS:
        _LEADING_TO_ERRORS[message] = tuple(
            field.name
            for field in fields_of(message)
            if field.name == "error_code"
            or (isinstance(field.element, type) and _leading_to_errors(field.element))
        )
    return _LEADING_TO_ERRORS[message]


def summarize(entry: Entry, topic_name: TopicName, join: Join | None = None) -> Decoded | None:
    """Find out topics and errors of an entry that is done, once."""
    if entry.topics is not None:
        return None
    decoded = Decoded(entry, join)
    topics = decoded.topics(topic_name)
    if entry.outcome != "waiting":
        entry.topics, entry.errors = topics, decoded.errors()
    return decoded


def viewing(
    entry: Entry, topic_name: TopicName, times: ClusterTimes, *, bodies: bool
) -> WaitingSteps[RequestView]:
    """An entry as it is shown, with request and answer if `bodies`. A thread decodes a large
    one."""
    if entry.size < _LARGE_BYTES:
        return view_of(entry, topic_name, times, bodies=bodies, join=_scratch.whole)
    found: list[RequestView] = []
    yield lambda: found.append(view_of(entry, topic_name, times, bodies=bodies))
    return found[0]


def view_of(
    entry: Entry,
    topic_name: TopicName,
    times: ClusterTimes,
    *,
    bodies: bool,
    join: Join | None = None,
) -> RequestView:
    """An entry as it is shown, with request and answer if `bodies`: those outlive `join`'s
    memory."""
    decoded = summarize(entry, topic_name, None if bodies else join)
    if decoded is None and bodies:
        decoded = Decoded(entry)
    header = header_of(entry)
    context = entry.context
    return RequestView(
        seq=entry.seq,
        connection=f"{entry.client[0]}:{entry.client[1]}",
        client_id=header.client_id,
        api=header.api,
        version=header.version,
        correlation_id=header.correlation_id,
        received_ms=entry.received_ns / 1e6,
        cluster_ms=times.at(entry.received_ns),
        answered_ms=entry.answered_ns / 1e6 if entry.answered_ns else None,
        parked_ms=_parked_ms(entry),
        request_bytes=entry.request_bytes,
        answer_bytes=max(0, entry.answer_bytes - LENGTH_BYTES),
        outcome="silent" if context is not None and context.is_silent else entry.outcome,
        error=entry.errors[0] if entry.errors else None,
        errors=entry.errors,
        topics=decoded.topics(topic_name)
        if entry.topics is None and decoded
        else entry.topics or [],
        fault=(entry.fault if context is None else context.fault) or None,
        why=entry.why,
        truncated=entry.is_truncated,
        software="/".join(entry.software),
        node=entry.node,
        listener="" if entry.listener is None else entry.listener.name,
        **(_bodies(decoded, entry) if bodies and decoded is not None else {}),
    )


def _parked_ms(entry: Entry) -> float | None:
    if not entry.parked_ns or not entry.answered_ns:
        return None
    return (entry.answered_ns - entry.parked_ns) / 1e6


def _bodies(decoded: Decoded, entry: Entry) -> dict[str, Any]:
    request, answer = decoded.request, decoded.answer
    shown: dict[str, Any] = {"undecodable": decoded.problem}
    if request is not None:
        shown["request"] = message_as_json(without_secrets(request.body), request.api_version)
        if entry.is_truncated:
            _mark_cut_batches(shown["request"])
        if answer is not None:
            shown["answer"] = message_as_json(without_secrets(answer), request.api_version)
    return shown


def _mark_cut_batches(request: dict[str, Any]) -> None:
    for topic in request["topic_data"]:
        for partition in topic["partition_data"]:
            for batch in partition["records"]:
                if not batch.get("crc_valid", True):
                    del batch["crc_valid"]
                    batch.pop("records", None)
                    batch["problem"] = _NOT_KEPT
