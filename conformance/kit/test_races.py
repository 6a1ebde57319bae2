"""The races of the testing kit, short: `make kit-races` has the long ones."""

from __future__ import annotations

from conformance.kit.races import race_resets, race_waits

RACES = 200
RESETS = 20


async def test_no_wait_misses_what_it_waits_for() -> None:
    await race_waits(RACES)


def test_resets_under_load_leave_nothing() -> None:
    first, last = race_resets(RESETS)
    assert not first.has_grown_to(last), (first, last)
