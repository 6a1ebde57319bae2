"""DescribeAcls: the entries that a filter finds, by their resource."""

from __future__ import annotations

import pytest

from kafkalite.security.acls import Operation, PatternType, ResourceType
from kafkalite.wire.errors import ErrorCode
from tests.kafkalite.acl_filters import describe, described
from tests.kafkalite.conftest import Client
from tests.kafkalite.security.secured import Users, allow, grant

READ, WRITE = Operation.READ, Operation.WRITE
TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP


async def test_entries_of_one_resource_stand_together(users: Users) -> None:
    await grant(
        users,
        allow(READ, TOPIC, "t"),
        allow(READ, GROUP, "g"),
        allow(WRITE, TOPIC, "t", principal="User:bob"),
        allow(READ, TOPIC, "t", resource_pattern_type=PatternType.PREFIXED),
    )
    resources = (await (await users.user("root")).ask(describe())).resources
    assert {
        (each.resource_type, each.resource_name, each.pattern_type): [
            (acl.principal, acl.host, acl.operation, acl.permission_type) for acl in each.acls
        ]
        for each in resources
    } == {
        (TOPIC, "t", PatternType.LITERAL): [
            ("User:alice", "*", READ, 3),
            ("User:bob", "*", WRITE, 3),
        ],
        (GROUP, "g", PatternType.LITERAL): [("User:alice", "*", READ, 3)],
        (TOPIC, "t", PatternType.PREFIXED): [("User:alice", "*", READ, 3)],
    }


async def test_a_filter_finds_what_matches_in_every_part(users: Users) -> None:
    await grant(
        users,
        allow(READ, TOPIC, "a"),
        allow(WRITE, TOPIC, "a"),
        allow(READ, TOPIC, "b", principal="User:bob"),
        allow(READ, GROUP, "a", host="10.0.0.1"),
    )
    root = await users.user("root")
    in_a = [("a", "User:alice", READ), ("a", "User:alice", WRITE)]
    assert await described(root, resource_type_filter=TOPIC, resource_name_filter="a") == in_a
    assert await described(root, principal_filter="User:bob") == [("b", "User:bob", READ)]
    assert await described(root, operation=WRITE) == [("a", "User:alice", WRITE)]
    assert await described(root, host_filter="10.0.0.1") == [("a", "User:alice", READ)]
    assert await described(root, permission_type=2) == []


async def test_the_cluster_s_describe_is_needed(users: Users) -> None:
    answer = await (await users.user("alice")).ask(describe())
    assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert answer.error_message == "Request DESCRIBE_ACLS needs DESCRIBE permission."


@pytest.mark.parametrize("user", ["root", "alice"])
@pytest.mark.parametrize(
    "field", ["resource_type_filter", "pattern_type_filter", "operation", "permission_type"]
)
async def test_an_unknown_number_closes_the_connection(users: Users, field: str, user: str) -> None:
    """It is not even parsed, and so refused to nobody."""
    client = await users.user(user)
    await client.send(describe(**{field: 0}))
    assert await client.is_closed()


async def test_without_an_authorizer_an_unknown_number_closes_it_too(client: Client) -> None:
    await client.send(describe(operation=0))
    assert await client.is_closed()


async def test_without_an_authorizer_security_is_disabled(client: Client) -> None:
    answer = await client.ask(describe())
    assert (answer.error_code, answer.error_message) == (
        ErrorCode.SECURITY_DISABLED,
        "No Authorizer is configured on the broker",
    )
