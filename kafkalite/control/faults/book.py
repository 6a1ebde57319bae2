"""The rule book of a cluster: shows a request to its rules, counts, and says what is to be done.

The whole of the semantics:

1. A request is shown to the rules for its API in the order in which they were added. Each rule
   that it matches counts it.
2. A rule is due when it has matched more than `skip` requests, was applied fewer than `times`
   times, when it is the turn of `every`, within `for` of its making, and when its luck says so.
3. The actions of a due rule are done. After a final one, later rules do not see the request.

It is a plain function in one event loop, so counts are exact however many clients there are.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from time import time_ns
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

from kafkalite.control.durations import milliseconds
from kafkalite.control.faults.disk import DiskMatcher, check_disk_rule
from kafkalite.control.faults.matching import API_NAMES, Matcher, Missed, Seen, TopicPlace
from kafkalite.control.faults.paths import check_paths
from kafkalite.control.faults.rule import Action, Rule, check_rule
from kafkalite.control.problems import Problem, not_found
from kafkalite.wire.api_keys import ApiKey

if TYPE_CHECKING:
    from kafkalite.control.faults.passing import Naming
    from kafkalite.requests.context import RequestContext

_MOST_RULES: Final = 10_000
_MOST_HITS: Final = 100
_MOST_VALUES: Final = 10


@dataclass(slots=True)
class NearMiss:
    """A criterion that failed while the rule had matched nothing, and the values seen
    instead.
    """

    count: int = 0
    seen: dict[str, None] = field(default_factory=dict[str, None])
    last: tuple[object, ...] | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """One application of a rule: by the machine's clock in ns, and by the cluster's in ms.

    To an operation on a file it has neither version nor correlation id, and `connection` is the
    file's name.
    """

    at_ns: int
    cluster_ms: int
    api: str
    did: tuple[str, ...]
    connection: str
    client_id: str = ""
    version: int | None = None
    correlation_id: int | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One action that is to be done, the rule it comes from, and the partitions that matched."""

    state: RuleState
    action: Action
    places: frozenset[TopicPlace]

    @property
    def error_places(self) -> frozenset[TopicPlace]:
        """The partitions that an error is for; none for all that the request is about."""
        return self.places if self.action.only == "matched" else frozenset()


class RuleState:
    """A rule in the book, and what became of it so far."""

    def __init__(self, rule: Rule, *, made_ms: int, cluster_seed: int) -> None:
        self.rule = rule
        self.matcher = Matcher(rule.when)
        self.disk = None if rule.when.disk is None else DiskMatcher(rule.when)
        self.matched = 0
        self.applied = 0
        self.held = 0
        self.hits: deque[Hit] = deque(maxlen=_MOST_HITS)
        self.near: dict[str, NearMiss] = {}
        self.seed = crc32(rule.id.encode(), cluster_seed) if rule.seed is None else rule.seed
        self.luck = random.Random(self.seed)
        self._ends_ms = None if rule.lasting is None else made_ms + milliseconds(rule.lasting)

    @property
    def left(self) -> int | None:
        """Counts how often it may still be applied; None without a limit."""
        limit = self.rule.limit
        return None if limit is None else limit - self.applied

    @property
    def is_unfired(self) -> bool:
        """Tells whether it was never applied, though it should have been."""
        return self.applied == 0 and not self.rule.optional

    def count(self, now_ms: int) -> bool:
        """Count a match; whether the rule is due now, in which case it counts as applied."""
        rule = self.rule
        self.matched += 1
        turn = self.matched - rule.skip - 1
        if turn < 0 or turn % rule.every or self.left == 0:
            return False
        if self._ends_ms is not None and now_ms >= self._ends_ms:
            return False
        if rule.probability is not None and self.luck.random() >= rule.probability:
            return False
        self.applied += 1
        return True

    def missed(self, missed: Missed) -> None:
        """Note why a request of its API did not match."""
        near = self.near.get(missed.criterion)
        if near is None:
            near = self.near[missed.criterion] = NearMiss()
        near.count += 1
        if missed.seen == near.last:  # as most are
            return
        near.last = missed.seen
        for value in missed.seen:
            if len(near.seen) < _MOST_VALUES:
                near.seen[repr(value)] = None

    def why_unfired(self) -> str:
        """One sentence: what came instead of what was waited for."""
        name = f"fault {self.rule.id}"
        if self.matched:
            return (
                f"{name} matched {_times(self.matched)} and was never due: it skips "
                f"{self.rule.skip} and takes every {self.rule.every}"
            )
        return f"{name} was never applied: {self.what_came()}"

    def what_came(self) -> str:
        """The requests that came instead, of a rule that has matched nothing."""
        if not self.near:
            came = "request of its API came" if self.disk is None else "such operation was done"
            return f"no {came}"
        criterion, near = max(self.near.items(), key=lambda each: each[1].count)
        wanted = getattr(self.rule.when, criterion.partition(".")[0], None)
        seen = ", ".join(near.seen) or "nothing"
        return f"{self._what()} came {_times(near.count)}, {criterion} was {seen}, not {wanted!r}"

    def _what(self) -> str:
        return _api_names(self.matcher) if self.disk is None else "operations on files"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _api_names(matcher: Matcher) -> str:
    if matcher.api_keys is None:
        return "requests"
    return " or ".join(sorted(API_NAMES[key] for key in matcher.api_keys))


class RuleBook:
    """All rules of one cluster. `now_ms` is the cluster's clock."""

    def __init__(self, now_ms: Callable[[], int], seed: int = 0) -> None:
        self._now_ms = now_ms
        self._seed = seed
        self._rules: dict[str, RuleState] = {}
        self._by_api: dict[ApiKey, list[RuleState]] = {}
        self._made = 0
        self._subscribers: list[Callable[[], None]] = []
        # Told of each application of a rule.
        self.applied: Callable[[RuleState, Hit], None] | None = None

    def subscribe(self, changed: Callable[[], None]) -> None:
        """Call `changed` after rules came or went, and after one was applied."""
        self._subscribers.append(changed)

    def unsubscribe(self, changed: Callable[[], None]) -> None:
        """Call it no more."""
        self._subscribers.remove(changed)

    def __len__(self) -> int:
        return len(self._rules)

    def states(self) -> list[RuleState]:
        """Every rule with what became of it, in the order they were added."""
        return list(self._rules.values())

    def get(self, rule_id: str) -> RuleState:
        """One rule. Raises Problem."""
        try:
            return self._rules[rule_id]
        except KeyError:
            raise not_found("fault", rule_id, hint="`faults` lists those there are") from None

    def add(self, rule: Rule) -> RuleState:
        """Put a rule behind the others. Raises Problem."""
        if rule.id in self._rules:
            raise Problem("exists", f"there is a fault {rule.id!r} already", value=rule.id)
        return self.replace(rule)

    def replace(self, rule: Rule) -> RuleState:
        """Put a rule in the place of the one of the same id, or behind the others."""
        state = self._new_state(rule)
        if state.rule.id not in self._rules and len(self._rules) >= _MOST_RULES:
            raise Problem("too_many", f"there are {_MOST_RULES} faults already")
        self._rules[state.rule.id] = state
        self._changed()
        return state

    def replace_all(self, rules: Iterable[Rule]) -> list[RuleState]:
        """These rules and no others; nothing is changed if one of them is refused."""
        states = [self._new_state(rule) for rule in rules]
        self._rules = {state.rule.id: state for state in states}
        self._changed()
        return states

    def remove(self, rule_id: str) -> RuleState:
        """Take a rule out. Raises Problem."""
        state = self.get(rule_id)
        del self._rules[rule_id]
        self._changed()
        return state

    def discard(self, state: RuleState) -> None:
        """Take a rule out, if it is still the one of its name."""
        if self._rules.get(state.rule.id) is state:
            self.remove(state.rule.id)

    def clear(self) -> None:
        """Take all rules out."""
        self._rules.clear()
        self._changed()

    def _new_state(self, rule: Rule) -> RuleState:
        check_disk_rule(check_rule(rule))
        if not rule.id:
            from msgspec.structs import replace

            self._made += 1
            rule = replace(rule, id=f"fault-{self._made}")
        state = RuleState(rule, made_ms=self._now_ms(), cluster_seed=self._seed)
        check_paths(rule, state.matcher.api_keys)
        return state

    def _changed(self) -> None:
        self._by_api = {
            key: rules
            for key in ApiKey
            if (
                rules := [
                    state
                    for state in self._rules.values()
                    if state.disk is None
                    and (state.matcher.api_keys is None or key in state.matcher.api_keys)
                ]
            )
        }
        self._tell()

    def _tell(self) -> None:
        for changed in tuple(self._subscribers):
            changed()

    def concerns(self, api_key: int) -> bool:
        """Tells whether any rule is for requests of this API."""
        return api_key in self._by_api

    @property
    def has_disk_rules(self) -> bool:
        """Tells whether any rule is for operations on files."""
        return any(state.disk is not None for state in self._rules.values())

    def disk_actions(self, operation: str, path: Path) -> list[Action]:
        """Show an operation on a file to the rules: what is to be done to it. Any thread may ask.

        Those who wait for a rule to be applied look again by themselves.
        """
        actions: list[Action] = []
        for state in list(self._rules.values()):
            if state.disk is None:
                continue
            missed = state.disk.missed(operation, path)
            if missed is not None:
                if not state.matched and missed[0] != "disk":
                    state.missed(Missed(missed[0], (missed[1],)))
                continue
            actions += self._due(state, f"disk {operation}", connection=path.name)
            if any(action.is_final for action in actions):
                break
        return actions

    def passes_by(
        self, api_key: ApiKey, context: RequestContext, naming: Naming, body: Any
    ) -> bool:
        """Tells whether no rule can match a request, a row or a message, and notes why."""
        found: list[tuple[RuleState, Missed]] = []
        for state in self._by_api.get(api_key, ()):
            missed = state.matcher.missed_at_once(context, naming, body)
            if missed is None:
                return False
            found.append((state, missed))
        for state, missed in found:
            if not state.matched:
                state.missed(missed)
        return True

    def steps(self, seen: Seen) -> list[Step]:
        """Show a request to the rules: what is to be done to it, in order."""
        steps: list[Step] = []
        for state in self._by_api.get(seen.api_key, ()):
            result = state.matcher.match(seen)
            if isinstance(result, Missed):
                if not state.matched:
                    state.missed(result)
                continue
            actions = self._due(
                state,
                API_NAMES[seen.api_key],
                connection=seen.connection,
                client_id=seen.client_id,
                version=seen.version,
                correlation_id=seen.correlation_id,
            )
            steps += [Step(state, action, result.places) for action in actions]
            if any(action.is_final for action in actions):
                break
        if steps:
            self._tell()
        return steps

    def _due(self, state: RuleState, api: str, **of: Any) -> tuple[Action, ...]:
        """The actions that are due, which are noted as a Hit of these fields."""
        after = state.rule.when.after
        if after is not None:
            first = self._rules.get(after)
            if first is None or not first.applied:
                return ()
        turn = state.applied
        now_ms = self._now_ms()
        if not state.count(now_ms):
            return ()
        actions = state.rule.actions(turn)
        did = tuple(described(action) for action in actions) or ("nothing",)
        hit = Hit(time_ns(), now_ms, api, did, **of)
        state.hits.append(hit)
        if self.applied is not None:
            self.applied(state, hit)
        return actions

    def unfired(self) -> list[str]:
        """For each rule that was never applied and is not optional, why."""
        return [state.why_unfired() for state in self._rules.values() if state.is_unfired]


def described(action: Action) -> str:
    """An action in a few words: "silence after", "error NOT_LEADER_OR_FOLLOWER"."""
    kind = action.kind
    value: object = getattr(action, kind)
    if value is True:
        return kind
    words = f"{kind} {value}"
    return f"{words}, after applying" if action.apply else words
