"""Frames to requests, responses to chunks; and the other way round, for clients, tests and tools.

A frame is what follows the four bytes of length. Every function here is a plain function of bytes
and messages: it negotiates no version, and it waits for nothing.
"""

from __future__ import annotations

from typing import Any, Final, cast

from msgspec import Struct

from kafkalite.wire.api_codec import ApiCodec, codec_of, drained
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.api_messages import response_class
from kafkalite.wire.errors import (
    InvalidMessage,
    Malformed,
    ProtocolViolation,
    Unbuilt,
    UnsupportedVersion,
)
from kafkalite.wire.fields import InMemory, Records
from kafkalite.wire.headers import (
    RequestHeader,
    ResponseHeader,
    decode_header,
    read_header,
    request_header_version,
    response_header_version,
)
from kafkalite.wire.message_codec import build_body, parse_body
from kafkalite.wire.parse_support import ManyElements
from kafkalite.wire.schema import message_of

# Frames up to here are parsed in one go, whatever they are made of: an element takes a byte at
# least.
_MOST_BYTES_OF_FEW_ELEMENTS: Final = 4096


class Request(Struct):
    """A request as it came: what the header says, and the typed body."""

    api_key: ApiKey
    api_version: int
    correlation_id: int
    client_id: str | None
    body: Any


# Codecs of messages by (API key << 16) + version: one look-up is quicker than a call of `codec_of`.
_codecs: dict[int, ApiCodec] = {}


def _codec_of(api_key: int, api_version: int) -> ApiCodec:
    found = _codecs.get((api_key << 16) + api_version)
    if found is None:
        found = _codecs[(api_key << 16) + api_version] = codec_of(api_key, api_version)
    return found


def decode_request(frame: bytes | bytearray | memoryview) -> Request:
    """A request from its frame. Records are views into the frame, all else is copied.

    Raises UnsupportedVersion for an API or version that we do not have, and ProtocolViolation for a
    malformed frame.
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
        header, _ = decode_header(buffer, flexible=False)
        raise UnsupportedVersion(api_key, version, correlation_id, header.client_id) from None
    try:
        try:
            client_id, body = codec.parse(buffer, client_id_size)
        except (ManyElements, Malformed):
            client_id, body = drained(codec.parse_in_slices(buffer))
    except Malformed:
        raise codec.explain(buffer) from None
    return Request(codec.api_key, version, correlation_id, client_id, body)


def _bad_header(buffer: InMemory) -> ProtocolViolation:
    try:
        decode_header(buffer, flexible=False)
    except ProtocolViolation as error:
        return error
    return ProtocolViolation("unreadable header", field_path="RequestHeader")


def encode_response(
    api_key: int, api_version: int, correlation_id: int, body: object
) -> list[Records]:
    """The chunks of a response; the first begins with the length of all of them.

    Records are chunks of their own, the very objects that were in the message. Raises
    InvalidMessage.
    """
    try:
        codec = _codec_of(api_key, api_version)
    except KeyError:
        raise InvalidMessage(f"API {api_key} has no version {api_version} here") from None
    try:
        return codec.build(correlation_id, body)
    except Unbuilt:
        return codec.build_declared(correlation_id, body)


def encode_request(
    api_key: int, api_version: int, correlation_id: int, client_id: str | None, body: object
) -> list[Records]:
    """The chunks of a request; the first begins with the length of all of them."""
    message = message_of(type(body))
    if not message.min_version <= api_version <= message.max_version or message.key != api_key:
        raise InvalidMessage(f"API {api_key} has no version {api_version} of {type(body).__name__}")
    header = RequestHeader(api_key, api_version, correlation_id, client_id)
    chunks = build_body(header, request_header_version(message.is_flexible(api_version)))
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
    from kafkalite.wire.reference import parse_declared

    header, position = parse_declared(ResponseHeader, version, buffer, whole=False)
    return header.correlation_id, parse_body(class_, api_version, buffer, position)
