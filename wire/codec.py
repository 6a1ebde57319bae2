"""Frames to requests, responses to chunks; and the other way round, for clients, tests and tools.

A frame is what follows the four bytes of length. Everything here is a plain function of bytes and
messages: no version is negotiated, nothing is waited for. Message modules are imported, parsers and
builders are made, when an API and version is first met.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from struct import Struct
from typing import Any

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.compile_build import BUILD_ODDITIES, Builder
from kafkalite.wire.compile_parse import (
    PARSE_ODDITIES,
    Parser,
    TooManyElements,
    compile_parser,
)
from kafkalite.wire.errors import (
    InvalidMessage,
    ProtocolViolation,
    UnsupportedVersion,
    too_many_elements,
)
from kafkalite.wire.fields import MAX_ELEMENTS, InMemory, Records
from kafkalite.wire.headers import RequestHeader, ResponseHeader, response_header_version
from kafkalite.wire.message_codec import build_body, builder_of, parse_body
from kafkalite.wire.schema import Message, message_of

_unpack_header = Struct(">hhih").unpack_from  # key, version, correlation id, length of client id
_pack_header_0 = Struct(">ii").pack
_pack_header_1 = Struct(">iix").pack
_new = object.__new__


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


# What is needed per (key << 16) + version, filled at first use. The second table is for frames that
# are not `bytes`, the third for those in which there is room for too many elements.
_requests: dict[int, tuple[ApiKey, bool, Parser]] = {}
_view_requests: dict[int, tuple[ApiKey, bool, Parser]] = {}
_large_requests: dict[int, tuple[ApiKey, bool, Parser]] = {}
_responses: dict[int, tuple[bool, Builder]] = {}


def decode_request(frame: bytes | bytearray | memoryview) -> Request:
    """A request from its frame. Records are views into the frame, all else is copied.

    Raises UnsupportedVersion for an API or version that we do not
    have, ProtocolViolation for anything that is not as it should be.
    """
    end = len(frame)
    buffer: InMemory = (
        frame if isinstance(frame, bytes) and end <= MAX_ELEMENTS else memoryview(frame)
    )
    try:
        api_key, version, correlation_id, size = _unpack_header(buffer)
    except struct.error:
        raise _bad_header(buffer) from None
    if type(buffer) is bytes:
        table = _requests
    else:
        table = _view_requests if end <= MAX_ELEMENTS else _large_requests
    found = table.get((api_key << 16) + version)
    if found is None:
        found = _add_request(table, buffer)
    try:
        request = _new(Request)
        request.api_key, flexible, parse = found
        request.api_version = version
        request.correlation_id = correlation_id
        if size >= 0:
            position = 10 + size
            request.client_id = str(buffer[10:position], "utf-8")
        elif size == -1:
            position = 10
            request.client_id = None
        else:
            raise _bad_header(buffer)
        if flexible:
            if buffer[position]:
                return _decode_declared(buffer)
            position += 1
        request.body = parse(buffer, position, end)
    except PARSE_ODDITIES:
        pass  # not here: the exception would keep what was parsed so far
    except TooManyElements:
        raise too_many_elements(request_class(api_key).__name__) from None
    else:
        return request
    return _decode_declared(buffer)


def _add_request(
    table: dict[int, tuple[ApiKey, bool, Parser]], buffer: InMemory
) -> tuple[ApiKey, bool, Parser]:
    api_key, version, _, _ = _unpack_header(buffer)
    message = _message_in(api_key, version, request_class)
    if message is None:
        header, _ = _decode_header(buffer, flexible=False)
        raise UnsupportedVersion(api_key, version, header.correlation_id, header.client_id)
    class_ = request_class(api_key)
    flexible = message.is_flexible(version)
    # Not whole, as Kafka passes over bytes after a request: librdkafka's Metadata request for all
    # topics ends in three too many.
    parse = compile_parser(
        class_,
        version,
        flexible=flexible,
        in_memoryview=table is not _requests,
        whole=False,
        counted=table is _large_requests,
    )
    found = (ApiKey(api_key), flexible, parse)
    table[(api_key << 16) + version] = found
    return found


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


def _decode_declared(buffer: InMemory) -> Request:
    """The whole request by construct."""
    from kafkalite.wire.reference_codec import parse_declared

    api_key, version, _, _ = _unpack_header(buffer)
    flexible = message_of_api(api_key).is_flexible(version)
    header, position = _decode_header(buffer, flexible=flexible)
    body, _ = parse_declared(request_class(api_key), version, buffer, position, whole=False)
    return Request(ApiKey(api_key), version, header.correlation_id, header.client_id, body)


def encode_response(
    api_key: int, api_version: int, correlation_id: int, body: object
) -> list[Records]:
    """The chunks of a response; the first begins with the length of all of them.

    Records are chunks of their own, the very objects that were in the message. Raises InvalidMessage.
    """
    found = _responses.get((api_key << 16) + api_version)
    if found is None:
        found = _add_response(api_key, api_version)
    has_tags, build = found
    parts: list[bytes] = []
    chunks: list[Records] = []
    try:
        build(body, parts, chunks)
        last = b"".join(parts)
    except BUILD_ODDITIES:
        chunks = build_body(body, api_version)
        last = b""
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


def _add_response(api_key: int, version: int) -> tuple[bool, Builder]:
    message = _message_in(api_key, version, response_class)
    if message is None:
        raise InvalidMessage(f"API {api_key} has no version {version} here")
    has_tags = response_header_version(api_key, message.is_flexible(version)) == 1
    found = (has_tags, builder_of(response_class(api_key), version))
    _responses[(api_key << 16) + version] = found
    return found


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
