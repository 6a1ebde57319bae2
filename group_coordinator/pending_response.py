"""A response that a request waits for."""

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Parked(Generic[T]):
    """A request that is answered now or later, perhaps by another request."""

    __slots__ = ("_call", "_response")

    def __init__(self) -> None:
        self._response: T | None = None
        # There once somebody waits.
        self._call: Callable[[], None] | None = None

    @property
    def is_answered(self) -> bool:
        """True if nothing is waited for any more."""
        return self._response is not None

    def when_answered(self, call: Callable[[], None]) -> None:
        """Call `call` with the answer, which is not there yet. It must not take long: thousands may
        be answered at once."""
        self._call = call

    def answer(self, response: T) -> None:
        self._response = response
        if self._call is not None:
            self._call()

    @property
    def response_now(self) -> T:
        """The response of a request that `is_answered`."""
        assert self._response is not None
        return self._response
