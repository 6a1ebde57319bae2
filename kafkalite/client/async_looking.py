"""The verbs of looking.py, awaited. Made by make_async.py, not to be edited."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from kafkalite.client.values import written
from kafkalite.control.answers import UnsupportedView
from kafkalite.control.problems import Problem
from kafkalite.control.sightings import EventView, Mode, RequestView, SpyView, TrafficView

if TYPE_CHECKING:
    from kafkalite.control.paging import Paging


class AsyncLooking:
    """Changes nothing but the spy."""

    async def ask(self, verb: str, **fields: Any) -> Any:
        """Do a verb by its name in the table. Raises Problem."""
        raise NotImplementedError

    async def spy(self, mode: Mode = "on", *, bytes: int | None = None) -> SpyView:
        """Keep requests and answers from now on, in so many bytes; "full": with all of them."""
        return await self.ask("spy.set", mode=mode, bytes=bytes)

    async def requests(
        self,
        api: str | None = None,
        *,
        client_id: str | None = None,
        topic: str | None = None,
        error: str | None = None,
        after: int | None = None,
        limit: int = 1000,
    ) -> list[RequestView]:
        """The requests that the spy has kept, decoded: the last ones, or those after one.

        Raises Problem if there are none, and the spy is off.
        """
        wanted = {"api": api, "client_id": client_id, "topic": topic, "error": error}
        found: list[RequestView] = await self.ask(
            "requests.list", **wanted, after=after, limit=limit, bodies=True
        )
        if not found:
            shown = await self.ask("spy.show")
            if shown.mode == "off":
                raise Problem("conflict", "the spy is off", hint='spy("on") puts it on')
        return found

    async def events(
        self, kind: str | None = None, *, after: int | None = None, limit: int = 1000
    ) -> list[EventView]:
        """Changes of state, each with its reason: the last ones, or those after one."""
        return await self.ask("events", kind=kind, after=after, limit=limit)

    async def trace(self, path: str | Path, *, frames: bool = False) -> Path:
        """Write events and requests to a ZIP file. Raises OSError."""
        saved = await self.ask("trace.save", frames=frames)
        return written(Path(path), saved.data)

    async def traffic(self, over: str = "1s") -> TrafficView:
        """Requests by API, and bytes, counted for so long."""
        return await self.ask("traffic", over=over)

    async def unsupported(self, **page: Unpack[Paging]) -> list[UnsupportedView]:
        """Configs that were set and have no effect, or are not known."""
        return await self.ask("doctor", **page)
