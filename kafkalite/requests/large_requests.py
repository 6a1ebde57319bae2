"""Large requests whose handler wants the message beside the row."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar, cast

from kafkalite.requests.slices import in_slices, let_go
from kafkalite.wire.rows import message_in_steps

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext

A = TypeVar("A")
M = TypeVar("M")


async def with_message(
    kind: type[M],
    row: tuple[Any, ...],
    context: RequestContext,
    answer: Callable[[M], A | Coroutine[Any, Any, A]],
) -> A:
    """The answer to the request, whose message is made and let go little by little."""
    message = await in_slices(message_in_steps(kind, row), context)
    answered = answer(message)
    if isinstance(answered, Coroutine):
        result = await cast("Coroutine[Any, Any, A]", answered)
    else:
        result = answered
    letting_go = let_go(message)
    del message
    await in_slices(letting_go, context)
    return result
