"""SASL configs of a running broker: both brokers answer a change alike, and go on as they began."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from conformance.security.pair import MODULES, Client, Secured
from conformance.security.test_dynamic_stores import altered, cleared
from kafkalite.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkalite.wire.messages.sasl_handshake import SaslHandshakeRequest

LISTENER = "listener.name.sasl_plaintext."
PLAIN = f'{MODULES}.plain.PlainLoginModule required user_root="r" user_alice="changed";'
SIGNED = f"{MODULES}.oauthbearer.OAuthBearerValidatorCallbackHandler"
CHANGES = [
    {"plain.sasl.jaas.config": PLAIN},
    {"plain.sasl.jaas.config": "no line"},
    {"plain.sasl.jaas.config": f"{MODULES}.scram.ScramLoginModule required;"},
    {"sasl.enabled.mechanisms": "SCRAM-SHA-256"},
    {"sasl.enabled.mechanisms": "GSSAPI"},
    {"sasl.enabled.mechanisms": "UNKNOWN"},
    {"sasl.enabled.mechanisms": ""},
    {"plain.sasl.server.callback.handler.class": "com.example.Handler"},
    {"oauthbearer.sasl.server.callback.handler.class": SIGNED},
    {"sasl.login.callback.handler.class": "com.example.Handler"},
    {"principal.builder.class": "com.example.Builder"},
    {"connections.max.reauth.ms": "1000"},
    {"plain.connections.max.reauth.ms": "1000"},
    {"sasl.server.max.receive.size": "10"},
    {"sasl.kerberos.service.name": "kafka"},
    {"sasl.login.refresh.window.factor": "0.7"},
    {"sasl.login.refresh.window.factor": "7"},
    {"oauthbearer.sasl.oauthbearer.jwks.endpoint.url": "file:///missing"},
    {"ssl.client.auth": "required"},
]
NODE_CHANGES = [
    {"sasl.enabled.mechanisms": "PLAIN"},
    {"sasl.jaas.config": PLAIN},
    {"sasl.mechanism.inter.broker.protocol": "PLAIN"},
    {"sasl.kerberos.service.name": "kafka"},
    {"connections.max.reauth.ms": "1000"},
    {"sasl.server.callback.handler.class": "com.example.Handler"},
    {"principal.builder.class": "com.example.Builder"},
    {"listener.name.other.sasl.enabled.mechanisms": "PLAIN"},
    {"listener.name.other.plain.sasl.jaas.config": "no line"},
]
TLS_LISTENER = "listener.name.sasl_ssl."
# A node's own config beside one of a listener: then Apache Kafka looks at the listener, too.
TOGETHER = [
    {"sasl.enabled.mechanisms": "PLAIN", f"{LISTENER}plain.sasl.jaas.config": PLAIN},
    {"sasl.jaas.config": PLAIN, f"{LISTENER}sasl.enabled.mechanisms": "UNKNOWN"},
    {"connections.max.reauth.ms": "1000", f"{LISTENER}connections.max.reauth.ms": "1"},
    {"sasl.kerberos.service.name": "kafka", f"{LISTENER}ssl.client.auth": "none"},
    {"sasl.mechanism.inter.broker.protocol": "PLAIN", f"{LISTENER}max.connections": "50"},
    {"advertised.listeners": "SASL_PLAINTEXT://127.0.0.1:1"},
    {f"{TLS_LISTENER}sasl.enabled.mechanisms": "UNKNOWN"},
    {f"{TLS_LISTENER}plain.sasl.jaas.config": "no line", f"{TLS_LISTENER}ssl.keystore.type": "X"},
    {f"{LISTENER}ssl.keystore.location": "/missing"},
    {f"{LISTENER}connections.max.reauth.ms": "soon"},
    {"connections.max.reauth.ms": "soon"},
    {f"{LISTENER}connection.failed.authentication.delay.ms": "-1"},
    {f"{LISTENER}sasl.login.refresh.window.jitter": "9"},
    {"sasl.enabled.mechanisms": ""},
]
ALL = (
    [{LISTENER + name: value for name, value in each.items()} for each in CHANGES]
    + NODE_CHANGES
    + TOGETHER
)


def login(broker: Secured, password: str) -> tuple[int, str | None, int]:
    """Alice's: error code, message, and the lifetime of her session in milliseconds."""
    with Client(broker.address()) as client:
        assert client.ask(SaslHandshakeRequest("PLAIN"), 1).error_code == 0
        answer = client.ask(SaslAuthenticateRequest(f"\0alice\0{password}".encode()), 2)
    return answer.error_code, answer.error_message, answer.session_lifetime_ms


@pytest.mark.parametrize("change", ALL, ids=str)
def test_changes(secured: tuple[Secured, Secured], change: Mapping[str, str]) -> None:
    told = [altered(each, change) for each in secured]
    logins = [[login(each, password) for password in ("a", "changed")] for each in secured]
    taken_back = [cleared(each, change) for each in secured]
    assert told[0] == told[1]
    assert logins[0] == logins[1]
    assert logins[0][0] == (0, "", 3_600_000)
    assert taken_back[0] == taken_back[1]
