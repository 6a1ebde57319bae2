"""The order of responses about committed offsets: partitions that are not there come first.

Kafka's broker refuses them itself and puts the answer of the coordinator behind. Once anything is
refused, each topic is in the response once, with all its partitions. Source: the Builders of
OffsetCommitResponse, TxnOffsetCommitResponse and OffsetDeleteResponse.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kafkalite.requests.slices import Steps, cut, release, release_dict
from kafkalite.wire.errors import ErrorCode

_UNKNOWN: Final = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def is_any_refused(topics: Sequence[Any]) -> bool:
    """True if a topic or partition is not there.

    `topics` are rows that end with the outcomes of partitions: index, error code. One without
    partitions is not there: if it were, it would not be in the response.
    """
    for topic in topics:
        outcomes = topic[-1]
        if not outcomes:
            return True
        for outcome in outcomes:
            if outcome[1] == _UNKNOWN:
                return True
    return False


def refused_first(topics: Sequence[Any]) -> Steps[Sequence[Any]]:
    """The topics, as for `is_any_refused`, in Kafka's order."""
    merged = _Merged()
    rest: list[Any] = []
    for topic in topics:
        key, outcomes = topic[:-1], topic[-1]
        there: list[Any] = []
        for some in cut(outcomes):
            refused = [outcome for outcome in some if outcome[1] == _UNKNOWN]
            if refused or not some:
                merged.add(key, refused)
            there += [outcome for outcome in some if outcome[1] != _UNKNOWN]
            yield
        if there:
            rest.append((key, there))
    if not merged.topics:
        yield from release([rest])
        return topics
    for key, there in rest:
        merged.add(key, there)
        yield
    yield from release([rest, topics])
    yield from release_dict(merged.outcomes)
    return merged.topics


class _Merged:
    """The topics of a response, each once, and their outcomes by what they begin with."""

    def __init__(self) -> None:
        self.topics: list[Any] = []
        self.outcomes: dict[tuple[Any, ...], list[Any]] = {}

    def add(self, key: tuple[Any, ...], outcomes: Sequence[Any]) -> None:
        held = self.outcomes.get(key)
        if held is None:
            held = self.outcomes[key] = []
            self.topics.append((*key, held))
        held += outcomes
