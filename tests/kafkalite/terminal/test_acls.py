"""`kafkalite acls`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

import kafkalite.testing
from tests.kafkalite.terminal.conftest import Run


@pytest.fixture(scope="module")
def guarded() -> Iterator[kafkalite.testing.broker]:
    with kafkalite.testing.broker(acls=True) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        bindings = [
            AclBinding(
                kind, name, pattern, principal, "*", AclOperation.READ, AclPermissionType.ALLOW
            )
            for kind, name, pattern, principal in (
                (ResourceType.TOPIC, "orders", ResourcePatternType.LITERAL, "User:alice"),
                (ResourceType.TOPIC, "ord", ResourcePatternType.PREFIXED, "User:bob"),
                (ResourceType.TOPIC, "other", ResourcePatternType.LITERAL, "User:alice"),
                (ResourceType.GROUP, "billing", ResourcePatternType.LITERAL, "User:bob"),
            )
        ]
        for done in admin.create_acls(bindings).values():
            done.result(30)
        yield broker


def test_all_of_them(run: Run, guarded: kafkalite.testing.broker) -> None:
    ran = run("acls", "-b", guarded.bootstrap)
    assert ["User:bob", "*", "ALLOW", "READ", "GROUP", "billing", "LITERAL"] in ran.lines
    assert len(ran.lines) == 5


@pytest.mark.parametrize(
    ("said", "names"),
    [
        (("--topic", "orders"), ["orders", "ord"]),
        (("-t", "other"), ["other"]),
        (("--group", "billing"), ["billing"]),
        (("--principal", "User:bob"), ["billing", "ord"]),
        (("--principal", "User:bob", "--topic", "orders"), ["ord"]),
        (("--cluster",), []),
        (("--transactional-id", "x"), []),
    ],
)
def test_some(
    run: Run, guarded: kafkalite.testing.broker, said: tuple[str, ...], names: list[str]
) -> None:
    rows = run("acls", "-b", guarded.bootstrap, *said, "--json").json
    assert sorted(row["resource_name"] for row in rows) == sorted(names)


def test_without_an_authorizer_it_says_so(run: Run) -> None:
    ran = run("acls")
    assert ran.code == 1
    assert ran.error == "kafkalite: this Kafka has no authorizer: each client may do everything\n"
