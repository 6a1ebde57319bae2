"""Headers of requests and responses: their versions, and the way to the body."""

import pytest

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import Malformed, ProtocolViolation
from kafkalite.wire.headers import (
    RequestHeader,
    decode_header,
    read_header,
    request_header_version,
    response_header_version,
)

HEAD = bytes.fromhex("000c 0004 00000007 0002 6d65")


def test_flexible_versions_have_tags_in_their_headers() -> None:
    assert (request_header_version(False), request_header_version(True)) == (1, 2)
    assert response_header_version(ApiKey.FETCH, False) == 0
    assert response_header_version(ApiKey.FETCH, True) == 1


def test_the_response_to_api_versions_has_none() -> None:
    """A client that asks does not know yet which versions the broker understands (KIP-511)."""
    assert response_header_version(ApiKey.API_VERSIONS, True) == 0


def test_the_first_ten_bytes() -> None:
    assert read_header(HEAD) == (12, 4, 7, 2)
    assert read_header(memoryview(HEAD.replace(b"\0\2me", b"\xff\xff"))) == (12, 4, 7, -1)


@pytest.mark.parametrize("size", range(10))
def test_a_header_that_is_cut_short_is_malformed(size: int) -> None:
    with pytest.raises(Malformed, match=f"10 bytes expected, {size} left"):
        read_header(HEAD[:size])


def test_the_position_after_a_header() -> None:
    expected = RequestHeader(12, 4, 7, "me")
    assert decode_header(HEAD + b"body", flexible=False) == (expected, 12)
    assert decode_header(HEAD + b"\0body", flexible=True) == (expected, 13)
    header, position = decode_header(HEAD + b"\1\5\3abcbody", flexible=True)
    assert (header.unknown_tagged_fields, position) == (((5, b"abc"),), 18)


def test_a_client_id_beyond_the_end_is_named() -> None:
    with pytest.raises(ProtocolViolation) as caught:
        decode_header(HEAD[:-1], flexible=False)
    assert (caught.value.field_path, caught.value.position) == ("RequestHeader.client_id", 8)
