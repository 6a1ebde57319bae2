"""Counting requests and bytes while somebody looks. Nothing is kept, and nothing is decoded."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kafkalite.control.faults.matching import API_NAMES
from kafkalite.control.sightings import TrafficView
from kafkalite.wire.api_keys import ApiKey

if TYPE_CHECKING:
    from kafkalite.requests.suspension import ResponseCoroutine
    from kafkalite.server.connection import Connection
    from kafkalite.server.request_handler import RequestHandler
    from kafkalite.wire.fields import InMemory, Records

_SHORTEST_FRAME = 2


class Counts:
    """Requests by API key, and bytes in both directions, since the counting began."""

    def __init__(self) -> None:
        # API keys are less than 256; the last place is for frames that have none.
        self.requests = [0] * 257
        self.request_bytes = 0
        self.answer_bytes = 0

    def copied(self) -> Counts:
        """The counts as they are now."""
        copy = Counts()
        copy.requests = list(self.requests)
        copy.request_bytes, copy.answer_bytes = self.request_bytes, self.answer_bytes
        return copy

    def since(self, before: Counts, seconds: float) -> TrafficView:
        """Says how much has come since then."""
        apis: Counter[str] = Counter()
        for key, (count, earlier) in enumerate(zip(self.requests, before.requests, strict=True)):
            if count > earlier:
                apis[_name(key)] += count - earlier
        return TrafficView(
            seconds=seconds,
            requests=apis.total(),
            request_bytes=self.request_bytes - before.request_bytes,
            answer_bytes=self.answer_bytes - before.answer_bytes,
            apis=apis,
        )


def _name(key: int) -> str:
    return API_NAMES[ApiKey(key)] if key in API_NAMES else "unknown"


class CountingHandler:
    """Answers as `inner` does, and counts."""

    def __init__(self, inner: RequestHandler, counts: Counts) -> None:
        self._respond = inner.respond
        self._counts = counts

    def respond(self, connection: Connection, frame: InMemory) -> list[Records] | ResponseCoroutine:
        """The answer of `inner`. Raises what it raises."""
        counts = self._counts
        is_request = len(frame) >= _SHORTEST_FRAME and frame[0] == 0
        counts.requests[frame[1] if is_request else -1] += 1
        counts.request_bytes += len(frame)
        response = self._respond(connection, frame)
        if not isinstance(response, list):
            return self._later(response)
        for chunk in response:
            counts.answer_bytes += len(chunk)
        return response

    async def _later(self, response: ResponseCoroutine) -> list[Records]:
        chunks: list[Records] = await response
        self._counts.answer_bytes += sum(map(len, chunks))
        return chunks
