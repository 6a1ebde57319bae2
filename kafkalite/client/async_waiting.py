"""The verbs of waiting.py, awaited. Made by make_async.py, not to be edited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafkalite.client.async_parts import AsyncAsks, AsyncFault
from kafkalite.client.errors import WaitTimeout
from kafkalite.control.answers import Waited
from kafkalite.control.conversion import converted
from kafkalite.control.questions import Until


class AsyncWait:
    """Waiting in the broker. Each raises WaitTimeout with a sentence that says what is
    missing.
    """

    def __init__(self, kit: AsyncAsks) -> None:
        self._kit = kit

    async def until(self, until: Until | Mapping[str, Any], timeout: str = "10s") -> Waited:
        """Waits for any condition, as data."""
        condition = until if isinstance(until, Until) else converted(until, Until)
        waited: Waited = await self._kit.ask("wait", until=condition, timeout=timeout)
        if not waited.met:
            raise WaitTimeout(f"{waited.because} (after {timeout})")
        return waited

    async def _for(self, kind: str, timeout: str, **fields: Any) -> Waited:
        given = {name: value for name, value in fields.items() if value is not None}
        return await self.until({kind: given}, timeout)

    async def group(
        self,
        id: str,
        *,
        members: int | None = None,
        assigned: bool = False,
        state: str | None = None,
        topics: Sequence[str] | None = None,
        generation: int | None = None,
        timeout: str = "10s",
    ) -> Waited:
        """A group with so many members, each of which has its partitions."""
        return await self._for(
            "group",
            timeout,
            id=id,
            members=members,
            assigned=assigned,
            state=state,
            topics=topics,
            generation=generation,
        )

    async def records(
        self,
        topic: str,
        at_least: int = 1,
        *,
        partition: int | None = None,
        committed: bool = False,
        since_now: bool = False,
        timeout: str = "10s",
    ) -> Waited:
        """So many records in a topic."""
        return await self._for(
            "records",
            timeout,
            topic=topic,
            at_least=at_least,
            partition=partition,
            committed=committed,
            since_now=since_now,
        )

    async def lag(
        self,
        group: str,
        at_most: int = 0,
        *,
        topics: Sequence[str] | None = None,
        timeout: str = "10s",
    ) -> Waited:
        """A group has committed all but so many records."""
        return await self._for("lag", timeout, group=group, at_most=at_most, topics=topics)

    async def committed(
        self, group: str, topic: str, partition: int, offset: int, *, timeout: str = "10s"
    ) -> Waited:
        """A group has committed an offset."""
        return await self._for(
            "committed", timeout, group=group, topic=topic, partition=partition, offset=offset
        )

    async def transaction(self, id: str, state: str, *, timeout: str = "10s") -> Waited:
        """A transactional id is in a state."""
        return await self._for("transaction", timeout, id=id, state=state)

    async def fault(
        self, fault: AsyncFault | str, applied: int = 1, *, timeout: str = "10s"
    ) -> Waited:
        """A fault was applied so often."""
        fault_id = fault if isinstance(fault, str) else fault.id
        return await self._for("fault", timeout, id=fault_id, applied=applied)

    async def held(
        self, fault: AsyncFault | str, count: int = 1, *, timeout: str = "10s"
    ) -> Waited:
        """A fault holds so many requests."""
        fault_id = fault if isinstance(fault, str) else fault.id
        return await self._for("held", timeout, id=fault_id, count=count)

    async def connections(
        self,
        client_id: str | None = None,
        *,
        at_least: int | None = None,
        at_most: int | None = None,
        timeout: str = "10s",
    ) -> Waited:
        """So many connections are open."""
        return await self._for(
            "connections", timeout, client_id=client_id, at_least=at_least, at_most=at_most
        )

    async def request(
        self, api: Any, *, count: int = 1, timeout: str = "10s", **when: Any
    ) -> Waited:
        """So many requests that meet these criteria come from now on."""
        return await self._for("request", timeout, when={"api": api, **when}, count=count)

    async def topic(
        self, name: str, *, exists: bool = True, leaders: bool = False, timeout: str = "10s"
    ) -> Waited:
        """A topic exists, or not."""
        return await self._for("topic", timeout, name=name, exists=exists, leaders=leaders)

    async def quiet(self, lasting: str = "1s", *, timeout: str = "10s") -> Waited:
        """Nothing was produced or committed for so long."""
        return await self.until(converted({"quiet": {"for": lasting}}, Until), timeout)
