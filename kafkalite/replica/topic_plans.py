"""Topics that one request creates or grows: many of them are one change of the metadata.

Each is planned by itself, and may be refused by itself. What is planned is added together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from kafkalite.replica.topic import TOPICS_AT_ONCE, DirectoryFailed
from kafkalite.requests.slices import Steps, WaitingSteps
from kafkalite.wire.errors import KafkaError

A = TypeVar("A")
T = TypeVar("T")

Add = Callable[[list[object]], WaitingSteps[None]]
# Topics that grow may have as many partitions each.
_RECORDS_AT_ONCE: Final = 10_000


def carried_out(
    wanted: Sequence[A], plan: Callable[[A], Steps[tuple[T, list[object]]]], add: Add | None
) -> WaitingSteps[list[T | KafkaError]]:
    """Add what is wanted. For each the result of its plan, or the error.

    `plan` gives the result and the records. Without `add` nothing is added. What a failing
    directory could not take is planned again: it gets no more logs.
    """
    records: list[object] = []
    planned: list[int] = []
    results: list[T | KafkaError] = []

    def added(add: Add) -> WaitingSteps[None]:
        nonlocal records, planned
        of_these, places = records, planned
        records, planned = [], []
        try:
            yield from add(of_these)
        except DirectoryFailed:
            for place in places:
                (results[place],) = yield from carried_out([wanted[place]], plan, add)
        except KafkaError as error:
            for place in places:
                results[place] = error

    for place, each in enumerate(wanted):
        yield None
        try:
            result, of_this = yield from plan(each)
        except KafkaError as error:
            results.append(error.with_traceback(None))  # it would hold the frames
            continue
        results.append(result)
        if add is None:
            continue
        planned.append(place)
        records.extend(of_this)
        del of_this
        if len(planned) == TOPICS_AT_ONCE or len(records) >= _RECORDS_AT_ONCE:
            yield from added(add)
    if add is not None and planned:
        yield from added(add)
    return results
