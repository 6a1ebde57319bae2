"""The security of a broker follows its configs and its metadata, and refuses what it cannot do."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from kafkalite.config import BrokerConfig, ConfigError
from kafkalite.requests.slices import at_once
from kafkalite.security.acls import Acl, Operation, ResourceType
from kafkalite.security.sasl.scram import MECHANISMS
from kafkalite.security.security import Security, scram_records
from kafkalite.wire.messages.stored.access_control_entry_record import AccessControlEntryRecord
from kafkalite.wire.messages.stored.client_quota_record import ClientQuotaRecord, EntityData
from kafkalite.wire.messages.stored.delegation_token_record import DelegationTokenRecord
from kafkalite.wire.messages.stored.remove_access_control_entry_record import (
    RemoveAccessControlEntryRecord,
)
from kafkalite.wire.messages.stored.remove_delegation_token_record import (
    RemoveDelegationTokenRecord,
)
from kafkalite.wire.messages.stored.topic_record import TopicRecord
from kafkalite.wire.messages.stored.user_scram_credential_record import UserScramCredentialRecord
from tests.kafkalite.security.authorizers import ALICE, acl
from tests.kafkalite.security.certificates import Authority
from tests.kafkalite.security.secured import PLAIN_LINE, WITH_ACLS

AUTHORITY = Authority()
PLAIN = "listener.name.sasl_plaintext.plain.sasl.jaas.config"
AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
KEY = UUID(int=1)


@dataclass
class Image:
    """The metadata that security is made of."""

    access_control_entries: dict[UUID, AccessControlEntryRecord] = field(default_factory=dict)
    delegation_tokens: dict[str, DelegationTokenRecord] = field(default_factory=dict)
    scram_credentials: dict[tuple[str, int], UserScramCredentialRecord] = field(
        default_factory=dict
    )
    quotas: dict[tuple[tuple[str, str | None], ...], dict[str, float]] = field(default_factory=dict)


def security(configs: dict[str, str] | None = None, image: Image | None = None) -> Security:
    own = {"listeners": "PLAINTEXT://127.0.0.1:0"}
    held = image or Image()
    return Security(BrokerConfig(own | (configs or {})), lambda: held)


def entry(given: Acl) -> AccessControlEntryRecord:
    return given.to_record(KEY)


def may_read(made: Security) -> bool:
    assert made.authorizer is not None
    return made.authorizer.is_allowed(ALICE, "h", Operation.READ, ResourceType.TOPIC, "t")


def test_entries_are_those_of_the_metadata() -> None:
    image = Image({KEY: entry(acl("t"))})
    made = security(WITH_ACLS, image)
    assert may_read(made)
    image.access_control_entries.clear()
    made.changed([RemoveAccessControlEntryRecord(id=KEY)])
    assert not may_read(made)
    image.access_control_entries[KEY] = entry(acl("t"))
    made.changed([entry(acl("t"))])
    assert may_read(made)


def test_other_records_do_not_touch_them() -> None:
    image = Image()
    made = security(WITH_ACLS, image)
    image.access_control_entries[KEY] = entry(acl("t"))
    made.changed([TopicRecord(name="t")])
    assert not may_read(made)


def test_without_an_authorizer_there_is_none() -> None:
    assert security().authorizer is None


@pytest.mark.parametrize(
    "configs",
    [{"super.users": "User:root"}, {"super.users": ""}, {"allow.everyone.if.no.acl.found": "true"}],
)
def test_its_configs_have_no_effect_without_it(
    configs: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    """Compose files of clients' own tests have them. Apache Kafka passes over them."""
    assert security(configs).authorizer is None
    (name,) = configs
    assert f"{name} has no effect without authorizer.class.name" in caplog.text


@pytest.mark.parametrize(("text", "expected"), [("true", True), ("false", False)])
def test_resources_without_entries_may_be_open(text: str, expected: bool) -> None:
    configs = {"authorizer.class.name": AUTHORIZER, "allow.everyone.if.no.acl.found": text}
    assert may_read(security(configs)) is expected


def test_super_users_need_no_entry() -> None:
    configs = {"authorizer.class.name": AUTHORIZER, "super.users": "User:root;User:alice"}
    assert may_read(security(configs))


def test_quotas_follow_the_metadata_on_every_node() -> None:
    image = Image()
    made = security(image=image)
    told: list[bool] = []
    made.when_quotas_change(lambda: told.append(made.has_quotas))
    one = made.quotas(1)
    assert (made.has_quotas, one.is_active) == (False, False)
    image.quotas[("user", "alice"),] = {"producer_byte_rate": 5.0}
    alice = [EntityData(entity_type="user", entity_name="alice")]
    made.changed([ClientQuotaRecord(entity=alice, key="producer_byte_rate", value=5.0)])
    assert told == [True]
    assert one.produce.most_in_window("alice", "app") == 50
    assert made.quotas(1) is one
    assert made.quotas(2) is not one, "each node measures its own clients"
    assert made.quotas(2).produce.most_in_window("alice", "app") == 50


def test_a_change_of_one_quota_looks_at_no_other() -> None:
    image = Image()
    made = security(image=image)
    image.quotas[("user", "alice"),] = {"producer_byte_rate": 5.0}
    node = made.quotas(1)
    # Another one that it was not told of.
    image.quotas[("user", "bob"),] = {"producer_byte_rate": 7.0}
    del image.quotas[("user", "alice"),]
    alice = [EntityData(entity_type="user", entity_name="alice")]
    made.changed([ClientQuotaRecord(entity=alice, key="producer_byte_rate", remove=True)])
    assert not node.is_active
    assert security(image=image).quotas(1).is_active


@pytest.mark.parametrize(("key", "has_tokens"), [("", False), ("secret", True)])
def test_tokens_are_there_with_a_key(key: str, has_tokens: bool) -> None:
    made = security({"delegation.token.secret.key": key})
    assert made.has_tokens is has_tokens
    assert made.tokens.is_enabled is has_tokens


def test_a_token_that_is_gone_lets_in_no_more() -> None:
    image = Image()
    made = security({"delegation.token.secret.key": "secret"}, image)
    record = made.tokens.create(ALICE, ALICE, [], -1, 0)
    mechanism = MECHANISMS["SCRAM-SHA-256"]
    assert made.token(mechanism, record.token_id) is None
    image.delegation_tokens[record.token_id] = record
    made.changed([record])
    found = made.token(mechanism, record.token_id)
    assert found is not None
    assert found.owner == "alice"
    del image.delegation_tokens[record.token_id]
    made.changed([RemoveDelegationTokenRecord(token_id=record.token_id)])
    assert made.token(mechanism, record.token_id) is None


def test_credentials_of_scram_by_user_and_mechanism() -> None:
    (record,) = scram_records(["scram-sha-256:alice:se:cret"])
    assert (record.name, record.mechanism) == ("alice", MECHANISMS["SCRAM-SHA-256"].number)
    made = security(image=Image(scram_credentials={("alice", record.mechanism): record}))
    found = made.scram(MECHANISMS["SCRAM-SHA-256"], "alice")
    assert found is not None
    assert (found.salt, found.iterations) == (record.salt, record.iterations)
    assert made.scram(MECHANISMS["SCRAM-SHA-512"], "alice") is None
    assert made.scram(MECHANISMS["SCRAM-SHA-256"], "bob") is None


@pytest.mark.parametrize(
    "text", ["plain:alice:x", "scram-sha-256", "scram-sha-256:alice", "scram-sha-256::x", ""]
)
def test_credentials_that_cannot_be_read(text: str) -> None:
    with pytest.raises(ConfigError, match="each line is mechanism:user:password"):
        scram_records([text])


def tls_configs() -> dict[str, str]:
    server = AUTHORITY.server()
    return {
        "listeners": "SSL://127.0.0.1:0",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": server.key,
        "ssl.keystore.certificate.chain": server.certificate,
    }


@pytest.mark.parametrize(
    ("name", "configs", "has_context", "has_mechanisms", "has_principals"),
    [
        ("PLAINTEXT", {}, False, False, False),
        ("SSL", tls_configs(), True, False, True),
        (
            "SASL_PLAINTEXT",
            {
                "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
                "sasl.enabled.mechanisms": "PLAIN",
                PLAIN: PLAIN_LINE,
            },
            False,
            True,
            False,
        ),
        (
            "SASL_SSL",
            tls_configs()
            | {
                "listeners": "SASL_SSL://127.0.0.1:0",
                "sasl.enabled.mechanisms": "SCRAM-SHA-256",
            },
            True,
            True,
            False,
        ),
    ],
)
def test_each_protocol_asks_for_its_own(
    name: str,
    configs: dict[str, str],
    has_context: bool,
    has_mechanisms: bool,
    has_principals: bool,
) -> None:
    listener = security(configs).listener(1, name, name)
    assert listener.protocol == name
    assert (listener.tls is not None) is has_context
    assert (listener.mechanisms is not None) is has_mechanisms
    assert (listener.principals is not None) is has_principals


def test_a_key_that_was_changed_is_used_for_new_connections() -> None:
    config = BrokerConfig(tls_configs())
    made = Security(config, Image)
    before = made.listener(1, "SSL", "SSL")
    assert made.listener(1, "SSL", "SSL") is before
    server = AUTHORITY.server()
    config.dynamic_by_node = {
        1: {
            "listener.name.ssl.ssl.keystore.key": server.key,
            "listener.name.ssl.ssl.keystore.certificate.chain": server.certificate,
        }
    }
    after = made.listener(1, "SSL", "SSL")
    assert after.tls is not before.tls
    assert made.listener(1, "SSL", "SSL") is after


def test_other_configs_of_a_running_listener_are_those_of_its_start() -> None:
    """Kafka takes them at the next start (DynamicListenerConfig)."""
    config = BrokerConfig(
        tls_configs()
        | {"listeners": "SASL_SSL://127.0.0.1:0", "sasl.enabled.mechanisms": "SCRAM-SHA-256"}
    )
    made = Security(config, Image)
    before = made.listener(1, "SASL_SSL", "SASL_SSL")
    server = AUTHORITY.server()
    config.dynamic_by_node = {
        1: {
            "listener.name.sasl_ssl.sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "listener.name.sasl_ssl.ssl.client.auth": "required",
            "listener.name.sasl_ssl.ssl.keystore.key": server.key,
            "listener.name.sasl_ssl.ssl.keystore.certificate.chain": server.certificate,
        }
    }
    after = made.listener(1, "SASL_SSL", "SASL_SSL")
    assert after.mechanisms is before.mechanisms
    assert before.tls is not None
    assert after.tls is not None
    assert after.tls is not before.tls
    assert after.tls.context.verify_mode == before.tls.context.verify_mode
    anew = Security(config, Image).listener(1, "SASL_SSL", "SASL_SSL")
    assert list(anew.mechanisms or ()) == ["SCRAM-SHA-512"]
    assert anew.tls is not None
    assert anew.tls.context.verify_mode is ssl.CERT_REQUIRED


def test_a_key_that_went_bad_leaves_the_earlier_one(caplog: pytest.LogCaptureFixture) -> None:
    config = BrokerConfig(tls_configs())
    made = Security(config, Image)
    before = made.listener(1, "SSL", "SSL")
    config.dynamic_by_node = {1: {"listener.name.ssl.ssl.keystore.key": "nonsense"}}
    assert made.listener(1, "SSL", "SSL") is before
    assert "listener SSL goes on with its earlier security" in caplog.text


@pytest.mark.parametrize(
    ("dynamic", "words"),
    [
        ({"keystore.key": "nonsense"}, "InvalidConfigurationException: one private key in PEM"),
        ({"keystore.password": "x"}, "SSL key store password cannot be specified with PEM"),
        (
            {"truststore.certificates": AUTHORITY.certificate, "truststore.type": "PEM"},
            "Cannot add",
        ),
        ({}, None),
    ],
)
def test_stores_that_a_running_listener_cannot_have(
    dynamic: dict[str, str], words: str | None
) -> None:
    made = Security(BrokerConfig(tls_configs()), Image)
    before = made.listener(1, "SSL", "SSL")
    named = {f"listener.name.ssl.ssl.{name}": value for name, value in dynamic.items()}
    if words is None:
        at_once(made.check_stores(1, "ssl", named))
    else:
        with pytest.raises(ConfigError, match=words):
            at_once(made.check_stores(1, "ssl", named))
    # Other nodes and listeners are none of it.
    at_once(made.check_stores(2, "ssl", named))
    at_once(made.check_stores(1, "other", named))
    assert made.listener(1, "SSL", "SSL") is before


@pytest.mark.parametrize(
    ("configs", "words"),
    [
        ({"authorizer.class.name": "org.example.Mine"}, "kafkalite has .*StandardAuthorizer only"),
        (WITH_ACLS | {"super.users": "root"}, "super.users: .*principalType:principalName"),
        ({"sasl.jaas.config": PLAIN_LINE}, "sasl.jaas.config is used by no listener"),
        ({"security.providers": "org.example.Mine"}, "kafkalite runs no Java classes"),
        ({"kafkalite.jaas.file": "/no/such/file"}, "cannot read the JAAS file /no/such/file"),
    ],
)
def test_configs_that_cannot_be_obeyed_are_refused_at_the_start(
    configs: dict[str, str], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        security(configs)


def test_a_jaas_file_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "jaas.conf"
    path.write_text("nonsense {")
    with pytest.raises(ConfigError, match="the JAAS file"):
        security({"kafkalite.jaas.file": str(path)})


@pytest.mark.parametrize("context", ["KafkaServer", "sasl_plaintext.KafkaServer"])
def test_a_jaas_file_names_the_users_of_plain(tmp_path: Path, context: str) -> None:
    path = tmp_path / "jaas.conf"
    path.write_text(f"{context} {{ {PLAIN_LINE} }};")
    configs = {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
        "sasl.enabled.mechanisms": "PLAIN",
        "kafkalite.jaas.file": str(path),
    }
    listener = security(configs).listener(1, "SASL_PLAINTEXT", "SASL_PLAINTEXT")
    assert listener.mechanisms is not None
    assert listener.mechanisms["PLAIN"].start().evaluate(b"\0alice\0a") == b""


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"principal.builder.class": "org.example.Mine"}, "kafkalite runs no Java classes"),
        ({"ssl.principal.mapping.rules": "RULE:(/x/"}, r"listener SSL: ssl\.principal\.mapping"),
        ({"ssl.keystore.key": "nonsense"}, "listener SSL: "),
    ],
)
def test_a_listener_that_cannot_be_made(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        security(tls_configs() | changes).listener(1, "SSL", "SSL")
