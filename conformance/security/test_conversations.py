"""SASL conversations, good and broken ones: both brokers answer byte by byte the same."""

from __future__ import annotations

import re
import time

import pytest

from conformance.security.conversations import (
    CONVERSATIONS,
    DIGESTS,
    ITERATIONS,
    NONCE,
    SALT,
    salted,
    token,
)
from conformance.security.pair import Client, SecuredKafka, SecuredKafkalite
from kafkalite.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from kafkalite.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
)

SECONDS = 30
Secured = SecuredKafka | SecuredKafkalite
# Parts that are drawn anew for each login: the server's half of the nonce, the size before it, and
# the signature of both.
_NONCE = re.compile(rf".(r={NONCE})[^,]+".encode(), re.DOTALL)
_SIGNATURE = re.compile(rb"v=[A-Za-z0-9+/=]+")


@pytest.fixture(scope="module")
def brokers(secured: tuple[Secured, Secured]) -> tuple[Secured, Secured]:
    for each in secured:
        give_alice_a_password(each)
    return secured


def give_alice_a_password(broker: Secured) -> None:
    """The same salt on both brokers, so that all but the nonce is the same."""
    host, _, port = broker.bootstrap.rpartition(":")
    with Client((host, int(port))) as client:
        for number, name in enumerate(DIGESTS, start=1):
            wanted = ScramCredentialUpsertion("alice", number, ITERATIONS, SALT, salted(name, "a"))
            given = client.ask(AlterUserScramCredentialsRequest(upsertions=[wanted]))
            assert given.results[0].error_code == 0, given
        deadline = time.monotonic() + SECONDS
        count = 0
        while count < len(DIGESTS):
            assert time.monotonic() < deadline, "the credentials did not come"
            answer = client.ask(DescribeUserScramCredentialsRequest(users=None))
            count = sum(len(each.credential_infos) for each in answer.results)


def answers(broker: Secured, name: str) -> list[bytes | None]:
    """The answers to a conversation; None at the end if it was closed."""
    heard: list[bytes | None] = []
    with Client(broker.sasl_address) as client:
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
