"""Fault rules as verbs: put in, looked at, taken out, released."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter

from kafkalite.control.answers import (
    FaultView,
    HitView,
    NearMissView,
    PresetView,
    Released,
    Unfired,
)
from kafkalite.control.cluster import ControlledCluster
from kafkalite.control.conditions import WAITING
from kafkalite.control.faults.book import Hit, RuleState
from kafkalite.control.faults.presets import PRESETS
from kafkalite.control.faults.rule import Rule
from kafkalite.control.paging import Page, page_in_order
from kafkalite.control.problems import not_found
from kafkalite.control.questions import FaultName, Faults, Nothing, ReleaseFault, UsePreset
from kafkalite.control.spy.ring import Ring


def fault_view(cluster: ControlledCluster, state: RuleState) -> FaultView:
    """A rule with what became of it."""
    return FaultView(
        rule=state.rule,
        matched=state.matched,
        applied=state.applied,
        left=state.left,
        held=state.held,
        seed=state.seed,
        hits=[_hit_view(cluster.spy.ring, hit) for hit in state.hits],
        near=[
            NearMissView(criterion, near.count, list(near.seen))
            for criterion, near in state.near.items()
        ],
    )


def _hit_view(ring: Ring, hit: Hit) -> HitView:
    seq = None
    if hit.correlation_id is not None:
        seq = ring.seq_of(hit.connection, hit.correlation_id, hit.at_ns)
    return HitView(
        seq=seq,
        at_ms=hit.at_ns / 1e6,
        cluster_ms=hit.cluster_ms,
        connection=hit.connection,
        client_id=hit.client_id,
        api=hit.api,
        version=hit.version,
        correlation_id=hit.correlation_id,
        did=list(hit.did),
    )


async def list_faults(cluster: ControlledCluster, request: Page) -> list[FaultView]:
    """All faults in the order in which they are looked at."""
    if not cluster.has_faults:
        return []
    states = [each for each in cluster.faults.book.states() if each.rule.note != WAITING]
    return [
        fault_view(cluster, each)
        for each in page_in_order(states, request, lambda each: each.rule.id)
    ]


async def show_fault(cluster: ControlledCluster, request: FaultName) -> FaultView:
    """One fault: how often it matched, what it did, what came instead."""
    return fault_view(cluster, cluster.faults.book.get(request.fault))


async def add_fault(cluster: ControlledCluster, request: Rule) -> FaultView:
    """Put a fault behind the others. It takes effect for the next request, on open connections
    too.
    """
    _check_verbs(request)
    state = cluster.faults.book.add(request)
    _wake(cluster, [request])
    return fault_view(cluster, state)


def _check_verbs(rule: Rule) -> None:
    """Raises Problem where a verb that a rule is to do is not there, or takes other arguments."""
    from kafkalite.control.verbs import request_of

    for action in rule.all_actions:
        if action.run is not None:
            request_of(action.run, action.arguments)


def _wake(cluster: ControlledCluster, rules: Iterable[Rule]) -> None:
    """Answer the requests that wait for records, if a rule is to see the next ones."""
    if any(rule.wake for rule in rules):
        for connection in cluster.broker.connections:
            connection.answer_early()


async def replace_fault(cluster: ControlledCluster, request: Rule) -> FaultView:
    """Put a fault in the place of the one of this id."""
    _check_verbs(request)
    cluster.faults.holds.release(request.id)
    state = cluster.faults.book.replace(request)
    _wake(cluster, [request])
    return fault_view(cluster, state)


async def replace_faults(cluster: ControlledCluster, request: Faults) -> list[FaultView]:
    """These faults and no others."""
    for rule in request.faults:
        _check_verbs(rule)
    states = cluster.faults.book.replace_all(request.faults)
    cluster.faults.holds.release_all()
    _wake(cluster, request.faults)
    return [fault_view(cluster, state) for state in states]


async def remove_fault(cluster: ControlledCluster, request: FaultName) -> Nothing:
    """Take a fault out, and let go what it holds."""
    cluster.faults.remove(request.fault)
    return Nothing()


async def clear_faults(cluster: ControlledCluster, request: Nothing) -> Nothing:
    """Take all faults out, and let go what they hold."""
    if cluster.has_faults:
        cluster.faults.clear()
    return Nothing()


async def release_fault(cluster: ControlledCluster, request: ReleaseFault) -> Released:
    """Let go requests that a fault holds: all, or so many of those that waited longest."""
    cluster.faults.book.get(request.fault)
    return Released(cluster.faults.released(request.fault, request.count))


async def unfired_faults(cluster: ControlledCluster, request: Nothing) -> Unfired:
    """For each fault that was never applied and is not optional: what came instead."""
    return Unfired(cluster.faults.book.unfired() if cluster.has_faults else [])


async def list_presets(cluster: ControlledCluster, request: Page) -> list[PresetView]:
    """Ready-made faults, each with its parameters."""
    return [
        PresetView(name, preset.doc, preset.parameters, preset.required)
        for name, preset in page_in_order(PRESETS.items(), request, itemgetter(0))
    ]


async def use_preset(cluster: ControlledCluster, request: UsePreset) -> list[FaultView]:
    """Put a ready-made fault in; some are several rules."""
    found = PRESETS.get(request.preset)
    if found is None:
        raise not_found("preset", request.preset, hint=f"there are {', '.join(PRESETS)}")
    rules = found.rules(request.parameters)
    return [fault_view(cluster, cluster.faults.book.add(rule)) for rule in rules]
