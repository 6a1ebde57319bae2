"""Apache Kafka's tools against secured listeners: ACLs, SCRAM users, delegation tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.harness.kafkalite import Kafkalite
from conformance.harness.tools import Ran, run_tool
from conformance.security.flags import FlaggedKafkalite

MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafkalite]:
    started = FlaggedKafkalite(
        tmp_path_factory.mktemp("secured"),
        *("--sasl", "scram-sha-256:root:r", "--tls", "auto", "--acls"),
        *("--set", "delegation.token.secret.key=hush"),
    )
    yield started
    started.stop()


class Admin:
    """Runs tools as one user."""

    def __init__(self, broker: FlaggedKafkalite, directory: Path, login: str | None = None) -> None:
        settings = broker.settings("java")
        if login is not None:
            settings["sasl.jaas.config"] = f"{MODULE} required {login};"
        path = directory / "client.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        self._server = ("--bootstrap-server", broker.bootstrap, "--command-config", str(path))

    def run(self, tool: str, *arguments: str, given: str = "") -> Ran:
        return run_tool(tool, *self._server, *arguments, given=given)

    def must(self, tool: str, *arguments: str, given: str = "") -> str:
        ran = self.run(tool, *arguments, given=given)
        assert ran.status == 0, ran
        return ran.output


def new_user(root: Admin, broker: FlaggedKafkalite, directory: Path, name: str) -> Admin:
    root.must(
        *("kafka-configs", "--alter", "--entity-type", "users", "--entity-name", name),
        *("--add-config", f"SCRAM-SHA-256=[password={name}]"),
    )
    directory.mkdir()
    return Admin(broker, directory, f'username="{name}" password="{name}"')


def test_acls_open_what_they_name(broker: FlaggedKafkalite, tmp_path: Path) -> None:
    root = Admin(broker, tmp_path)
    alice = new_user(root, broker, tmp_path / "alice", "alice")
    root.must("kafka-topics", "--create", "--topic", "secret")
    assert "secret" not in alice.must("kafka-topics", "--list")
    refused = alice.run("kafka-console-producer", "--topic", "secret", given="v\n")
    assert "TopicAuthorizationException" in refused.output + refused.errors
    added = root.must(
        *("kafka-acls", "--add", "--allow-principal", "User:alice", "--producer"),
        *("--topic", "secret"),
    )
    assert "(principal=User:alice, host=*, operation=WRITE, permissionType=ALLOW)" in added
    assert "secret" in alice.must("kafka-topics", "--list")
    alice.must("kafka-console-producer", "--topic", "secret", given="v\n")
    listed = root.must("kafka-acls", "--list", "--principal", "User:alice")
    assert "operation=WRITE" in listed
    root.must(
        *("kafka-acls", "--remove", "--force", "--allow-principal", "User:alice"),
        *("--producer", "--topic", "secret"),
    )
    assert "secret" not in alice.must("kafka-topics", "--list")


@pytest.mark.long
def test_a_changed_password_counts_at_once(broker: FlaggedKafkalite, tmp_path: Path) -> None:
    root = Admin(broker, tmp_path)
    bob = new_user(root, broker, tmp_path / "bob", "bob")
    bob.must("kafka-topics", "--list")
    root.must(
        *("kafka-configs", "--alter", "--entity-type", "users", "--entity-name", "bob"),
        *("--add-config", "SCRAM-SHA-256=[password=other]"),
    )
    refused = bob.run("kafka-topics", "--list")
    assert "SaslAuthenticationException" in refused.output + refused.errors
    root.must(
        *("kafka-configs", "--alter", "--entity-type", "users", "--entity-name", "bob"),
        *("--delete-config", "SCRAM-SHA-256"),
    )
    again = bob.run("kafka-topics", "--list")
    assert "SaslAuthenticationException" in again.output + again.errors


@pytest.mark.long
def test_a_delegation_token_logs_in_for_its_owner(broker: FlaggedKafkalite, tmp_path: Path) -> None:
    root = Admin(broker, tmp_path)
    created = root.must(
        *("kafka-delegation-tokens", "--create", "--max-life-time-period", "-1"),
        *("--renewer-principal", "User:carol"),
    )
    found = re.search(r"(\S+)\s+(\S+==|\S+=)\s+User:root", created)
    assert found is not None, created
    token_id, hmac = found.groups()
    (tmp_path / "token").mkdir()
    login = f'username="{token_id}" password="{hmac}" tokenauth="true"'
    by_token = Admin(broker, tmp_path / "token", login)
    by_token.must("kafka-topics", "--create", "--topic", "by-token")
    again = by_token.run("kafka-delegation-tokens", "--create", "--max-life-time-period", "-1")
    assert "DelegationTokenDisabled" not in again.output
    assert again.status != 0, "a token gives no other token"
    assert token_id in root.must(
        *("kafka-delegation-tokens", "--describe", "--owner-principal", "User:root")
    )
    root.must("kafka-delegation-tokens", "--renew", "--renew-time-period", "-1", "--hmac", hmac)
    root.must("kafka-delegation-tokens", "--expire", "--expiry-time-period", "-1", "--hmac", hmac)
    refused = by_token.run("kafka-topics", "--list")
    assert "SaslAuthenticationException" in refused.output + refused.errors
