"""The descriptions of groups that the four APIs of groups answer with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from kafkalite.requests.slices import WaitingSteps, briefly_or_in_slices
from kafkalite.security.authorized_operations import GROUP_OPERATIONS

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext


class Described(Protocol):
    """A class of messages: the description of a group, or an error."""

    error_code: int
    authorized_operations: int


class DescribeRequest(Protocol):
    """A request of the protocols that came after the classic one."""

    group_ids: list[str]
    include_authorized_operations: bool


D = TypeVar("D", bound=Described)


async def describe_each(
    context: RequestContext,
    group_ids: Sequence[str],
    describe: Callable[[RequestContext, str], D | Callable[[], D]],
    *,
    include_authorized_operations: bool,
) -> list[D]:
    """The descriptions that `describe` gives, with the authorized operations if asked for.

    `describe` may return a function that describes the group, which a thread is to call.
    """
    groups: list[D] = []

    def steps() -> WaitingSteps[list[D]]:
        for group_id in group_ids:
            found = describe(context, group_id)
            if callable(found):
                yield partial(_called, found, groups)
            else:
                groups.append(found)
            yield None
            group = groups[-1]
            if include_authorized_operations and not group.error_code:
                group.authorized_operations = GROUP_OPERATIONS
        return groups

    return await briefly_or_in_slices(steps(), context)


async def describe_groups(
    context: RequestContext,
    request: DescribeRequest,
    describe: Callable[[RequestContext, str], D | Callable[[], D]],
) -> list[D]:
    """The same for a request of those protocols."""
    return await describe_each(
        context,
        request.group_ids,
        describe,
        include_authorized_operations=request.include_authorized_operations,
    )


def _called(describe: Callable[[], D], groups: list[D]) -> None:
    groups.append(describe())
