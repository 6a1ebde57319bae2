"""No password, key or token in a log line, error, metric, trace or answer of DescribeConfigs.

A broker is given secrets in every place that takes one, clients log in with right ones and wrong
ones, and all that it says is searched for them, as they are and encoded.
"""

from __future__ import annotations

import base64
import hashlib
import io
import logging
import urllib.request
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio

from kafkalite.config import BrokerConfig, ConfigError
from kafkalite.config.definition import ConfigDef
from kafkalite.config.listing import list_configs
from kafkalite.security.sasl.plain import PlainServer
from kafkalite.security.security import Security, scram_records
from kafkalite.testing import broker
from kafkalite.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from kafkalite.wire.messages.create_delegation_token import CreateDelegationTokenRequest
from kafkalite.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from kafkalite.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
)
from kafkalite.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kafkalite.wire.messages.renew_delegation_token import RenewDelegationTokenRequest
from kafkalite.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkalite.wire.messages.sasl_handshake import SaslHandshakeRequest
from tests.kafkalite.security.certificates import Authority
from tests.kafkalite.security.secured import Users, log_in

BROKER, BROKER_LOGGER = 4, 8
MODULES = "org.apache.kafka.common.security"
SECRETS = {
    name: f"shibboleth-{name}-5ac91e"
    for name in (
        *("plain", "wrong", "scram", "salted", "store", "key", "token_key", "renewed"),
        *("bad_store", "jaas_file", "unsecured"),
    )
}
SERVER = Authority().server()
NO_METADATA: Any = SimpleNamespace(access_control_entries={}, scram_credentials={}, quotas={})


def configs(directory: Path) -> dict[str, Any]:
    """A broker's, with a secret wherever one may stand."""
    store = directory / "server.p12"
    store.write_bytes(SERVER.pkcs12(SECRETS["store"]))
    jaas = directory / "jaas.conf"
    jaas.write_text(
        f"KafkaServer {{ {MODULES}.plain.PlainLoginModule required "
        f'user_dora="{SECRETS["jaas_file"]}"; }};'
    )
    own = "listener.name.sasl_plaintext"
    return {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0,SECOND://127.0.0.1:0",
        "listener.security.protocol.map": (
            "SASL_PLAINTEXT:SASL_PLAINTEXT,SSL:SSL,SECOND:SSL,CONTROLLER:PLAINTEXT"
        ),
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,OAUTHBEARER",
        f"{own}.plain.sasl.jaas.config": (
            f"{MODULES}.plain.PlainLoginModule required "
            f'user_root="{SECRETS["plain"]}" password="{SECRETS["plain"]}";'
        ),
        f"{own}.oauthbearer.sasl.jaas.config": (
            f"{MODULES}.oauthbearer.OAuthBearerLoginModule required "
            f'unsecuredLoginStringClaim_sub="{SECRETS["unsecured"]}";'
        ),
        "kafkalite.jaas.file": str(jaas),
        "kafkalite.scram.credentials": f"SCRAM-SHA-256:carol:{SECRETS['scram']}",
        "listener.name.ssl.ssl.keystore.type": "PKCS12",
        "listener.name.ssl.ssl.keystore.location": str(store),
        "listener.name.ssl.ssl.keystore.password": SECRETS["store"],
        "listener.name.ssl.ssl.key.password": SECRETS["store"],
        "listener.name.second.ssl.keystore.type": "PEM",
        "listener.name.second.ssl.keystore.key": SERVER.encrypted_key(SECRETS["key"]),
        "listener.name.second.ssl.key.password": SECRETS["key"],
        "listener.name.second.ssl.keystore.certificate.chain": SERVER.certificate,
        "delegation.token.secret.key": SECRETS["token_key"],
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:root",
        "connection.failed.authentication.delay.ms": "10",
        "kafkalite.metrics.port": "0",
    }


def spellings(secret: bytes) -> Iterator[str]:
    """A secret as it may appear in a text."""
    yield secret.decode(errors="replace")
    yield secret.decode("latin-1")
    yield secret.hex()
    # Whatever stands before it, two thirds of the encodings have this in them.
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + secret)[4 if before else 0 :]
        yield encoded[: len(encoded) - 4].decode()
    yield base64.urlsafe_b64encode(secret).decode().rstrip("=")[:-2]


def leaks(said: Mapping[str, str], secrets: Mapping[str, bytes]) -> list[str]:
    """Each secret that is in what was said, and where."""
    return [
        f"{name} in {where}"
        for where, text in said.items()
        for name, secret in secrets.items()
        if any(spelling and spelling in text for spelling in spellings(secret))
    ]


def altered(name: str, value: str) -> IncrementalAlterConfigsRequest:
    """A change of a config of node 1."""
    config = AlterableConfig(name=name, config_operation=0, value=value)
    return IncrementalAlterConfigsRequest(
        resources=[AlterConfigsResource(resource_type=4, resource_name="1", configs=[config])]
    )


async def told(users: Users) -> tuple[list[object], bytes]:
    """Answers to requests with secrets in them, and the secret of a token that was made."""
    answers: list[object] = []
    root = await users.connect()
    answers.append(await log_in(root, "root", SECRETS["plain"]))
    for user in ("root", "carol", "nobody"):
        answers.append(await log_in(await users.connect(), user, SECRETS["wrong"]))
    for text in (SECRETS["wrong"], f"e30.{base64.b64encode(SECRETS['wrong'].encode()).decode()}."):
        client = await users.connect()
        await client.ask(SaslHandshakeRequest("OAUTHBEARER"), 1)
        token = f"n,,\x01auth=Bearer {text}\x01\x01".encode()
        answers.append(await client.ask(SaslAuthenticateRequest(token), 2))
    client = await users.connect()
    await client.ask(SaslHandshakeRequest("SCRAM-SHA-256"), 1)
    answers.append(await client.ask(SaslAuthenticateRequest(b"n,,n=carol,r=abc"), 2))
    last = f"c=biws,r=abc,p={base64.b64encode(SECRETS['wrong'].encode()).decode()}"
    answers.append(await client.ask(SaslAuthenticateRequest(last.encode()), 2))
    made = await root.ask(CreateDelegationTokenRequest(renewers=[], max_lifetime_ms=-1))
    assert made.error_code == 0
    for hmac in (SECRETS["renewed"].encode(), made.hmac):
        answers.append(await root.ask(RenewDelegationTokenRequest(hmac, 60_000)))
    upsertion = ScramCredentialUpsertion(
        "erin", 1, 4096, SECRETS["salted"].encode(), SECRETS["salted"].encode()
    )
    answers.append(await root.ask(AlterUserScramCredentialsRequest(upsertions=[upsertion])))
    answers.append(await root.ask(DescribeUserScramCredentialsRequest(users=None)))
    for name in ("listener.name.ssl.ssl.keystore.password", "ssl.keystore.password"):
        answers.append(await root.ask(altered(name, SECRETS["bad_store"])))
    for kind, name in ((BROKER, "1"), (BROKER, ""), (BROKER_LOGGER, "1")):
        resource = DescribeConfigsResource(kind, name, None)
        answers.append(await root.ask(DescribeConfigsRequest([resource], True, True)))
    return answers, made.hmac


async def everything_said(
    directory: Path, caplog: pytest.LogCaptureFixture
) -> tuple[dict[str, str], dict[str, bytes]]:
    """All that a broker says, and the secrets it was told."""
    loggers = ("kafkalite", "kafka.authorizer.logger", "kafka.request.logger", "")
    for name in loggers:
        caplog.set_level(logging.DEBUG, logger=name or None)
    given = configs(directory)
    async with broker(given) as running, Users(running) as users:
        kit: Any = running.asynchronous
        await kit.ask("spy.set", mode="full")
        answers, hmac = await told(users)
        trace = await kit.ask("trace.save", frames=True)
        url = running.metrics_url
        assert url is not None
        metrics = await trio.to_thread.run_sync(_read, url)
    said = {
        "the log": caplog.text,
        "metrics": metrics,
        **unzipped(trace.data),
        "the list of configs": "\n".join(list_configs(BrokerConfig(given))),
        **{
            f"{number}. {type(each).__name__}": f"{each} {getattr(each, 'auth_bytes', b'')}"
            for number, each in enumerate(answers)
        },
    }
    assert "AlterUserScramCredentials" in said["requests.jsonl"]
    assert "failed authentication" in said["the log"]
    assert "PLAIN" in metrics or "authentication" in metrics
    body = SERVER.encrypted_key(SECRETS["key"]).splitlines()[1].encode()
    secrets = {name: text.encode() for name, text in SECRETS.items()}
    stored = hashlib.sha256(SECRETS["plain"].encode()).digest()
    return said, secrets | {"hmac": hmac, "private key": body, "hash": stored}


def unzipped(data: bytes) -> dict[str, str]:
    """The files of a trace."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name).decode("latin-1") for name in archive.namelist()}


def _read(url: str) -> str:
    with urllib.request.urlopen(url, timeout=20) as answer:
        text: str = answer.read().decode()
    return text


async def test_none_is_in_what_a_broker_says(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    said, secrets = await everything_said(tmp_path, caplog)
    assert leaks(said, secrets) == []


async def test_a_planted_leak_into_the_log_is_found(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluate = PlainServer.evaluate

    def telling(server: PlainServer, token: bytes) -> bytes:
        logging.getLogger("kafkalite").debug("login with %s", base64.b64encode(token).decode())
        return evaluate(server, token)

    monkeypatch.setattr(PlainServer, "evaluate", telling)
    said, secrets = await everything_said(tmp_path, caplog)
    assert leaks(said, secrets) == ["plain in the log", "wrong in the log"]


async def test_a_planted_leak_into_describe_configs_is_found(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ConfigDef, "sensitive", property(lambda _: False))
    said, secrets = await everything_said(tmp_path, caplog)
    found = leaks(said, secrets)
    assert any("store in" in each and "DescribeConfigs" in each for each in found), found
    assert "token_key in the list of configs" in found


def as_it_is(message: object) -> object:
    return message


async def test_a_planted_leak_into_a_trace_is_found(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("decoded", "frames"):
        monkeypatch.setattr(f"kafkalite.control.spy.{module}.without_secrets", as_it_is)
    said, secrets = await everything_said(tmp_path, caplog)
    found = leaks(said, secrets)
    names = "salted", "renewed", "bad_store", "hmac"
    assert {f"{name} in frames.bin" for name in names} <= set(found)
    assert {f"{name} in requests.jsonl" for name in names[:3]} <= set(found)


def start(config: BrokerConfig) -> None:
    """Make the security of all listeners. Raises ConfigError."""
    made = Security(config, lambda: NO_METADATA)
    for name, protocol in (("SASL_PLAINTEXT",) * 2, ("SSL", "SSL"), ("SECOND", "SSL")):
        made.listener(1, name, protocol)


@pytest.mark.parametrize(
    "changes",
    [
        {"listener.name.ssl.ssl.keystore.password": SECRETS["wrong"]},
        {"listener.name.second.ssl.key.password": SECRETS["wrong"]},
        {"listener.name.second.ssl.keystore.key": SECRETS["wrong"]},
        {"listener.name.sasl_plaintext.plain.sasl.jaas.config": SECRETS["wrong"]},
        {
            "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
                f'{MODULES}.plain.PlainLoginModule required user_a="{SECRETS["wrong"]}"'
            )
        },
        {"sasl.jaas.config": SECRETS["wrong"]},
    ],
    ids=["store", "key password", "key", "no line", "open line", "nobody's"],
)
def test_none_is_in_why_a_broker_does_not_start(tmp_path: Path, changes: dict[str, str]) -> None:
    with pytest.raises(ConfigError) as refused:
        start(BrokerConfig(configs(tmp_path) | changes))
    secrets = {name: text.encode() for name, text in SECRETS.items()}
    assert leaks({"the error": str(refused.value)}, secrets) == []


@pytest.mark.parametrize("line", ["{0}", "PLAIN:{0}", "SCRAM-SHA-256:{0}", "SCRAM-SHA-1:carol:{0}"])
def test_none_is_in_what_is_wrong_with_credentials(line: str) -> None:
    with pytest.raises(ConfigError) as refused:
        scram_records([line.format(SECRETS["wrong"])])
    assert leaks({"the error": str(refused.value)}, {"wrong": SECRETS["wrong"].encode()}) == []
