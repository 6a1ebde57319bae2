"""CreateAcls: entries are written, once each, and outlive the broker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafkalite.apis import create_acls
from kafkalite.security.acls import Operation, ResourceType
from kafkalite.testing import broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.create_acls import AclCreation, CreateAclsRequest
from tests.kafkalite.acl_filters import described
from tests.kafkalite.conftest import Client
from tests.kafkalite.security.secured import WITH_ACLS, Users, allow, grant

READ, TOPIC = Operation.READ, ResourceType.TOPIC
ENTRY = allow(READ, TOPIC, "t")
CREATED = (0, "")


async def create(client: Client, *entries: AclCreation) -> list[tuple[int, str | None]]:
    results = (await client.ask(CreateAclsRequest(creations=list(entries)))).results
    return [(each.error_code, each.error_message) for each in results]


async def test_an_entry_is_created_once(users: Users) -> None:
    root = await users.user("root")
    assert await create(root, ENTRY, ENTRY) == [CREATED] * 2
    assert await create(root, ENTRY) == [CREATED]
    assert await described(root) == [("t", "User:alice", READ)]


async def test_a_bad_entry_does_not_keep_back_the_others(users: Users) -> None:
    root = await users.user("root")
    bad = allow(READ, TOPIC, "t", principal="alice")
    (first, words), second = await create(root, bad, ENTRY)
    assert first == ErrorCode.INVALID_REQUEST
    assert "no colon is present" in (words or "")
    assert second == CREATED
    assert await described(root) == [("t", "User:alice", READ)]


@pytest.mark.parametrize(
    "changes",
    [
        {"operation": Operation.ANY},
        {"resource_type": 1},
        {"resource_pattern_type": 1},
        {"resource_pattern_type": 2},
        {"permission_type": 1},
    ],
)
async def test_a_filter_among_the_entries_fails_them_all(
    users: Users, changes: dict[str, Any]
) -> None:
    """Kafka fails in its own code then, and says no more than that."""
    root = await users.user("root")
    wrong = allow(READ, TOPIC, "t")
    for name, value in changes.items():
        setattr(wrong, name, value)
    results = await create(root, ENTRY, wrong)
    assert [code for code, _ in results] == [ErrorCode.UNKNOWN_SERVER_ERROR] * 2
    assert await described(root) == []


@pytest.mark.parametrize("user", ["root", "alice"])
async def test_an_unknown_number_closes_the_connection(users: Users, user: str) -> None:
    """It is not even parsed, and so refused to nobody."""
    client = await users.user(user)
    wrong = allow(READ, TOPIC, "t")
    wrong.operation = 0
    await client.send(CreateAclsRequest(creations=[wrong]))
    assert await client.is_closed()


async def test_too_many_new_entries_fail_them_all(
    users: Users, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for those that no controller would be asked for."""
    monkeypatch.setattr(create_acls, "MAX_RECORDS", 2)
    root = await users.user("root")
    entries = [allow(READ, TOPIC, name) for name in ("a", "b", "c")]
    bad, unnamed = allow(READ, TOPIC, "t", principal="alice"), allow(READ, TOPIC, "")
    too_many = (
        ErrorCode.POLICY_VIOLATION,
        "Unable to perform excessively large batch operation.",
    )
    answer = await create(root, *entries, bad, unnamed)
    assert answer[:4] == [too_many] * 4
    assert answer[4] == (ErrorCode.INVALID_REQUEST, "Invalid empty resource name")
    assert await described(root) == []
    # The same one twice, and one that is there, are no new ones.
    assert await create(root, *entries[:2], entries[0]) == [CREATED] * 3
    assert await create(root, *entries) == [CREATED] * 3


async def test_the_cluster_s_alter_is_needed(users: Users) -> None:
    alice = await users.user("alice")
    assert await create(alice, ENTRY) == [
        (
            ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
            "Request CREATE_ACLS needs ALTER permission.",
        )
    ]
    await grant(users, allow(Operation.ALTER, ResourceType.CLUSTER, "kafka-cluster"))
    assert await create(alice, ENTRY) == [CREATED]


async def test_entries_outlive_the_broker(tmp_path: Path) -> None:
    async with broker(WITH_ACLS, data_dir=tmp_path) as running, Users(running) as users:
        await grant(users, ENTRY)
    async with broker(WITH_ACLS, data_dir=tmp_path) as running, Users(running) as users:
        assert await described(await users.user("root")) == [("t", "User:alice", READ)]


async def test_without_an_authorizer_security_is_disabled(client: Client) -> None:
    assert await create(client, ENTRY) == [
        (ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")
    ]


async def test_without_an_authorizer_an_unknown_number_closes_it_too(client: Client) -> None:
    wrong = allow(READ, TOPIC, "t")
    wrong.operation = 0
    await client.send(CreateAclsRequest(creations=[wrong]))
    assert await client.is_closed()
