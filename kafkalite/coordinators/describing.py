"""The descriptions of groups that the four APIs of groups answer with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from kafkalite.requests.slices import in_slices, mapped
from kafkalite.security.authorized_operations import GROUP_OPERATIONS

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext


class Described(Protocol):
    """A class of messages: the description of a group, or an error."""

    error_code: int
    authorized_operations: int


D = TypeVar("D", bound=Described)


async def describe_each(
    context: RequestContext,
    group_ids: Sequence[str],
    describe: Callable[[RequestContext, str], D],
    *,
    include_authorized_operations: bool,
) -> list[D]:
    """The groups as `describe` says, with what the caller may do to them if that is asked."""

    def described(group_id: str) -> D:
        group = describe(context, group_id)
        if include_authorized_operations and not group.error_code:
            group.authorized_operations = GROUP_OPERATIONS
        return group

    return await in_slices(mapped(described, group_ids), context)
