"""One flag each: the configs of a secured broker, and what clients need to get in."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest

from kafkalite.config import ConfigError
from kafkalite.security.jaas import parse_jaas
from kafkalite.security.quick_start import (
    Files,
    Login,
    Wanted,
    broker_configs,
    client_settings,
    files_in,
    make_files,
    parse_login,
    super_user,
    temporary_files,
    wanted,
    with_listener,
)
from kafkalite.testing import broker
from kafkalite.wire.messages.create_acls import CreateAclsRequest
from tests.kafkalite.security.secured import Users, log_in

FILES = Files(Path("/ca.pem"), Path("/server.pem"), Path("/client.pem"))
ALICE = Login("PLAIN", "alice", "se:cret")


@pytest.mark.parametrize(
    ("text", "login"),
    [
        ("plain:alice:se:cret", ALICE),
        ("PLAIN:alice:se:cret", ALICE),
        ("scram-sha-256:bob:x", Login("SCRAM-SHA-256", "bob", "x")),
        ("scram-sha-512:bob:x", Login("SCRAM-SHA-512", "bob", "x")),
        ("oauthbearer:carol", Login("OAUTHBEARER", "carol", "")),
    ],
)
def test_a_login(text: str, login: Login) -> None:
    assert parse_login(text) == login


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "nothing is no mechanism"),
        ("gssapi:alice:secret", "GSSAPI is no mechanism"),
        ("plain", "MECHANISM:USER:PASSWORD"),
        ("plain:alice", "MECHANISM:USER:PASSWORD"),
        ("plain:alice:", "MECHANISM:USER:PASSWORD"),
        ("plain::secret", "MECHANISM:USER:PASSWORD"),
        ("oauthbearer:", "MECHANISM:USER:PASSWORD"),
    ],
)
def test_what_is_no_login_is_refused_without_its_password(text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as refused:
        parse_login(text)
    assert "secret" not in str(refused.value)


def test_a_password_is_not_shown() -> None:
    assert "cret" not in repr(ALICE)


@pytest.mark.parametrize(
    ("sasl", "tls", "protocol"),
    [
        ((), None, "PLAINTEXT"),
        ("plain:a:b", None, "SASL_PLAINTEXT"),
        ((), "auto", "SSL"),
        (["plain:a:b", "scram-sha-256:a:b"], "auto", "SASL_SSL"),
    ],
)
def test_the_protocol(sasl: Any, tls: str | None, protocol: str) -> None:
    asked = wanted(sasl, tls, acls=False)
    assert asked.protocol == protocol
    assert bool(asked) is (protocol != "PLAINTEXT")
    assert bool(wanted((), None, acls=True))


def test_tls_is_automatic_or_by_configs() -> None:
    with pytest.raises(ConfigError, match=r"for stores of your own set ssl\.keystore"):
        wanted((), "server.pem", acls=False)


@pytest.mark.parametrize(
    ("asked", "user"),
    [
        (Wanted([ALICE, Login("PLAIN", "bob", "x")], tls=True), "User:alice"),
        (Wanted(tls=True), "User:CN=client"),
        (Wanted(), "User:ANONYMOUS"),
    ],
)
def test_the_first_may_everything(asked: Wanted, user: str) -> None:
    assert super_user(asked) == user


def test_the_users_of_plain_stand_in_the_jaas_line() -> None:
    awkward = Login("PLAIN", "bob-1.x_y", 'a"b\\c')
    configs = broker_configs(Wanted([ALICE, awkward]), None)
    assert configs["sasl.enabled.mechanisms"] == "PLAIN"
    line = parse_jaas(configs["listener.name.sasl_plaintext.plain.sasl.jaas.config"])
    assert line.options == {"user_alice": "se:cret", "user_bob-1.x_y": 'a"b\\c'}


def test_a_user_that_no_jaas_line_can_name_is_refused() -> None:
    with pytest.raises(ConfigError, match="cannot be the name of an option"):
        broker_configs(Wanted([Login("PLAIN", 'a="b', "x")]), None)


def test_users_of_scram_are_credentials_to_begin_with() -> None:
    logins = [Login("SCRAM-SHA-256", "bob", "x:y"), Login("SCRAM-SHA-512", "carol", "z")]
    configs = broker_configs(Wanted(logins), None)
    assert configs["sasl.enabled.mechanisms"] == "SCRAM-SHA-256,SCRAM-SHA-512"
    assert configs["kafkalite.scram.credentials"].splitlines() == [
        "SCRAM-SHA-256:bob:x:y",
        "SCRAM-SHA-512:carol:z",
    ]


def test_clients_get_in_as_the_first_login() -> None:
    settings = client_settings(Wanted([ALICE], tls=True), FILES)
    assert settings["librdkafka"] == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "alice",
        "sasl.password": "se:cret",
        "ssl.ca.location": "/ca.pem",
    }
    assert settings["kafka_python"] == {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "alice",
        "sasl_plain_password": "se:cret",
        "ssl_cafile": "/ca.pem",
    }
    java = settings["java"]
    assert parse_jaas(java["sasl.jaas.config"]).options == {
        "username": "alice",
        "password": "se:cret",
    }
    assert (java["sasl.mechanism"], java["ssl.truststore.location"]) == ("PLAIN", "/ca.pem")
    assert "ssl.keystore.location" not in java, "the password says who it is"


def test_with_tls_alone_the_certificate_says_who_it_is() -> None:
    settings = client_settings(Wanted(tls=True), FILES)
    assert settings["java"]["ssl.keystore.location"] == "/client.pem"
    assert settings["librdkafka"]["ssl.key.location"] == "/client.pem"
    assert settings["kafka_python"]["ssl_certfile"] == "/client.pem"


def test_tokens_need_no_password() -> None:
    settings = client_settings(Wanted([Login("OAUTHBEARER", "carol", "")]), None)
    assert settings["librdkafka"]["sasl.oauthbearer.config"] == "principal=carol"
    options = parse_jaas(settings["java"]["sasl.jaas.config"]).options
    assert options == {"unsecuredLoginStringClaim_sub": "carol"}


def test_configs_of_one_s_own_win_but_for_the_listener() -> None:
    asked = Wanted([ALICE], acls=True)
    configs = with_listener({"super.users": "User:bob"}, asked, None, "::1", 9092)
    assert configs["super.users"] == "User:bob"
    assert configs["listeners"] == "SASL_PLAINTEXT://[::1]:9092"
    with pytest.raises(ConfigError, match="exclude each other"):
        with_listener({"listeners": "PLAINTEXT://:9092"}, asked, None, "h", 1)


def test_files_are_made_where_they_are_looked_for(tmp_path: Path) -> None:
    assert make_files(tmp_path, "localhost") == files_in(tmp_path)
    assert all(path.read_text() for path in tmp_path.iterdir())
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(ConfigError, match="cannot write to"):
        make_files(blocked, "localhost")


@pytest.mark.parametrize("mechanism", ["plain", "oauthbearer"])
async def test_a_broker_by_flags(mechanism: str) -> None:
    """The first login may everything, and a stranger does not get in."""
    sasl = [f"{mechanism}:root:r", "plain:alice:a"]
    async with broker(sasl=sasl, acls=True) as running, Users(running) as users:
        assert running.client_settings["java"]["sasl.mechanism"] == mechanism.upper()
        client = await users.connect()
        assert (await log_in(client, "alice", "a")).error_code == 0
        stranger = await users.connect()
        assert (await log_in(stranger, "alice", "r")).error_code != 0
        if mechanism == "plain":
            root = await users.user("root")
            assert (await root.ask(CreateAclsRequest(creations=[]))).results == []


def test_temporary_files_live_as_long_as_their_owner() -> None:
    class Owner:
        """A broker for tests."""

    owner = Owner()
    files = temporary_files(owner, "127.0.0.1")
    assert files.ca.is_file()
    del owner
    gc.collect()
    assert not files.ca.parent.exists()
