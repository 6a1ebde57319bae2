"""The counter around a handler: at once, later, and what is no request."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.control.spy.traffic import CountingHandler, Counts

PRODUCE, FETCH, UNKNOWN = b"\0\0", b"\0\1", b"\0\xc8"


class Inner:
    """Answers with what it is told to."""

    def __init__(self, *chunks: bytes, later: bool = False) -> None:
        self._chunks = list(chunks)
        self._later = later

    def respond(self, connection: Any, frame: bytes) -> Any:
        if not self._chunks:
            raise ConnectionError("closed")
        return self._wait() if self._later else self._chunks

    async def _wait(self) -> list[bytes]:
        return self._chunks


def respond(counts: Counts, inner: Inner, frame: bytes) -> Any:
    handler: Any = inner
    connection: Any = None
    return CountingHandler(handler, counts).respond(connection, frame)


async def test_answers_are_passed_on_and_counted() -> None:
    counts = Counts()
    assert respond(counts, Inner(b"abc", b"de"), PRODUCE + b"123") == [b"abc", b"de"]
    before = counts.copied()
    later = respond(counts, Inner(b"abcd", later=True), FETCH)
    assert counts.since(before, 1).answer_bytes == 0
    assert await later == [b"abcd"]
    for frame in (UNKNOWN, b"", b"\1\1"):
        with pytest.raises(ConnectionError):
            respond(counts, Inner(), frame)
    seen = counts.since(before, 2.5)
    assert (seen.seconds, seen.requests) == (2.5, 4)
    assert seen.apis == {"Fetch": 1, "unknown": 3}
    assert (seen.request_bytes, seen.answer_bytes) == (6, 4)
    assert counts.since(Counts(), 1).apis["Produce"] == 1
