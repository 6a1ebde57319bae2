"""Topics that one request creates or grows: many of them are one change of the metadata.

Each is planned by itself, and may be refused by itself. What is planned is added together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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
    wanted: Iterable[A], plan: Callable[[A], Steps[tuple[T, list[object]]]], add: Add | None
) -> WaitingSteps[list[T | KafkaError]]:
    """Add what is wanted. For each the result of its plan, or the error.

    `plan` gives the result and the records. Without `add` nothing is added.
    """
    records: list[object] = []
    planned: list[int] = []
    results: list[T | KafkaError] = []
    for each in wanted:
        try:
            result, of_this = yield from plan(each)
        except KafkaError as error:
            results.append(error)
            continue
        results.append(result)
        if add is None:
            continue
        planned.append(len(results) - 1)
        records.extend(of_this)
        del of_this
        if len(planned) == TOPICS_AT_ONCE or len(records) >= _RECORDS_AT_ONCE:
            yield from _added(add, records, planned, results)
            records, planned = [], []
    if add is not None and planned:
        yield from _added(add, records, planned, results)
    return results


def _added(
    add: Add, records: list[object], planned: list[int], results: list[T | KafkaError]
) -> WaitingSteps[None]:
    """`planned` are places in the results, which tell of an error."""
    try:
        yield from add(records)
    except KafkaError as error:
        for place in planned:
            results[place] = error


def placed_elsewhere(
    wanted: Sequence[A], work: Callable[[Sequence[A]], WaitingSteps[list[T]]]
) -> WaitingSteps[list[T]]:
    """The results of `work`, done again for each that a failing directory could not take: it gets
    no more logs."""
    results = yield from work(wanted)
    for place, result in enumerate(results):
        if isinstance(result, DirectoryFailed):
            (results[place],) = yield from placed_elsewhere([wanted[place]], work)
    return results
