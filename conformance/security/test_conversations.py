"""SASL conversations, good and broken ones: both brokers answer byte by byte the same."""

from __future__ import annotations

import re

import pytest

from conformance.security.conversations import (
    CONVERSATIONS,
    NONCE,
    token,
)
from conformance.security.pair import Client, Secured
from conformance.security.ways import give_password

SECONDS = 30
# Parts that are drawn anew for each login: the server's half of the nonce, the size before it, and
# the signature of both.
_NONCE = re.compile(rf".(r={NONCE})[^,]+".encode(), re.DOTALL)
_SIGNATURE = re.compile(rb"v=[A-Za-z0-9+/=]+")


@pytest.fixture(scope="module")
def brokers(secured: tuple[Secured, Secured]) -> tuple[Secured, Secured]:
    for each in secured:
        give_password(each, "alice", "a")
    return secured


def answers(broker: Secured, name: str) -> list[bytes | None]:
    """The answers to a conversation; None at the end if it was closed."""
    heard: list[bytes | None] = []
    with Client(broker.address()) as client:
        conversation = CONVERSATIONS[name]()
        said = next(conversation, None)
        while said is not None:
            answer = client.exchange(said)
            heard.append(None if answer is None else _without_chance(answer))
            if answer is None:
                return heard
            try:
                said = conversation.send(answer)
            except StopIteration:
                said = None
        # One frame more tells whether it was closed, and what is expected next if it was not.
        answer = client.exchange(token(b"more"))
        heard.append(None if answer is None else _without_chance(answer))
    return heard


def _without_chance(answer: bytes) -> bytes:
    return _SIGNATURE.sub(b"v=", _NONCE.sub(rb"\1", answer))


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_answers_are_the_same(brokers: tuple[Secured, Secured], name: str) -> None:
    theirs, ours = (answers(each, name) for each in brokers)
    assert ours == theirs
