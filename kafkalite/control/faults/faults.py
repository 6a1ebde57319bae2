"""The faults of one cluster: the rule book, the gate in the way of requests, and who is held."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any
from uuid import UUID

from kafkalite.control.faults.book import Hit, RuleBook, RuleState
from kafkalite.control.faults.disk import FaultyFiles, check_of
from kafkalite.control.faults.doing import Doing
from kafkalite.control.faults.gate import FaultGate
from kafkalite.control.faults.holds import Holds
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import NO_UUID

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkalite.broker import Broker
    from kafkalite.control.cluster import ControlledCluster


# Does a verb of the control plane by its name with its arguments.
RunVerb = Callable[[str, dict[str, Any]], Awaitable[None]]
# Starts a function as a task of the cluster.
Begin = Callable[..., None]


class Faults:
    """The gate stands in the way only while there are rules, and only of the APIs they are
    for.
    """

    def __init__(
        self,
        now_ms: Callable[[], int],
        run_verb: RunVerb,
        begin: Begin,
        seed: int = 0,
        told: Callable[..., None] | None = None,
    ) -> None:
        """Make the faults of one cluster.

        `begin` starts a verb beside a request. `told` is called with each event: a kind, a reason,
        and what it is about.
        """
        self._told = told
        self._begin = begin
        self.book = RuleBook(now_ms, seed)
        self.holds = Holds()
        self._run_verb = run_verb
        self._broker: Broker | None = None
        self._files: FaultyFiles | None = None
        self._concerned: frozenset[int] = frozenset()
        self.book.subscribe(self._rules_changed)
        self.book.applied = self._applied

    def attach(self, cluster: ControlledCluster) -> None:
        """Apply the rules to the requests of the broker that serves now."""
        self._broker = cluster.broker
        self._files = cluster.files
        self._concerned = frozenset()
        self._rules_changed()

    def forget(self) -> None:
        """Clear the rules, let go what is held, and stand aside."""
        self.holds.release_all()
        self.book.clear()
        self._broker = None

    def remove(self, rule_id: str) -> None:
        """Take a rule out, and let go what it holds. Raises Problem."""
        self.book.remove(rule_id)
        self.holds.release(rule_id)

    def clear(self) -> None:
        """Take all rules out, and let everything go."""
        self.book.clear()
        self.holds.release_all()

    def _applied(self, state: RuleState, hit: Hit) -> None:
        if self._told is not None and hit.did != ("count",):
            about = {"fault": state.rule.id, "api": hit.api, "connection": hit.connection}
            self._told("fault.applied", ", ".join(hit.did), **about)

    def released(self, rule_id: str, count: int | None) -> int:
        """Let go what a rule holds, or so many of those that waited longest; how many they were."""
        released = self.holds.release(rule_id, count)
        if self._told is not None:
            self._told("fault.released", "", fault=rule_id, requests=released)
        return released

    def _rules_changed(self) -> None:
        if self._files is not None:
            self._files.set_check(check_of(self.book) if self.book.has_disk_rules else None)
        concerned = frozenset(key for key in ApiKey if self.book.concerns(key))
        if self._broker is None or concerned == self._concerned:
            return
        self._concerned = concerned
        self._broker.set_fault_gate(self._gate(self._broker) if concerned else None)

    def _begin_verb(self, name: str, arguments: dict[str, Any]) -> Doing:
        doing = Doing()
        self._begin(self._do, doing, name, arguments)
        return doing

    async def _do(self, doing: Doing, name: str, arguments: dict[str, Any]) -> None:
        await doing.run(lambda: self._run_verb(name, arguments))
        if doing.failure is not None and self._told is not None:
            self._told("verb.failed", str(doing.failure), verb=name)

    def _gate(self, broker: Broker) -> FaultGate:
        topics = broker.services.topics

        def topic_id(name: str) -> UUID:
            topic = topics.get(name)
            return NO_UUID if topic is None else topic.topic_id

        def fetching(node_id: int, session_id: int) -> Iterable[tuple[str | UUID, int]]:
            return broker.services.fetch_sessions[node_id].covered(session_id)

        return FaultGate(
            self.book,
            self.holds,
            topic_name=topics.name_of,
            topic_id=topic_id,
            fetching=fetching,
            begin_verb=self._begin_verb,
        )
