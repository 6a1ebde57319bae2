"""Frames to requests, responses to chunks; and the other way round, for clients, tests and tools.

A frame is what follows the four bytes of length. Everything here is a plain function of bytes and
messages: no version is negotiated, nothing is waited for. Message modules are imported, parsers and
builders are made, when an API and version is first met.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from struct import Struct
from typing import Any, Final, TypeVar, cast

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.compile_build import BUILD_ODDITIES, Builder, compile_builder
from kafkalite.wire.compile_parse import Mode, Parser, compile_parser
from kafkalite.wire.compile_rows import compile_row_builder, compile_row_parser
from kafkalite.wire.errors import (
    InvalidMessage,
    Malformed,
    ProtocolViolation,
    UnsupportedVersion,
    too_many_elements,
)
from kafkalite.wire.fields import InMemory, Records
from kafkalite.wire.headers import RequestHeader, ResponseHeader, response_header_version
from kafkalite.wire.message_codec import build_body, parse_body
from kafkalite.wire.parse_support import (
    PARSE_ODDITIES,
    ManyElements,
    Odd,
    TooManyElements,
    skip_tags,
)
from kafkalite.wire.rows import SharedResponse, message_of_row
from kafkalite.wire.schema import Message, message_of

_unpack_header = Struct(">hhih").unpack_from  # key, version, correlation id, length of client id
# Frames up to here are parsed in one go, whatever they are made of: an element takes a byte at least.
_MOST_BYTES_OF_FEW_ELEMENTS: Final = 4096
# Parts of a huge response that are joined to one chunk.
_PARTS_AT_ONCE: Final = 2048
# Larger ones are not worth explaining: it takes 50 microseconds for every element.
_MOST_BYTES_TO_EXPLAIN: Final = 65536

T = TypeVar("T")

_pack_header_0 = Struct(">ii").pack
_pack_header_1 = Struct(">iix").pack


@dataclass(slots=True)
class Request:
    """A request as it came: what the header says, and the typed body."""

    api_key: ApiKey
    api_version: int
    correlation_id: int
    client_id: str | None
    body: Any


@cache
def request_class(api_key: int) -> type[Any]:
    """The class of an API's requests; raises KeyError where there is none."""
    return _message_class(api_key, "Request")


@cache
def response_class(api_key: int) -> type[Any]:
    """The class of an API's responses; raises KeyError where there is none."""
    return _message_class(api_key, "Response")


def _message_class(api_key: int, suffix: str) -> type[Any]:
    try:
        name = ApiKey(api_key).name
        module = import_module(f"kafkalite.wire.messages.{name.lower()}")
    except (ValueError, ModuleNotFoundError):
        raise KeyError(api_key) from None
    class_: type[Any] = getattr(module, name.title().replace("_", "") + suffix)
    return class_


def message_of_api(api_key: int) -> Message:
    """The versions of an API, and the first flexible one; raises KeyError where there is none."""
    return message_of(request_class(api_key))


def _message_in(api_key: int, version: int, class_of: Callable[[int], type[Any]]) -> Message | None:
    """What is declared of a message, if there is one in this version."""
    try:
        message = message_of(class_of(api_key))
    except KeyError:
        return None
    return message if message.min_version <= version <= message.max_version else None


class ApiCodec:
    """Reads the requests of one API in one version, and writes its responses: as messages or rows."""

    __slots__ = (
        "_build",
        "_build_slowly",
        "_parse_bytes",
        "_parse_slowly",
        "_parse_view",
        "_response_has_tags",
        "api_key",
        "api_version",
        "flexible",
        "rows",
    )

    def __init__(self, api_key: int, api_version: int, *, rows: bool = False) -> None:
        """Raises KeyError for an API or version that nobody knows."""
        message = _message_in(api_key, api_version, request_class)
        if message is None:
            raise KeyError(api_key)
        self.api_key = ApiKey(api_key)
        self.api_version = api_version
        self.flexible = message.is_flexible(api_version)
        self.rows = rows
        # Made at the first use. Views are large frames; the slow parser is for odd and huge ones.
        self._parse_bytes: Parser | None = None
        self._parse_view: Parser | None = None
        self._parse_slowly: Parser | None = None
        self._build: Builder | None = None
        self._build_slowly: Builder | None = None
        self._response_has_tags = False

    def parse(self, frame: InMemory, client_id_size: int) -> tuple[str | None, Any]:
        """Client id and body of a request of this API and version.

        Records are views into the frame, all else is copied. Raises Malformed; ManyElements where
        `parse_in_slices` is to be asked.
        """
        end = len(frame)
        try:
            if client_id_size >= 0:
                position = 10 + client_id_size
                client_id = str(frame[10:position], "utf-8")
            else:
                position = 10
                client_id = None
            if self.flexible:
                if client_id_size < -1 or frame[position]:
                    raise Odd
                position += 1
            parse = self._parse_bytes if type(frame) is bytes else self._parse_view
            body = (parse or self._make_parser(frame))(frame, position, end)
        except PARSE_ODDITIES:
            pass  # not here: the exception would keep what was parsed so far
        else:
            return client_id, body
        return drained(self.parse_in_slices(frame))

    def _make_parser(self, frame: InMemory) -> Parser:
        if type(frame) is bytes:
            found = self._parse_bytes = self._compile(in_memoryview=False, mode=Mode.FAST)
        else:
            found = self._parse_view = self._compile(in_memoryview=True, mode=Mode.COUNTED)
        return found

    def _compile(self, *, in_memoryview: bool, mode: Mode) -> Parser:
        # Not whole, as Kafka passes over bytes after a request: librdkafka's Metadata request for all
        # topics ends in three too many.
        return (compile_row_parser if self.rows else compile_parser)(
            request_class(self.api_key),
            self.api_version,
            flexible=self.flexible,
            in_memoryview=in_memoryview,
            whole=False,
            mode=mode,
        )

    def parse_in_slices(self, frame: InMemory) -> Generator[None, None, tuple[str | None, Any]]:
        """As `parse`, for any frame, yielding after a few hundred elements."""
        view = memoryview(frame)
        slowly = self._parse_slowly
        if slowly is None:
            slowly = self._parse_slowly = self._compile(in_memoryview=True, mode=Mode.SLOW)
        try:
            client_id, position = self._odd_header(view)
            body = yield from slowly(view, position, len(view))
        except PARSE_ODDITIES:
            pass
        except TooManyElements:
            raise too_many_elements(request_class(self.api_key).__name__) from None
        else:
            return client_id, body
        raise Malformed(f"{request_class(self.api_key).__name__} is malformed")

    def _odd_header(self, view: memoryview) -> tuple[str | None, int]:
        """Client id, malformed text or not, and the position after the header with its tags."""
        size = _unpack_header(view)[3]
        position = 10 + max(size, 0)
        if size < -1 or position > len(view):
            raise Odd
        client_id = str(view[10:position], "utf-8", "replace") if size >= 0 else None
        if self.flexible:
            count = view[position]
            position = skip_tags(view, count, position + 1, len(view))
        return client_id, position

    def explain(self, frame: InMemory) -> ProtocolViolation:
        """What is wrong with a malformed frame, and where. It may take its time: in a thread."""
        if len(frame) > _MOST_BYTES_TO_EXPLAIN:
            return Malformed(f"{request_class(self.api_key).__name__} is malformed")
        from kafkalite.wire.reference_codec import parse_declared

        try:
            _, position = _decode_header(frame, flexible=self.flexible)
            parse_declared(
                request_class(self.api_key), self.api_version, frame, position, whole=False
            )
        except ProtocolViolation as error:
            return error
        return Malformed(f"{request_class(self.api_key).__name__} is malformed")

    def build(self, correlation_id: int, response: object) -> list[Records]:
        """The chunks of a response; the first begins with the length of all of them.

        Records are chunks of their own, the very objects that were in the message. Raises
        InvalidMessage.
        """
        if type(response) is SharedResponse:
            return self._build_shared(correlation_id, response)
        build = self._build
        if build is None:
            build = self._build = self._make_builder(in_slices=False)
        parts: list[bytes] = []
        chunks: list[Records] = []
        try:
            build(response, parts, chunks)
            last = b"".join(parts)
        except BUILD_ODDITIES:
            chunks = self._build_declared(response)
            last = b""
        return self._framed(correlation_id, chunks, last)

    def build_in_slices(
        self, correlation_id: int, response: object
    ) -> Generator[None, None, list[Records]]:
        """As `build`, yielding after a few hundred elements."""
        if type(response) is SharedResponse:
            response = response.row
        build = self._build_slowly
        if build is None:
            build = self._build_slowly = self._make_builder(in_slices=True)
        parts: list[bytes] = []
        chunks: list[Records] = []
        try:
            for _ in build(response, parts, chunks):
                if len(parts) > _PARTS_AT_ONCE:
                    chunks.append(b"".join(parts))
                    parts.clear()
                yield
            last = b"".join(parts)
        except BUILD_ODDITIES:
            chunks = self._build_declared(response)
            last = b""
        return self._framed(correlation_id, chunks, last)

    def _framed(self, correlation_id: int, chunks: list[Records], last: bytes) -> list[Records]:
        """The chunks with the length of all of them, and the header, before the first."""
        has_tags = self._response_has_tags
        pack = _pack_header_1 if has_tags else _pack_header_0
        if not chunks:
            return [pack(len(last) + 4 + has_tags, correlation_id) + last]
        if last:
            chunks.append(last)
        size = sum(map(len, chunks)) + 4 + has_tags
        first = chunks[0]
        assert isinstance(first, bytes)  # no response begins with records
        chunks[0] = pack(size, correlation_id) + first
        return chunks

    def _build_shared(self, correlation_id: int, response: SharedResponse) -> list[Records]:
        """The same, of a response without records that may have been built before."""
        if response.body is None:
            (whole,) = self.build(correlation_id, response.row)
            assert isinstance(whole, bytes)
            response.body = whole[8:]
        return [_pack_header_0(len(response.body) + 4, correlation_id) + response.body]

    def _make_builder(self, *, in_slices: bool) -> Builder:
        message = _message_in(self.api_key, self.api_version, response_class)
        if message is None:
            raise InvalidMessage(f"API {self.api_key} has no version {self.api_version} here")
        flexible = message.is_flexible(self.api_version)
        self._response_has_tags = response_header_version(self.api_key, flexible) == 1
        return (compile_row_builder if self.rows else compile_builder)(
            response_class(self.api_key), self.api_version, flexible=flexible, in_slices=in_slices
        )

    def _build_declared(self, response: Any) -> list[Records]:
        if self.rows:
            response = message_of_row(response_class(self.api_key), response)
        return build_body(response, self.api_version)


@cache
def codec_of(api_key: int, api_version: int, *, rows: bool = False) -> ApiCodec:
    """The codec of an API in one version; raises KeyError for an API or version that nobody knows."""
    return ApiCodec(api_key, api_version, rows=rows)


# The same, by (API key << 16) + version and in messages, for `decode_request` and `encode_response`.
_codecs: dict[int, ApiCodec] = {}


def _codec_of(api_key: int, api_version: int) -> ApiCodec:
    found = _codecs.get((api_key << 16) + api_version)
    if found is None:
        found = _codecs[(api_key << 16) + api_version] = codec_of(api_key, api_version)
    return found


def read_header(frame: InMemory) -> tuple[int, int, int, int]:
    """API key, API version, correlation id and the length of the client id, -1 for null.

    Raises Malformed.
    """
    try:
        return _unpack_header(frame)
    except struct.error:
        raise Malformed(f"a header of 10 bytes expected, {len(frame)} left") from None


def decode_request(frame: bytes | bytearray | memoryview) -> Request:
    """A request from its frame. Records are views into the frame, all else is copied.

    Raises UnsupportedVersion for an API or version that we do not
    have, ProtocolViolation for anything that is not as it should be.
    """
    is_small = isinstance(frame, bytes) and len(frame) <= _MOST_BYTES_OF_FEW_ELEMENTS
    buffer: InMemory = cast(bytes, frame) if is_small else memoryview(frame)
    try:
        api_key, version, correlation_id, client_id_size = read_header(buffer)
    except Malformed:
        raise _bad_header(buffer) from None
    try:
        codec = _codec_of(api_key, version)
    except KeyError:
        header, _ = _decode_header(buffer, flexible=False)
        raise UnsupportedVersion(api_key, version, correlation_id, header.client_id) from None
    try:
        try:
            client_id, body = codec.parse(buffer, client_id_size)
        except ManyElements:
            client_id, body = drained(codec.parse_in_slices(buffer))
    except Malformed:
        raise codec.explain(buffer) from None
    return Request(codec.api_key, version, correlation_id, client_id, body)


def drained(steps: Generator[None, None, T]) -> T:
    """What a generator returns in the end."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            value: T = done.value
            return value


def _decode_header(buffer: InMemory, *, flexible: bool) -> tuple[RequestHeader, int]:
    """The header by construct, and the position after it."""
    from kafkalite.wire.reference_codec import parse_declared

    return parse_declared(RequestHeader, 2 if flexible else 1, buffer, whole=False)


def _bad_header(buffer: InMemory) -> ProtocolViolation:
    try:
        _decode_header(buffer, flexible=False)
    except ProtocolViolation as error:
        return error
    return ProtocolViolation("unreadable header", field_path="RequestHeader")


def encode_response(
    api_key: int, api_version: int, correlation_id: int, body: object
) -> list[Records]:
    """The chunks of a response; the first begins with the length of all of them.

    Records are chunks of their own, the very objects that were in the message. Raises InvalidMessage.
    """
    try:
        codec = _codec_of(api_key, api_version)
    except KeyError:
        raise InvalidMessage(f"API {api_key} has no version {api_version} here") from None
    return codec.build(correlation_id, body)


def encode_request(
    api_key: int, api_version: int, correlation_id: int, client_id: str | None, body: object
) -> list[Records]:
    """The chunks of a request; the first begins with the length of all of them."""
    message = message_of(type(body))
    if not message.min_version <= api_version <= message.max_version or message.key != api_key:
        raise InvalidMessage(f"API {api_key} has no version {api_version} of {type(body).__name__}")
    header = RequestHeader(api_key, api_version, correlation_id, client_id)
    chunks = build_body(header, 2 if message.is_flexible(api_version) else 1)
    chunks += build_body(body, api_version)
    return [sum(map(len, chunks)).to_bytes(4, "big"), *chunks]


def decode_response(
    api_key: int, api_version: int, frame: bytes | bytearray | memoryview
) -> tuple[int, Any]:
    """Correlation id and message of a response; raises ProtocolViolation."""
    buffer: InMemory = frame if isinstance(frame, bytes) else memoryview(frame)
    class_ = response_class(api_key)
    flexible = message_of(class_).is_flexible(api_version)
    version = response_header_version(api_key, flexible)
    if len(buffer) > 4 and not (version and buffer[4]):
        correlation_id = int.from_bytes(buffer[:4], "big", signed=True)
        return correlation_id, parse_body(class_, api_version, buffer, 4 + version)
    from kafkalite.wire.reference_codec import parse_declared

    header, position = parse_declared(ResponseHeader, version, buffer, whole=False)
    return header.correlation_id, parse_body(class_, api_version, buffer, position)
