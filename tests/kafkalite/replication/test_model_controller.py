"""The model tells when it loses records, and only then: a run of the simulation ends there."""

from __future__ import annotations

from random import Random

import pytest

from tests.kafkalite.replication.model_controller import Controller, Registered, State


@pytest.mark.parametrize(
    ("isr", "elr", "incomplete", "loses"),
    [
        ([], [], {(3, 0)}, True),  # the last known leader, whose power was cut
        ([], [], {(3, 1), (2, 0)}, False),  # another partition's, and another broker
        ([], [3], {(3, 0)}, False),  # it left in order, and has all
        ([2], [], {(3, 0)}, False),
    ],
)
def test_a_last_known_leader_whose_power_was_cut_loses_records(
    isr: list[int], elr: list[int], incomplete: set[tuple[int, int]], loses: bool
) -> None:
    controller = Controller(Random(0), (1, 2, 3), 2, 2)
    told: list[None] = []
    controller.loses = lambda: told.append(None)
    controller.incomplete = incomplete
    for broker_id in (2, 3):
        controller.brokers[broker_id] = Registered(broker_id, 0.0, fenced=False)
    state = controller.states[0] = State([1, 2, 3], isr, -1, elr=elr, last_known=3)
    controller.change(state, None)
    assert state.leader == (2 if isr else 3)
    assert bool(told) == loses
