"""The header before a message: key, version, correlation id, client id.

A request's header is in version 2 when its message's version is flexible, else in 1; a response's
in 1, else in 0. ApiVersions is the exception: its response always has header 0, since a client that
asks does not know yet what the broker understands (KIP-511). The client id keeps the plain form for
the same reason.
"""

from __future__ import annotations

import struct
from struct import Struct

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import Malformed
from kafkalite.wire.fields import InMemory, int16, int32, plain_nullable_string
from kafkalite.wire.schema import data, field

unpack_header = Struct(">hhih").unpack_from  # key, version, correlation id, length of client id


@data(versions=(1, 2), flexible=2)
class RequestHeader:
    request_api_key: int = field(int16)
    request_api_version: int = field(int16)
    correlation_id: int = field(int32)
    client_id: str | None = field(plain_nullable_string)


@data(versions=(0, 1), flexible=1)
class ResponseHeader:
    correlation_id: int = field(int32)


def request_header_version(flexible: bool) -> int:
    return 2 if flexible else 1


def response_header_version(api_key: int, flexible: bool) -> int:
    return 1 if flexible and api_key != ApiKey.API_VERSIONS else 0


def read_header(frame: InMemory) -> tuple[int, int, int, int]:
    """API key, API version, correlation id and the length of the client id, -1 for null.

    Raises Malformed.
    """
    try:
        return unpack_header(frame)
    except struct.error:
        raise Malformed(f"a header of 10 bytes expected, {len(frame)} left") from None


def decode_header(buffer: InMemory, *, flexible: bool) -> tuple[RequestHeader, int]:
    """The header by the reference codec, and the position after it."""
    from kafkalite.wire.reference import parse_declared

    return parse_declared(RequestHeader, request_header_version(flexible), buffer, whole=False)
