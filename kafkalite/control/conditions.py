"""Conditions that are waited for, as data, and what of them is missing, in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from kafkalite.broker import Broker
from kafkalite.cluster.image import NO_LEADER
from kafkalite.control.answers import GroupView, MemberView
from kafkalite.control.durations import seconds, shown
from kafkalite.control.faults.book import RuleBook, RuleState
from kafkalite.control.faults.rule import Action, Rule
from kafkalite.control.problems import Problem
from kafkalite.control.questions import (
    CommittedIs,
    ConnectionsAre,
    FaultIs,
    GroupIs,
    HeldAre,
    LagIs,
    QuietFor,
    RecordsAre,
    RequestCame,
    TopicIs,
    TransactionIs,
    Until,
)
from kafkalite.control.views import committed_by, committed_view, viewing_group
from kafkalite.replica.partition import Partition
from kafkalite.requests.slices import Steps, at_once


@dataclass(frozen=True, slots=True)
class Looked:
    """Tells whether a condition holds, what was seen, and what is missing if it does not."""

    met: bool
    seen: dict[str, Any]
    because: str = ""


@dataclass(frozen=True, slots=True)
class Sight:
    """Says what conditions look at, when they look: a cluster may begin anew meanwhile.

    `now` is trio's clock, `client_ids` are those of open connections, `stands_still` tells whether
    the cluster's time does. `data_number` is another once there are other data.
    """

    broker_now: Callable[[], Broker]
    book_now: Callable[[], RuleBook]
    client_ids: Callable[[], list[str]]
    now: Callable[[], float]
    stands_still: Callable[[], bool]
    data_number: Callable[[], int]

    @property
    def broker(self) -> Broker:
        """The broker that serves now."""
        return self.broker_now()

    @property
    def book(self) -> RuleBook:
        """The rules that hold now."""
        return self.book_now()


# In steps: what is looked at may change in between.
Look = Callable[[], Steps[Looked]]
# The note of a rule that only counts for somebody who waits.
WAITING = "counts for a wait"


def look_for(until: Until, sight: Sight) -> Look:
    """A function that looks whether it holds. Raises Problem for one that says nothing."""
    given = [name for name in until.__struct_fields__ if getattr(until, name) is not None]
    if len(given) != 1:
        raise Problem(
            "invalid_condition",
            f"a condition is one thing, and this is {', '.join(given) or 'none'}",
            hint='{"group": {"id": "billing", "members": 3}}, or {"all": [...]}',
        )
    return _LOOKS[given[0]](getattr(until, given[0]), sight)


def _look_for_group(wanted: GroupIs, sight: Sight) -> Look:
    since = sight.now()
    last = ""

    def look() -> Steps[Looked]:
        nonlocal since, last
        found = sight.broker.services.group_coordinator.interventions.group(wanted.id)
        if found is None:
            return Looked(wanted.members == 0, {}, f"group {wanted.id} does not exist")
        group = yield from viewing_group(sight.broker, found)
        if group.state != last:
            since, last = sight.now(), group.state
        missing = _missing_in(group, wanted)
        if missing and sight.stands_still() and not all(each.ready for each in group.members):
            missing.append("time stands still, so no session ends: `groups expire` ends one")
        lasting = shown((sight.now() - since) * 1000)
        because = f"group {group.id} is {group.state} for {lasting}: {'; '.join(missing)}"
        return Looked(not missing, _seen_of(group), because if missing else "")

    return look


def _seen_of(group: GroupView) -> dict[str, Any]:
    return {
        "state": group.state,
        "generation": group.generation,
        "members": [member.member_id for member in group.members],
        "assigned": {member.member_id: member.assigned for member in group.members},
    }


def _missing_in(group: GroupView, wanted: GroupIs) -> list[str]:
    missing: list[str] = []
    members = group.members
    if wanted.members is not None and len(members) != wanted.members:
        came = ", ".join(_named(member) for member in members) or "none"
        missing.append(f"{len(members)} of {wanted.members} members are there ({came})")
    if wanted.assigned:
        waiting = [member for member in members if not member.ready]
        late = [member for member in waiting if member.is_waited_for] or waiting
        if not members:
            missing.append("it has no members")
        if 0 < len(late) < len(waiting):
            there = ", ".join(_named(member) for member in waiting if member not in late)
            missing.append(f"{len(waiting) - len(late)} of {len(members)} are there ({there})")
        if waiting:
            names = ", ".join(_waited_for(member) for member in late)
            missing.append(f"waiting for {names}")
        elif group.state != "Stable" and members:
            missing.append("its members are not all assigned yet")
    if wanted.state is not None and _plain(group.state) != _plain(wanted.state):
        missing.append(f"it is to be {wanted.state}")
    if wanted.generation is not None and group.generation < wanted.generation:
        missing.append(f"its generation is {group.generation}, not {wanted.generation}")
    if wanted.topics is not None:
        assigned = {topic for member in members for topic in member.assigned}
        absent = sorted(set(wanted.topics) - assigned)
        if absent:
            missing.append(f"no member is assigned {', '.join(absent)}")
    return missing


def _plain(state: str) -> str:
    return state.replace("_", "").lower()


def _named(member: MemberView) -> str:
    return f"{member.member_id} at {member.client_host}"


def _waited_for(member: MemberView) -> str:
    if member.session_ends_in_ms is None or member.silent_ms is None:
        return member.member_id
    silent, left = shown(member.silent_ms), shown(member.session_ends_in_ms)
    return f"{member.member_id} (last heard of {silent} ago, its session ends in {left})"


def _look_for_records(wanted: RecordsAre, sight: Sight) -> Look:
    def of_partition(each: Partition) -> int:
        log = each.log
        end = log.last_stable_offset if wanted.committed else log.high_watermark
        return end - log.log_start_offset

    def count() -> Steps[int | None]:
        if (topic := sight.broker.services.topics.get(wanted.topic)) is None:
            return None
        found = 0
        for each in topic.partitions:
            if wanted.partition in (None, each.index):
                found += of_partition(each)
            yield
        return found

    data, base = sight.data_number(), (at_once(count()) or 0) if wanted.since_now else 0

    def look() -> Steps[Looked]:
        nonlocal data, base
        found = yield from count()
        if data != sight.data_number():  # what is there in the beginning is not new
            data, base = sight.data_number(), (found or 0) if wanted.since_now else 0
        if found is None:
            return Looked(False, {}, f"topic {wanted.topic} does not exist")
        records = found - base
        kind = "committed records" if wanted.committed else "records"
        where = wanted.topic if wanted.partition is None else f"{wanted.topic}-{wanted.partition}"
        because = f"{where} has {records} of {wanted.at_least} {kind}"
        met = records >= wanted.at_least
        return Looked(met, {"records": records}, "" if met else because)

    return look


def _look_at_lag(wanted: LagIs, sight: Sight) -> Steps[Looked]:
    offsets = [
        each
        for each in (yield from committed_by(sight.broker, wanted.group))
        if wanted.topics is None or each.topic in wanted.topics
    ]
    if not offsets:
        return Looked(False, {}, f"group {wanted.group} has committed nothing")
    lag = sum(each.lag for each in offsets)
    behind = ", ".join(
        f"{each.topic}-{each.partition} by {each.lag}" for each in offsets if each.lag
    )
    met = lag <= wanted.at_most
    because = f"group {wanted.group} is {lag} records behind ({behind})"
    return Looked(met, {"lag": lag}, "" if met else because)


def _look_at_committed(wanted: CommittedIs, sight: Sight) -> Looked:
    place = f"{wanted.topic}-{wanted.partition}"
    found = committed_view(sight.broker, wanted.group, wanted.topic, wanted.partition)
    if found is not None:
        because = f"group {wanted.group} has committed {found.offset} of {place}, "
        because += f"not {wanted.offset}"
        met = found.offset >= wanted.offset
        return Looked(met, {"offset": found.offset}, "" if met else because)
    return Looked(False, {}, f"group {wanted.group} has committed nothing of {place}")


def _look_at_transaction(wanted: TransactionIs, sight: Sight) -> Looked:
    for each in sight.broker.services.transaction_coordinator.all():
        if each.transactional_id == wanted.id:
            state = each.state.title
            met = _plain(state) == _plain(wanted.state)
            because = f"the transaction of {wanted.id} is {state}, not {wanted.state}"
            return Looked(met, {"state": state}, "" if met else because)
    return Looked(False, {}, f"there is no transactional id {wanted.id}")


def _look_for_request(wanted: RequestCame, sight: Sight) -> Look:
    """Counts with a rule of its own, which goes with the function that looks."""
    from weakref import finalize

    rule = Rule(when=wanted.when, times=None, do=(Action(count=True),), optional=True, note=WAITING)
    book = sight.book
    state = book.add(rule)

    def look() -> Steps[Looked]:
        nonlocal book, state
        if sight.book is not book:  # a reset has begun another one
            book, state = sight.book, sight.book.add(rule)
            finalize(look, book.discard, state)
        yield
        met = state.matched >= wanted.count
        because = f"{state.matched} of {wanted.count} such requests came"
        if not state.matched:
            because += f" ({state.what_came()})"
        return Looked(met, {"requests": state.matched}, "" if met else because)

    finalize(look, book.discard, state)
    return look


def _state_of(book: RuleBook, rule_id: str) -> RuleState | None:
    return next((state for state in book.states() if state.rule.id == rule_id), None)


def _look_at_fault(wanted: FaultIs, sight: Sight) -> Looked:
    state = _state_of(sight.book, wanted.id)
    if state is None:
        return Looked(False, {}, f"there is no fault {wanted.id}")
    met = state.applied >= wanted.applied
    because = f"fault {wanted.id} was applied {state.applied} of {wanted.applied} times"
    if not state.applied:
        because = state.why_unfired()
    return Looked(met, {"applied": state.applied}, "" if met else because)


def _look_at_held(wanted: HeldAre, sight: Sight) -> Looked:
    state = _state_of(sight.book, wanted.id)
    held = 0 if state is None else state.held
    met = held >= wanted.count
    because = f"fault {wanted.id} holds {held} of {wanted.count} requests"
    return Looked(met, {"held": held}, "" if met else because)


def _look_at_connections(wanted: ConnectionsAre, sight: Sight) -> Looked:
    names = sight.client_ids()
    count = sum(wanted.client_id in (None, name) for name in names)
    low, high = wanted.at_least or 0, wanted.at_most
    met = count >= low and (high is None or count <= high)
    of = "" if wanted.client_id is None else f" of client {wanted.client_id}"
    limit = f"at least {low}" if count < low else f"at most {high}"
    because = f"{count} connections{of} are open, {limit} are waited for"
    return Looked(met, {"connections": count}, "" if met else because)


def _look_at_topic(wanted: TopicIs, sight: Sight) -> Looked:
    topic = sight.broker.services.topics.get(wanted.name)
    if topic is None:
        absent = f"topic {wanted.name} does not exist"
        return Looked(not wanted.exists, {"exists": False}, absent)
    if not wanted.exists:
        return Looked(False, {"exists": True}, f"topic {wanted.name} is still there")
    without = [each.index for each in topic.partitions if each.leader_id == NO_LEADER]
    if wanted.leaders and without:
        names = ", ".join(f"{wanted.name}-{index}" for index in without)
        return Looked(False, {"exists": True}, f"{names} has no leader")
    return Looked(True, {"exists": True})


def _look_for_quiet(wanted: QuietFor, sight: Sight) -> Look:
    lasting = seconds(wanted.lasting, field="quiet.for")
    last: dict[object, object] = {}
    since = sight.now()

    def look() -> Steps[Looked]:
        nonlocal last, since
        services = sight.broker.services
        state: dict[object, object] = {}
        for log in services.logs.manager.logs:
            state[log.name] = log.log_end_offset
            yield
        for group in list(services.group_coordinator.interventions.groups()):
            state["group", group.group_id] = group.state, frozenset(group.members)
            yield
        if state != last:
            last, since = state, sight.now()
        quiet = sight.now() - since
        met = quiet >= lasting
        because = f"the last record was written {shown(quiet * 1000)} ago, not {wanted.lasting}"
        return Looked(met, {"quiet_ms": round(quiet * 1000)}, "" if met else because)

    return look


def _look_for_all(wanted: tuple[Until, ...], sight: Sight) -> Look:
    looks = [look_for(each, sight) for each in wanted]

    def look() -> Steps[Looked]:
        results: list[Looked] = []
        for each in looks:
            results.append((yield from each()))
        missing = "; ".join(each.because for each in results if not each.met)
        return Looked(not missing, {"all": [each.seen for each in results]}, missing)

    return look


def _look_for_any(wanted: tuple[Until, ...], sight: Sight) -> Look:
    looks = [look_for(each, sight) for each in wanted]

    def look() -> Steps[Looked]:
        results: list[Looked] = []
        for each in looks:
            results.append((yield from each()))
        met = any(each.met for each in results)
        missing = " and ".join(each.because for each in results)
        return Looked(met, {"any": [each.seen for each in results]}, "" if met else missing)

    return look


def _look_for_not(wanted: Until, sight: Sight) -> Look:
    inner = look_for(wanted, sight)

    def look() -> Steps[Looked]:
        result = yield from inner()
        because = f"this still holds: {result.seen}" if result.met else ""
        return Looked(not result.met, result.seen, because)

    return look


def _plainly(look: Callable[[Any, Sight], Looked]) -> Callable[[Any, Sight], Look]:
    """For conditions that remember nothing from one look to the next."""

    def steps(wanted: Any, sight: Sight) -> Steps[Looked]:
        yield
        return look(wanted, sight)

    return lambda wanted, sight: partial(steps, wanted, sight)


_LOOKS: dict[str, Callable[[Any, Sight], Look]] = {
    "group": _look_for_group,
    "records": _look_for_records,
    "lag": lambda wanted, sight: partial(_look_at_lag, wanted, sight),
    "committed": _plainly(_look_at_committed),
    "transaction": _plainly(_look_at_transaction),
    "request": _look_for_request,
    "fault": _plainly(_look_at_fault),
    "held": _plainly(_look_at_held),
    "connections": _plainly(_look_at_connections),
    "topic": _plainly(_look_at_topic),
    "quiet": _look_for_quiet,
    "all": _look_for_all,
    "any": _look_for_any,
    "not_": _look_for_not,
}
