"""DescribeUserScramCredentials: mechanisms and iterations, without salts and passwords."""

from __future__ import annotations

from typing import Any

from kafkalite.wire.errors import ErrorCode
from tests.kafkalite.quotas_and_credentials import change, upsert, users


async def test_all_users_or_those_named_are_described(client: Any) -> None:
    await change(client, upsert("u", iterations=5000), upsert("v", 2))
    await change(client, upsert("v", 1))
    every = {"u": [(1, 5000)], "v": [(1, 4096), (2, 4096)]}
    assert {name: sorted(found) for name, found in (await users(client)).items()} == every
    assert await users(client, "u", "none") == {
        "u": [(1, 5000)],
        "none": ErrorCode.RESOURCE_NOT_FOUND,
    }


async def test_a_user_named_twice_is_an_error(client: Any) -> None:
    await change(client, upsert("u"))
    assert await users(client, "u", "u") == {"u": ErrorCode.DUPLICATE_RESOURCE}
