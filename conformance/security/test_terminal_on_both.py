"""The words of kafkalite's terminal where clients log in, against Apache Kafka and kafkalite."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from typing import Any, Final

import confluent_kafka.admin
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from conformance.security.pair import Secured, SecuredKafka, SecuredKafkalite
from kafkalite.terminal.words import run

library: Any = confluent_kafka.admin
SECONDS: Final = 60
PASSWORDS: Final = {"root": "r", "alice": "a"}

Compare = Callable[..., str]


def settings(broker: Secured, user: str, password: str = "") -> dict[str, str]:
    host, port = broker.address()
    return {
        "bootstrap.servers": f"{host}:{port}",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": user,
        "sasl.password": password or PASSWORDS[user],
    }


@pytest.fixture
def compare(
    secured: tuple[SecuredKafka, SecuredKafkalite], capsys: pytest.CaptureFixture[str]
) -> Compare:
    """`compare("acls", user="root")`: said to both; both printed the same, which is returned."""

    def said(broker: Secured, words: tuple[str, ...], user: str, password: str) -> tuple[Any, ...]:
        flags = [
            text
            for name, value in settings(broker, user, password).items()
            for text in ("-X", f"{name}={value}")
        ]
        capsys.readouterr()
        code = run([*words, *flags])
        printed = capsys.readouterr()
        port = str(broker.address()[1])
        return code, printed.out, printed.err.replace(port, "PORT")

    def compare(*words: str, user: str = "root", password: str = "", code: int = 0) -> str:
        theirs, ours = (said(broker, words, user, password) for broker in secured)
        assert ours == theirs, words
        assert theirs[0] == code, theirs
        return str(theirs[1] or theirs[2])

    return compare


@pytest.fixture
def name(secured: tuple[SecuredKafka, SecuredKafkalite]) -> str:
    """A topic on both, with ACLs of each kind of pattern, permission and resource."""
    name = f"acls-{uuid.uuid4().hex[:8]}"
    kinds, patterns = library.ResourceType, library.ResourcePatternType
    operations, permissions = library.AclOperation, library.AclPermissionType
    some = [
        (kinds.TOPIC, name, patterns.LITERAL, operations.WRITE, permissions.ALLOW),
        (kinds.TOPIC, name[:7], patterns.PREFIXED, operations.READ, permissions.DENY),
        (kinds.TOPIC, f"{name}-other", patterns.LITERAL, operations.ALL, permissions.ALLOW),
        (kinds.GROUP, name, patterns.LITERAL, operations.READ, permissions.ALLOW),
        (kinds.TRANSACTIONAL_ID, name, patterns.PREFIXED, operations.WRITE, permissions.ALLOW),
    ]
    for broker in secured:
        admin = AdminClient(settings(broker, "root"))
        admin.create_topics([NewTopic(name, 1, 1)])[name].result(SECONDS)
        bindings = [
            library.AclBinding(kind, of, pattern, f"User:{name}", "*", operation, permission)
            for kind, of, pattern, operation, permission in some
        ]
        for done in admin.create_acls(bindings).values():
            done.result(SECONDS)
    return name


def test_acls(compare: Compare, name: str) -> None:
    principal = ("--principal", f"User:{name}")
    everything = json.loads(compare("acls", *principal, "--json"))
    assert len(everything) == 5
    assert len(compare("acls", *principal).splitlines()) == 6
    on_topic = json.loads(compare("acls", *principal, "--topic", name, "--json"))
    assert [each["operation"] for each in on_topic] == ["WRITE", "READ"]
    assert len(json.loads(compare("acls", *principal, "--group", name, "--json"))) == 1
    of_id = ("--transactional-id", f"{name}-1")
    assert len(json.loads(compare("acls", *principal, *of_id, "--json"))) == 1
    assert json.loads(compare("acls", *principal, "--cluster", "--json")) == []


def test_who_may_not_and_who_is_not_known(compare: Compare, name: str) -> None:
    """One sentence, the same on both."""
    for words in (("acls",), ("topic", "show", name), ("tail", name), ("configs", "--topic", name)):
        assert compare(*words, user="alice", code=1).count("\n") == 1
    told = compare("topics", user="alice", password="wrong", code=1)
    assert told.count("\n") == 1
