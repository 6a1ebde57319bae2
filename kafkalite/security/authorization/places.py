"""The places of denied elements in a response, among the answers to the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import Enum
from heapq import merge
from itertools import islice
from operator import itemgetter
from typing import Any, Final, TypeVar
from uuid import UUID

from kafkalite.requests.mirrors import Mirror
from kafkalite.requests.slices import Steps, mapped
from kafkalite.wire.errors import ErrorCode

_UNKNOWN: Final = {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID}

Held = TypeVar("Held", list[Any], dict[int, Any])


class Place(Enum):
    """The place of refused elements in a response."""

    FIRST = "first"
    LAST = "last"
    AS_ASKED = "as asked"
    # First, with those that the handler refuses, in the order of the request; and each is answered
    # once, with all that was asked of it (OffsetCommitResponse.Builder).
    AMONG_REFUSED = "among refused"


def placed(
    place: Place,
    mirror: Mirror,
    elements: Sequence[Any],
    answered: Sequence[Any],
    denied: dict[int, Any],
) -> Steps[list[Any]]:
    """All answers to the elements of a request: those of the handler, and what was `denied`, by
    the index of the element, which is moved out."""
    if place is Place.LAST:
        return [*answered, *moved(denied).values()]
    if place is Place.FIRST:
        return [*moved(denied).values(), *answered]
    if place is Place.AS_ASKED:
        return (yield from interleaved(answered, denied))
    merged = yield from _among_refused(mirror, elements, answered, moved(denied))
    return (yield from _put_together(mirror, merged))


def moved(refusals: Held) -> Held:
    """Take the refusals out: only the response is to hold them.

    Very many are let go with it little by little.
    """
    taken = refusals.copy()
    refusals.clear()
    return taken


def interleaved(answered: Sequence[Any], refusals: dict[int, Any]) -> Steps[list[Any]]:
    """Answers with refusals, which are moved to their places.

    They come at the end where there are too few answers.
    """
    merged: list[Any] = []
    answers = iter(answered)
    for index, refusal in sorted(moved(refusals).items()):
        merged.extend(islice(answers, index - len(merged)))
        merged.append(refusal)
        yield
    merged.extend(answers)
    return merged


def _among_refused(
    mirror: Mirror, elements: Sequence[Any], answered: Sequence[Any], denied: dict[int, Any]
) -> Steps[list[Any]]:
    """The answers with those that are denied. The handler has put what it refused first."""
    places: dict[Any, list[int]] = {}
    for index, element in enumerate(elements):
        places.setdefault(_name_or_id(element), []).append(index)
        yield
    refused: list[tuple[int, Any]] = []
    for answer in answered:
        if not _is_unknown(mirror, answer):
            break
        place = yield from _first_refused(mirror, elements, places[_name_or_id(answer)], answer)
        refused.append((place, answer))
        yield
    merged: list[Any] = []
    for _, answer in merge(denied.items(), refused, key=itemgetter(0)):
        merged.append(answer)
        yield
    return [*merged, *answered[len(refused) :]]


def _first_refused(
    mirror: Mirror, elements: Sequence[Any], places: list[int], answer: Any
) -> Steps[int]:
    """The place of the element whose partition is the first that the answer refuses. A topic may be
    named at several `places`."""
    assert mirror.inner is not None
    outcomes = getattr(answer, mirror.inner.answered)
    if outcomes and len(places) > 1:
        index = outcomes[0].partition_index
        for place in places:
            partitions = getattr(elements[place], mirror.inner.asked)
            if any(partition.partition_index == index for partition in partitions):
                return place
            yield
    return places[0]


def _name_or_id(topic: Any) -> Any:
    topic_id: UUID | None = getattr(topic, "topic_id", None)
    return topic_id if topic_id is not None and topic_id.int else topic.name


def _is_unknown(mirror: Mirror, answer: Any) -> bool:
    """True for a topic that is not there, or of which a partition is not."""
    assert mirror.inner is not None
    outcomes = getattr(answer, mirror.inner.answered)
    return not outcomes or outcomes[0].error_code in _UNKNOWN


def _put_together(mirror: Mirror, answers: Iterable[Any]) -> Steps[list[Any]]:
    """Answers about the same as one, which has the lists of all."""
    assert mirror.inner is not None
    inner = mirror.inner.answered
    once: dict[tuple[Any, ...], tuple[Any, list[Any]]] = {}
    for answer in answers:
        key = tuple(getattr(answer, name) for name in mirror.taken)
        once.setdefault(key, (answer, []))[1].extend(getattr(answer, inner))
        yield

    def put_together(found: tuple[Any, list[Any]]) -> Any:
        answer, held = found
        return replace(answer, **{inner: held})

    return (yield from mapped(put_together, once.values()))
