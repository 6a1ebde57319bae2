"""Scenarios in asyncio that leave no connection behind."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")

# asyncio itself gives a peer 30 s to answer the end of TLS.
_CLOSING_SECONDS = 60
# The pair by which threads wake a loop.
_OF_THE_LOOP = 1


def run_in_asyncio(scenario: Coroutine[Any, Any, _T]) -> _T:
    """Run a scenario to its end, and until the connections that it closed are closed.

    aiokafka does not wait for each: with TLS one is open until the peer has closed it, too. A loop
    that ends before leaves its socket to the garbage collector, whose warning fails some test that
    comes later. Raises TimeoutError if a connection stays open.
    """
    selector = selectors.DefaultSelector()
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selector)) as runner:
        outcome = runner.run(scenario)
        runner.run(all_closed(selector))
    return outcome


async def all_closed(selector: selectors.BaseSelector) -> None:
    """Returns when a loop's selector watches no connection. Raises TimeoutError."""
    async with asyncio.timeout(_CLOSING_SECONDS):
        while len(selector.get_map()) > _OF_THE_LOOP:  # noqa: ASYNC110 a selector has no event
            await asyncio.sleep(0.01)
