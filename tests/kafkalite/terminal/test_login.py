"""SASL in librdkafka's settings: with the broker's own side."""

from __future__ import annotations

import base64
import json

import pytest

from kafkalite.security.sasl.scram import MECHANISMS, ScramServer
from kafkalite.terminal.login import UnknownSetting, login
from tests.kafkalite.security.sasl.test_scram import Store


@pytest.mark.parametrize("name", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_scram(name: str) -> None:
    broker = ScramServer(MECHANISMS[name], Store(MECHANISMS[name]))
    settings = {"sasl.mechanism": name, "sasl.username": "a,b=c", "sasl.password": "pencil"}
    client = login(settings)
    assert client.mechanism == name
    final = client.answer(broker.evaluate(client.first()))
    assert final is not None
    assert client.answer(broker.evaluate(final)) is None
    assert broker.is_complete


def test_plain() -> None:
    settings = {"sasl.mechanisms": "PLAIN", "sasl.username": "alice", "sasl.password": "pä"}
    assert login(settings).first() == "\0alice\0pä".encode()


def test_a_token_without_signature() -> None:
    settings = {
        "sasl.mechanism": "OAUTHBEARER",
        "enable.sasl.oauthbearer.unsecure.jwt": "true",
        "sasl.oauthbearer.config": "principal=alice",
    }
    said = login(settings).first()
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
