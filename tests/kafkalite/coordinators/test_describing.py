"""Descriptions of groups: with the caller's permissions where they are asked for."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from kafkalite.coordinators.describing import describe_each
from kafkalite.security.authorized_operations import GROUP_OPERATIONS
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.describe_groups import DescribedGroup

NOT_TOLD = -(2**31)


def describe(context: object, group_id: str) -> DescribedGroup:
    code = ErrorCode.NONE if group_id == "known" else ErrorCode.GROUP_ID_NOT_FOUND
    return DescribedGroup(group_id=group_id, error_code=code)


async def in_no_task() -> None:
    """It is a task already."""


@pytest.mark.parametrize("include", [False, True])
async def test_only_groups_that_are_there_have_permissions(include: bool) -> None:
    context: Any = SimpleNamespace(connection=SimpleNamespace(move_to_task=in_no_task))
    found = await describe_each(
        context, ["known", "missing"], describe, include_authorized_operations=include
    )
    assert [(each.group_id, each.authorized_operations) for each in found] == [
        ("known", GROUP_OPERATIONS if include else NOT_TOLD),
        ("missing", NOT_TOLD),
    ]


async def test_a_large_group_is_described_by_a_thread() -> None:
    threads: list[threading.Thread] = []

    def in_thread() -> DescribedGroup:
        threads.append(threading.current_thread())
        return DescribedGroup(group_id="large", error_code=ErrorCode.NONE)

    context: Any = SimpleNamespace(connection=SimpleNamespace(move_to_task=in_no_task))
    found = await describe_each(
        context,
        ["known", "large"],
        lambda context, group_id: in_thread if group_id == "large" else describe(context, group_id),
        include_authorized_operations=True,
    )
    assert [(each.group_id, each.authorized_operations) for each in found] == [
        ("known", GROUP_OPERATIONS),
        ("large", GROUP_OPERATIONS),
    ]
    assert len(threads) == 1
    assert threading.main_thread() not in threads
