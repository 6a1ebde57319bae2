"""`sasl.*` configs: the mechanisms they make, and what is refused."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from kafkalite.config import BrokerConfig, ConfigError
from kafkalite.config.listener_configs import ListenerConfigs
from kafkalite.security.authentication import Mechanism
from kafkalite.security.jaas import JaasEntry, parse_jaas
from kafkalite.security.listener_sasl import listener_sasl
from kafkalite.security.sasl.jwks import KeysUnavailable, RefreshTimes, UrlKeys
from kafkalite.security.sasl.mechanism import BadCredentials, SaslFailure
from kafkalite.security.sasl.scram import ScramCredential, ScramMechanism, TokenCredential
from tests.kafkalite.security.secured import PLAIN_LINE

# {"alg":"none"} and {"sub":"alice","exp":9999999999}
UNSIGNED = b"eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSIsImV4cCI6OTk5OTk5OTk5OX0."
OWN = "listener.name.sasl_plaintext."
PLAIN = {f"{OWN}plain.sasl.jaas.config": PLAIN_LINE}
HANDLERS = "org.apache.kafka.common.security.oauthbearer"
SIGNED = {
    f"{OWN}oauthbearer.sasl.server.callback.handler.class": (
        f"{HANDLERS}.OAuthBearerValidatorCallbackHandler"
    )
}


class Store:
    """A broker without SCRAM users."""

    def scram(self, mechanism: ScramMechanism, user: str) -> ScramCredential | None:
        return None

    def token(self, mechanism: ScramMechanism, token_id: str) -> TokenCredential | None:
        return None


def unreachable(url: str, times: RefreshTimes) -> UrlKeys:
    raise KeysUnavailable(f"{url} does not answer")


def mechanisms(
    names: str, configs: Mapping[str, str], jaas_file: Mapping[str, JaasEntry] | None = None
) -> Mapping[str, Mechanism]:
    config = BrokerConfig(
        {
            "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
            "sasl.enabled.mechanisms": names,
            **configs,
        }
    )
    own = ListenerConfigs(config, "SASL_PLAINTEXT", 1)
    return listener_sasl(own, Store(), jaas_file or {}, unreachable)


def test_the_users_of_plain_are_in_its_jaas_line() -> None:
    mechanism = mechanisms("PLAIN", PLAIN)["PLAIN"]
    server = mechanism.start()
    assert server.evaluate(b"\0alice\0a") == b""
    assert (server.is_complete, server.user) == (True, "alice")
    with pytest.raises(SaslFailure, match="Invalid username or password"):
        mechanism.start().evaluate(b"\0alice\0b")


def test_a_jaas_file_serves_what_has_no_line_of_its_own() -> None:
    entry = parse_jaas(PLAIN_LINE.replace('user_alice="a"', 'user_alice="from the file"'))
    file = {entry.login_module: entry}
    mechanisms("PLAIN", {}, file)["PLAIN"].start().evaluate(b"\0alice\0from the file")
    mechanisms("PLAIN", PLAIN, file)["PLAIN"].start().evaluate(b"\0alice\0a")


def test_each_mechanism_that_is_enabled_is_there() -> None:
    names = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER"
    made = mechanisms(names, PLAIN)
    assert ",".join(made) == names
    assert {name: made[name].start().mechanism for name in made} == {name: name for name in made}


def test_scram_asks_the_broker_s_credentials() -> None:
    server = mechanisms("SCRAM-SHA-256", {})["SCRAM-SHA-256"].start()
    with pytest.raises((SaslFailure, BadCredentials)):
        server.evaluate(b"n,,n=alice,r=abc")


def test_sessions_end_as_the_mechanism_says() -> None:
    configs = PLAIN | {
        "connections.max.reauth.ms": "1000",
        f"{OWN}plain.connections.max.reauth.ms": "5000",
    }
    made = mechanisms("PLAIN,SCRAM-SHA-256", configs)
    assert made["PLAIN"].max_session_ms == 5000
    assert made["SCRAM-SHA-256"].max_session_ms == 1000


def test_unsecured_tokens_are_taken_by_default() -> None:
    made = mechanisms("OAUTHBEARER", {})["OAUTHBEARER"].start()
    assert made.evaluate(b"n,,\1auth=Bearer " + UNSIGNED + b"\1\1") == b""
    assert (made.is_complete, made.user) == (True, "alice")


def test_signed_tokens_are_verified_by_their_keys(tmp_path: Path) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    jwk = jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
    file = tmp_path / "keys.json"
    file.write_text(json.dumps({"keys": [{**jwk, "kid": "a"}]}))
    configs = SIGNED | {
        "sasl.oauthbearer.jwks.endpoint.url": f"file://{file}",
        "sasl.oauthbearer.sub.claim.name": "name",
        "sasl.oauthbearer.expected.issuer": "us",
        "sasl.oauthbearer.expected.audience": "here, there",
        "sasl.oauthbearer.clock.skew.seconds": "1000",
        "sasl.oauthbearer.scope.claim.name": "may",
    }
    mechanism = mechanisms("OAUTHBEARER", configs)["OAUTHBEARER"]

    def is_taken(**changes: object) -> bool:
        claims = {"name": "alice", "iat": 1_600_000_000, "exp": 9_999_999_999, "iss": "us"}
        claims |= {"aud": "there", "scope": 7, **changes}
        signed = jwt.encode(claims, key, "RS256", headers={"kid": "a"})
        server = mechanism.start()
        server.evaluate(b"n,,\1auth=Bearer " + signed.encode() + b"\1\1")
        return server.is_complete and server.user == "alice"

    assert is_taken()
    assert not is_taken(iss="them")
    assert not is_taken(aud="elsewhere")
    assert not is_taken(may=["twice", "twice"])
    now = time.time()
    assert is_taken(exp=now - 500)
    assert not is_taken(exp=now - 1500)
    server = mechanism.start()
    server.evaluate(b"n,,\1auth=Bearer " + UNSIGNED + b"\1\1")
    assert not server.is_complete, "a token that is not signed is not taken"


def test_keys_are_fetched_when_the_configs_say() -> None:
    given: list[RefreshTimes] = []

    def keys_of(url: str, times: RefreshTimes) -> UrlKeys:
        given.append(times)
        return UrlKeys(url, times)

    config = BrokerConfig(
        {
            **SIGNED,
            "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
            "sasl.enabled.mechanisms": "OAUTHBEARER",
            "sasl.oauthbearer.jwks.endpoint.url": "https://keys.example",
            "sasl.oauthbearer.jwks.endpoint.refresh.ms": "1001",
            "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms": "102",
            "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": "203",
        }
    )
    listener_sasl(ListenerConfigs(config, "SASL_PLAINTEXT", 1), Store(), {}, keys_of)
    assert given == [RefreshTimes(refresh=1.001, retry=0.102, retry_max=0.203)]


@pytest.mark.parametrize(
    ("names", "configs", "words"),
    [
        ("", {}, "a listener with SASL needs one at least"),
        ("GSSAPI", {}, "GSSAPI: Kerberos is not served here; there are OAUTHBEARER, PLAIN"),
        ("DIGEST-MD5", {}, "DIGEST-MD5: it is not known; there are"),
        ("PLAIN", {}, "PLAIN needs its users"),
        (
            "PLAIN",
            PLAIN | {f"{OWN}plain.sasl.server.callback.handler.class": "org.example.Mine"},
            "kafkalite runs no Java classes",
        ),
        ("PLAIN", {f"{OWN}plain.sasl.jaas.config": "nonsense"}, "sasl.jaas.config of PLAIN"),
        (
            "PLAIN",
            {
                f"{OWN}plain.sasl.jaas.config": (
                    "org.apache.kafka.common.security.scram.ScramLoginModule required;"
                )
            },
            "the login module is .*ScramLoginModule, and must be .*PlainLoginModule",
        ),
        (
            "OAUTHBEARER",
            {"sasl.oauthbearer.jwks.endpoint.url": "https://keys.example"},
            "is used by signed tokens only",
        ),
        ("OAUTHBEARER", SIGNED, "signed tokens need the keys that verify them"),
        (
            "OAUTHBEARER",
            SIGNED | {"sasl.oauthbearer.jwks.endpoint.url": "https://keys.example"},
            "https://keys.example does not answer",
        ),
        (
            "OAUTHBEARER",
            SIGNED | {"sasl.oauthbearer.jwt.validator.class": "org.example.Mine"},
            "kafkalite runs no Java classes",
        ),
        (
            "OAUTHBEARER",
            {
                f"{OWN}oauthbearer.sasl.jaas.config": (
                    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
                    'unsecuredValidatorAllowableClockSkewMs="soon";'
                )
            },
            "sasl.jaas.config of OAUTHBEARER",
        ),
    ],
)
def test_what_cannot_be_obeyed_is_refused(names: str, configs: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        mechanisms(names, configs)
