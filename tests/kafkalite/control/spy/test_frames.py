"""Frames without secrets: the same bytes where there are none, and a header where none parses."""

from __future__ import annotations

from kafkalite.control.spy.frames import answer_of, answer_without_secrets, request_without_secrets
from kafkalite.control.spy.ring import Ring
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.api_messages import request_class
from kafkalite.wire.codec import encode_request
from tests.kafkalite.control.test_secrets import joined, shown


def test_a_frame_that_does_not_parse_keeps_its_header_only() -> None:
    key = ApiKey.SASL_AUTHENTICATE
    whole = joined(encode_request(key, 1, 7, "app", request_class(key)(b"shibboleth")))[4:]
    cut = whole[:-1]
    for size in (len(cut), len(whole)):
        entry = Ring().add(("10.0.0.1", 5), cut, size)
        Ring().ended(entry, "answered", (b"\0\0\0\x0a\0\0\0\x07shibbo",))
        assert request_without_secrets(entry) == cut[:13] + bytes(len(cut) - 13)
        assert answer_without_secrets(entry) == b"\0\0\0\x0a\0\0\0\x07" + bytes(6)
        assert "shibbo" not in shown(entry, is_sound=False)


def test_frames_without_secrets_are_as_they_came() -> None:
    frame = joined(encode_request(ApiKey.METADATA, 9, 7, "app", request_class(ApiKey.METADATA)()))
    for request in (frame[4:], frame[4:-1], b"\xff\xff and so on", b""):
        entry = Ring().add(("10.0.0.1", 5), request, len(request))
        Ring().ended(entry, "answered", (b"abc", 2))
        assert request_without_secrets(entry) == request
        assert answer_without_secrets(entry) == answer_of(entry) == b"abc\0\0"
