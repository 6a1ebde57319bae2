"""Waiting in the broker, from Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafkalite.client.errors import WaitTimeout
from kafkalite.client.parts import Asks, Fault
from kafkalite.control.answers import Waited
from kafkalite.control.conversion import converted
from kafkalite.control.questions import Until


class Wait:
    """Waiting in the broker. Each raises WaitTimeout with a sentence that says what is
    missing.
    """

    def __init__(self, kit: Asks) -> None:
        self._kit = kit

    def until(self, until: Until | Mapping[str, Any], timeout: str = "10s") -> Waited:
        """Waits for any condition, as data."""
        condition = until if isinstance(until, Until) else converted(until, Until)
        waited: Waited = self._kit.ask("wait", until=condition, timeout=timeout)
        if not waited.met:
            raise WaitTimeout(f"{waited.because} (after {timeout})")
        return waited

    def _for(self, kind: str, timeout: str, **fields: Any) -> Waited:
        given = {name: value for name, value in fields.items() if value is not None}
        return self.until({kind: given}, timeout)

    def group(
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
        return self._for(
            "group",
            timeout,
            id=id,
            members=members,
            assigned=assigned,
            state=state,
            topics=topics,
            generation=generation,
        )

    def records(
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
        return self._for(
            "records",
            timeout,
            topic=topic,
            at_least=at_least,
            partition=partition,
            committed=committed,
            since_now=since_now,
        )

    def lag(
        self,
        group: str,
        at_most: int = 0,
        *,
        topics: Sequence[str] | None = None,
        timeout: str = "10s",
    ) -> Waited:
        """A group has committed all but so many records."""
        return self._for("lag", timeout, group=group, at_most=at_most, topics=topics)

    def committed(
        self, group: str, topic: str, partition: int, offset: int, *, timeout: str = "10s"
    ) -> Waited:
        """A group has committed an offset."""
        return self._for(
            "committed", timeout, group=group, topic=topic, partition=partition, offset=offset
        )

    def transaction(self, id: str, state: str, *, timeout: str = "10s") -> Waited:
        """A transactional id is in a state."""
        return self._for("transaction", timeout, id=id, state=state)

    def fault(self, fault: Fault | str, applied: int = 1, *, timeout: str = "10s") -> Waited:
        """A fault was applied so often."""
        fault_id = fault if isinstance(fault, str) else fault.id
        return self._for("fault", timeout, id=fault_id, applied=applied)

    def held(self, fault: Fault | str, count: int = 1, *, timeout: str = "10s") -> Waited:
        """A fault holds so many requests."""
        fault_id = fault if isinstance(fault, str) else fault.id
        return self._for("held", timeout, id=fault_id, count=count)

    def connections(
        self,
        client_id: str | None = None,
        *,
        at_least: int | None = None,
        at_most: int | None = None,
        timeout: str = "10s",
    ) -> Waited:
        """So many connections are open."""
        return self._for(
            "connections", timeout, client_id=client_id, at_least=at_least, at_most=at_most
        )

    def request(self, api: Any, *, count: int = 1, timeout: str = "10s", **when: Any) -> Waited:
        """So many requests that meet these criteria come from now on."""
        return self._for("request", timeout, when={"api": api, **when}, count=count)

    def topic(
        self, name: str, *, exists: bool = True, leaders: bool = False, timeout: str = "10s"
    ) -> Waited:
        """A topic exists, or not."""
        return self._for("topic", timeout, name=name, exists=exists, leaders=leaders)

    def quiet(self, lasting: str = "1s", *, timeout: str = "10s") -> Waited:
        """Nothing was produced or committed for so long."""
        return self.until(converted({"quiet": {"for": lasting}}, Until), timeout)
