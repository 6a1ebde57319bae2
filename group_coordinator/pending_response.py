"""A response that a request waits for."""

from typing import Generic, TypeVar

import trio

T = TypeVar("T")


class Parked(Generic[T]):
    """A request that is answered now or later, perhaps by another request."""

    __slots__ = ("_answered", "_response")

    def __init__(self) -> None:
        self._response: T | None = None
        # There once somebody waits.
        self._answered: trio.Event | None = None

    @property
    def is_answered(self) -> bool:
        """True if nothing is waited for any more."""
        return self._response is not None

    def answer(self, response: T) -> None:
        self._response = response
        if self._answered is not None:
            self._answered.set()

    @property
    def response_now(self) -> T:
        """The response of a request that `is_answered`."""
        assert self._response is not None
        return self._response

    async def response(self) -> T:
        if self._response is None:
            self._answered = trio.Event()
            await self._answered.wait()
        return self.response_now
