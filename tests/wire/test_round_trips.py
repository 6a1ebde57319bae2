"""Every message in every version there and back, by construct and by generated code alike."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.harness.messages import every_version, few, instances, name_of
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import decode_request, decode_response, encode_request, encode_response
from kafkalite.wire.message_codec import builder_of, join, parser_of
from kafkalite.wire.reference import build_declared, parse_declared
from kafkalite.wire.schema import Kind, message_of


@pytest.mark.slow
@pytest.mark.parametrize("case", every_version(), ids=name_of)
@few
@given(data=st.data())
def test_generated_code_agrees_with_the_declaration(
    case: tuple[type[Any], int], data: st.DataObject
) -> None:
    class_, version = case
    value = data.draw(instances(class_, version))
    parts: list[bytes] = []
    chunks: list[Any] = []
    builder_of(class_, version)(value, parts, chunks)
    encoded = join([*chunks, *parts])
    assert encoded == join(build_declared(value, version))
    assert parse_declared(class_, version, encoded)[0] == value
    # no fallback here: the generated parser itself must be able to do it
    assert parser_of(class_, version)(encoded, 0, len(encoded)) == value
    view = memoryview(encoded)
    assert parser_of(class_, version, in_memoryview=True)(view, 0, len(view)) == value


def api_of(case: tuple[type[Any], int]) -> ApiKey:
    return ApiKey(message_of(case[0]).key)


requests = [case for case in every_version() if message_of(case[0]).kind is Kind.REQUEST]
responses = [case for case in every_version() if message_of(case[0]).kind is Kind.RESPONSE]


@pytest.mark.slow
@pytest.mark.parametrize("case", requests, ids=name_of)
@few
@given(data=st.data())
def test_requests_in_frames(case: tuple[type[Any], int], data: st.DataObject) -> None:
    class_, version = case
    tags = message_of(class_).is_flexible(version)
    body = data.draw(instances(class_, version, tags))
    client_id = data.draw(st.none() | st.text(max_size=5))
    frame = join(encode_request(api_of(case), version, 77, client_id, body))
    assert len(frame) == 4 + int.from_bytes(frame[:4], "big")
    request = decode_request(frame[4:])
    assert (request.api_key, request.api_version) == (api_of(case), version)
    assert (request.correlation_id, request.client_id) == (77, client_id)
    assert type(request.body) is class_
    assert request.body == body


@pytest.mark.slow
@pytest.mark.parametrize("case", responses, ids=name_of)
@few
@given(data=st.data())
def test_responses_in_frames(case: tuple[type[Any], int], data: st.DataObject) -> None:
    class_, version = case
    tags = message_of(class_).is_flexible(version)
    body = data.draw(instances(class_, version, tags))
    frame = join(encode_response(api_of(case), version, 77, body))
    assert len(frame) == 4 + int.from_bytes(frame[:4], "big")
    assert decode_response(api_of(case), version, frame[4:]) == (77, body)
