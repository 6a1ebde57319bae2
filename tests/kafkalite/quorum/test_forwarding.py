"""A client's request goes to the controller in an envelope, and the answer comes back in one."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from kafkalite.peers.link import PeerGone
from kafkalite.quorum.forwarding import Forwarding
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.envelope import EnvelopeRequest, EnvelopeResponse
from kafkalite.wire.messages.stored import decode
from kafkalite.wire.messages.stored.default_principal_data import DefaultPrincipalData
from tests.kafkalite.quorum.answering import A, Quorum, channel


@pytest.mark.parametrize(
    ("host", "packed"),
    [
        ("10.1.2.3", bytes([10, 1, 2, 3])),
        ("::1", bytes(15) + b"\1"),
        ("fe80::1%eth0", bytes.fromhex("fe80" + "00" * 13 + "01")),
    ],
)
async def test_an_envelope_says_who_asks(
    autojump_clock: trio.testing.MockClock, host: str, packed: bytes
) -> None:
    asking, link = channel(Quorum(A), EnvelopeResponse(response_data=b"answer"))
    answer = await Forwarding(asking).forward(b"frame", host, principal_name="alice")
    assert answer == b"answer"
    ((_, envelope),) = link.asked
    assert isinstance(envelope, EnvelopeRequest)
    assert (envelope.request_data, envelope.client_host_address) == (b"frame", packed)
    assert envelope.request_principal[:2] == b"\0\0"
    principal = decode(DefaultPrincipalData, envelope.request_principal)
    assert (principal.type, principal.name) == ("User", "alice")


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (EnvelopeResponse(error_code=ErrorCode.UNSUPPORTED_VERSION), ErrorCode.UNSUPPORTED_VERSION),
        (
            EnvelopeResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
            ErrorCode.UNKNOWN_SERVER_ERROR,
        ),
        (EnvelopeResponse(response_data=None), ErrorCode.UNKNOWN_SERVER_ERROR),
        (PeerGone("gone"), ErrorCode.REQUEST_TIMED_OUT),
    ],
)
async def test_what_cannot_be_passed_on(
    autojump_clock: trio.testing.MockClock, answer: object, code: ErrorCode
) -> None:
    asking, _ = channel(Quorum(A), answer)
    with pytest.raises(KafkaError) as refused:
        await Forwarding(asking).forward(b"frame", "::1")
    assert refused.value.code is code


async def test_a_token_is_known_at_the_other_end(autojump_clock: trio.testing.MockClock) -> None:
    asking, link = channel(Quorum(A), EnvelopeResponse(response_data=b""))
    frame = memoryview(b"frame")
    answer = await Forwarding(asking).forward(frame, "::1", token_authenticated=True)
    assert answer == b""
    ((_, envelope),) = link.asked
    assert isinstance(envelope, EnvelopeRequest)
    principal = decode(DefaultPrincipalData, envelope.request_principal)
    assert (principal.name, principal.token_authenticated) == ("ANONYMOUS", True)


async def test_a_client_waits_a_minute_at_most(autojump_clock: trio.testing.MockClock) -> None:
    asking, _ = channel(Quorum(None), EnvelopeResponse())
    began = trio.current_time()
    with pytest.raises(KafkaError) as refused:
        await Forwarding(asking).forward(b"frame", "::1")
    assert refused.value.code is ErrorCode.REQUEST_TIMED_OUT
    assert trio.current_time() - began == pytest.approx(60, abs=0.1)
