"""Frames as a file keeps them: those that may hold passwords, keys or tokens are written anew.

Where such a frame cannot be decoded, zeros stand for all that follows its header.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

from kafkalite.control.secrets import may_hold_secrets, without_secrets
from kafkalite.control.spy.decoded import Decoded
from kafkalite.control.spy.ring import LENGTH_BYTES, Entry
from kafkalite.wire.api_messages import request_class, response_class
from kafkalite.wire.codec import encode_request, encode_response
from kafkalite.wire.errors import Malformed
from kafkalite.wire.fields import InMemory, Records
from kafkalite.wire.headers import read_header

# API key, version, correlation id and the size of the client id; it follows.
_HEADER_BYTES: Final = 10
_CORRELATION_BYTES: Final = 4


def request_without_secrets(entry: Entry) -> bytes:
    """A request's frame, as far as it was kept."""
    if not _may_hold_secrets(entry.frame, request_class):
        return entry.frame
    request = Decoded(entry).request
    if request is None:
        size = read_header(entry.frame)[3]
        return _blanked(entry.frame, _HEADER_BYTES + max(size, 0))
    body = without_secrets(request.body)
    key, version, correlation_id = request.api_key, request.api_version, request.correlation_id
    return _joined(encode_request(key, version, correlation_id, request.client_id, body))[4:]


def answer_without_secrets(entry: Entry) -> bytes:
    """An answer behind its length; zeros where it was in a file that is gone."""
    answer = answer_of(entry)
    if not answer or not _may_hold_secrets(entry.frame, response_class):
        return answer
    decoded = Decoded(entry)
    request = decoded.request
    if request is None or decoded.answer is None:
        return _blanked(answer, LENGTH_BYTES + _CORRELATION_BYTES)
    key, version = request.api_key, request.api_version
    body = without_secrets(decoded.answer)
    return _joined(encode_response(key, version, request.correlation_id, body))


def answer_of(entry: Entry) -> bytes:
    """The bytes of an answer as it was sent; zeros where they were in a file that is gone."""
    return b"".join(bytes(each) if isinstance(each, int) else each for each in entry.answer)


def _may_hold_secrets(frame: bytes, class_of: Callable[[int], type[Any]]) -> bool:
    try:
        return may_hold_secrets(class_of(read_header(frame)[0]))
    except (Malformed, KeyError):
        return False


def _blanked(frame: bytes, kept: int) -> bytes:
    return frame[:kept] + bytes(max(0, len(frame) - kept))


def _joined(chunks: list[Records]) -> bytes:
    return b"".join(bytes(cast(InMemory, each)) for each in chunks)
