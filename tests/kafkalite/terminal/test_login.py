"""SASL as a client speaks it: with the broker's own side, and with one that lies."""

from __future__ import annotations

import base64
import json

import pytest

from kafkalite.security.sasl.scram import MECHANISMS, ScramServer
from kafkalite.terminal.login import LoginRefused, UnknownSetting, login
from tests.kafkalite.security.sasl.test_scram import Store

SCRAM = {"sasl.username": "a,b=c", "sasl.password": "pencil"}


def server(name: str) -> ScramServer:
    return ScramServer(MECHANISMS[name], Store(MECHANISMS[name]))


@pytest.mark.parametrize("name", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_scram(name: str) -> None:
    broker = server(name)
    conversation = login({**SCRAM, "sasl.mechanism": name})
    final = conversation.send(broker.evaluate(next(conversation)))
    answer = broker.evaluate(final)
    with pytest.raises(StopIteration):
        conversation.send(answer)
    assert broker.is_complete


def test_a_broker_that_does_not_know_the_password_is_left() -> None:
    broker = server("SCRAM-SHA-256")
    conversation = login({**SCRAM, "sasl.mechanism": "SCRAM-SHA-256"})
    conversation.send(broker.evaluate(next(conversation)))
    with pytest.raises(LoginRefused, match="does not know the password"):
        conversation.send(b"v=" + base64.b64encode(bytes(32)))


def test_a_nonce_that_is_not_ours_is_refused() -> None:
    conversation = login({**SCRAM, "sasl.mechanism": "SCRAM-SHA-256"})
    next(conversation)
    with pytest.raises(LoginRefused, match="nonce"):
        conversation.send(b"r=another,s=c2FsdA==,i=4096")


def test_plain() -> None:
    settings = {"sasl.mechanisms": "PLAIN", "sasl.username": "alice", "sasl.password": "pä"}
    assert list(login(settings)) == ["\0alice\0pä".encode()]


def test_a_token_without_signature() -> None:
    settings = {
        "sasl.mechanism": "OAUTHBEARER",
        "enable.sasl.oauthbearer.unsecure.jwt": "true",
        "sasl.oauthbearer.config": "principal=alice",
    }
    [said] = login(settings)
    header, claims, signature = said.split(b"Bearer ")[1].rstrip(b"\1").split(b".")
    assert json.loads(base64.urlsafe_b64decode(header + b"==")) == {"alg": "none"}
    assert json.loads(base64.urlsafe_b64decode(claims + b"=="))["sub"] == "alice"
    assert signature == b""


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({}, "sasl.mechanism=GSSAPI"),
        ({"sasl.mechanism": "AWS_MSK_IAM"}, "sasl.mechanism=AWS_MSK_IAM"),
        ({"sasl.mechanism": "OAUTHBEARER"}, "sasl.oauthbearer.method"),
        (
            {
                "sasl.mechanism": "OAUTHBEARER",
                "enable.sasl.oauthbearer.unsecure.jwt": "true",
                "sasl.oauthbearer.config": "principal=a scope=s",
            },
            "scope of sasl.oauthbearer.config",
        ),
    ],
)
def test_a_setting_that_is_for_librdkafka_alone_is_named(
    settings: dict[str, str], name: str
) -> None:
    with pytest.raises(UnknownSetting) as caught:
        login(settings)
    assert str(caught.value) == name
