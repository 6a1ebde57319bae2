"""DeleteAcls: entries that match filters are removed, and told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafkalite.apis import delete_acls
from kafkalite.security.acls import Operation, ResourceType
from kafkalite.testing import broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from tests.kafkalite.acl_filters import deletion, described
from tests.kafkalite.conftest import Client
from tests.kafkalite.security.secured import WITH_ACLS, Users, allow, grant

READ, WRITE = Operation.READ, Operation.WRITE
TOPIC = ResourceType.TOPIC


async def delete(client: Client, *filters: DeleteAclsFilter) -> list[Any]:
    answer = await client.ask(DeleteAclsRequest(filters=list(filters)))
    return list(answer.filter_results)


async def test_each_filter_tells_what_it_found(users: Users) -> None:
    await grant(users, allow(READ, TOPIC, "a"), allow(WRITE, TOPIC, "a"), allow(READ, TOPIC, "b"))
    root = await users.user("root")
    results = await delete(
        root,
        deletion(resource_type_filter=TOPIC, resource_name_filter="a"),
        deletion(operation=WRITE),
        deletion(principal_filter="User:carol"),
    )
    assert [each.error_code for each in results] == [0, 0, 0]
    found = [
        [(acl.resource_name, acl.operation, acl.principal) for acl in each.matching_acls]
        for each in results
    ]
    # ACLs that two filters find are told by both, and removed once.
    assert found == [
        [("a", READ, "User:alice"), ("a", WRITE, "User:alice")],
        [("a", WRITE, "User:alice")],
        [],
    ]
    assert await described(root) == [("b", "User:alice", READ)]


async def test_too_many_at_once_are_not_deleted(
    users: Users, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The most that may be deleted are too many if one of them is found once more."""
    monkeypatch.setattr(delete_acls, "MAX_RECORDS", 2)
    await grant(users, *(allow(READ, TOPIC, name) for name in ("a", "b", "c")))
    root = await users.user("root")
    a, b = (deletion(resource_name_filter=name) for name in ("a", "b"))
    nothing, wrong = deletion(resource_name_filter="d"), deletion(operation=1, permission_type=7)
    for filters in ((deletion(),), (a, b, a), (a, wrong, deletion())):
        results = await delete(root, *filters)
        assert [(each.error_code, each.error_message) for each in results] == [
            (
                ErrorCode.INVALID_REQUEST,
                "Cannot remove more than 2 acls in a single delete operation.",
            )
        ] * len(filters)
    assert len(await described(root)) == 3
    assert [each.error_code for each in await delete(root, a, b, nothing)] == [0, 0, 0]
    assert len(await described(root)) == 1


async def test_what_is_deleted_counts_no_more(users: Users) -> None:
    await grant(users, allow(Operation.ALL, ResourceType.CLUSTER, "kafka-cluster"))
    alice, root = await users.user("alice"), await users.user("root")
    assert await described(alice) == [("kafka-cluster", "User:alice", Operation.ALL)]
    await delete(root, deletion())
    (result,) = await delete(alice, deletion())
    assert result.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


async def test_what_is_deleted_stays_so(tmp_path: Path) -> None:
    async with broker(WITH_ACLS, data_dir=tmp_path) as running, Users(running) as users:
        await grant(users, allow(READ, TOPIC, "a"), allow(READ, TOPIC, "b"))
        await delete(await users.user("root"), deletion(resource_name_filter="a"))
    async with broker(WITH_ACLS, data_dir=tmp_path) as running, Users(running) as users:
        assert await described(await users.user("root")) == [("b", "User:alice", READ)]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"resource_type_filter": 99}, "Unknown patternFilter."),
        ({"pattern_type_filter": 99}, "Unknown patternFilter."),
        ({"operation": 99}, "Unknown entryFilter."),
        ({"permission_type": 99}, "Unknown entryFilter."),
    ],
)
async def test_numbers_of_the_future_are_refused_filter_by_filter(
    users: Users, changes: dict[str, int], words: str
) -> None:
    await grant(users, allow(READ, TOPIC, "a"))
    root = await users.user("root")
    bad, good = await delete(root, deletion(**changes), deletion())
    assert (bad.error_code, bad.error_message) == (ErrorCode.INVALID_REQUEST, words)
    assert (good.error_code, len(good.matching_acls)) == (0, 1)


@pytest.mark.parametrize("user", ["root", "alice"])
async def test_an_unknown_number_closes_the_connection(users: Users, user: str) -> None:
    """It is not even parsed, and so refused to nobody."""
    client = await users.user(user)
    await client.send(DeleteAclsRequest(filters=[deletion(operation=0)]))
    assert await client.is_closed()


async def test_without_an_authorizer_an_unknown_number_closes_it_too(client: Client) -> None:
    await client.send(DeleteAclsRequest(filters=[deletion(operation=0)]))
    assert await client.is_closed()


async def test_without_an_authorizer_security_is_disabled(client: Client) -> None:
    (result,) = await delete(client, deletion())
    assert (result.error_code, result.error_message) == (
        ErrorCode.SECURITY_DISABLED,
        "No Authorizer is configured.",
    )
