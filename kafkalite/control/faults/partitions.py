"""Errors of single partitions: those that a rule names are refused, the others are answered
truly.

A request is split in two: what is refused, and the rest, which is handled. The refusals are
put into the answer at the places that the request gave them. Two APIs differ:

- Fetch has sessions, in which partitions are not named again. So the whole request is handled,
  without waiting, and the refusals take the place of what was read.
- AddPartitionsToTxn adds all or none: the rest is told OPERATION_NOT_ATTEMPTED, as by Kafka.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any, Final
from uuid import UUID

from kafkalite.control.faults.matching import TopicPlace
from kafkalite.control.faults.refusals import partition_lists, partition_refusal
from kafkalite.requests.names import TopicName, class_of, partition_number, shown_topic, topic_of
from kafkalite.wire.api_keys import FETCH_BY_ID_SINCE, ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.fields import NO_UUID
from kafkalite.wire.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from kafkalite.wire.schema import Field, Shape, fields_of

_PARTITION_LISTS: Final = ("partitions", "partition_data", "partition_indexes")
_OUTER_LISTS: Final = ("topics",)
# Fields that identify an element of a list.
_IDENTITY: Final = (
    "transactional_id",
    "group_id",
    "producer_id",
    "name",
    "topic",
    "topic_name",
    "topic_id",
    "partition_index",
    "partition",
    "index",
    "partition_id",
)


@dataclasses.dataclass(slots=True)
class Split:
    """A request in two; None for a half without partitions."""

    refused: Any | None
    rest: Any | None


def split(
    api_key: ApiKey, request: Any, places: frozenset[TopicPlace], topic_name: TopicName
) -> Split:
    """The request with the partitions of `places` only, and with all others."""

    def is_refused(topic: str | UUID, index: int | None) -> bool:
        return (shown_topic(topic, topic_name), index) in places

    refused: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for _, name in partition_lists(api_key):
        elements: list[Any] | None = getattr(request, name, None)
        if elements:
            refused[name] = _taken(elements, is_refused, wanted=True)
            rest[name] = _taken(elements, is_refused, wanted=False)
    return Split(
        dataclasses.replace(request, **refused) if any(refused.values()) else None,
        dataclasses.replace(request, **rest) if any(rest.values()) else None,
    )


def _taken(
    elements: Iterable[Any], is_refused: Callable[[str | UUID, int | None], bool], *, wanted: bool
) -> list[Any]:
    taken: list[Any] = []
    for element in elements:
        if isinstance(element, str):
            if is_refused(element, None) is wanted:
                taken.append(element)
            continue
        outer = next((name for name in _OUTER_LISTS if hasattr(element, name)), None)
        if outer is not None:
            inner = _taken(getattr(element, outer) or (), is_refused, wanted=wanted)
            if inner:
                taken.append(dataclasses.replace(element, **{outer: inner}))
            continue
        topic = topic_of(element)
        lists = [name for name in _PARTITION_LISTS if hasattr(element, name)]
        if not lists:
            if is_refused(topic, None) is wanted:
                taken.append(element)
            continue
        partitions = [
            each
            for each in getattr(element, lists[0]) or ()
            if is_refused(topic, partition_number(each)) is wanted
        ]
        if partitions:
            taken.append(dataclasses.replace(element, **{lists[0]: partitions}))
    return taken


def refuse_all(
    api_key: ApiKey, version: int, parts: Split, code: ErrorCode, message: str | None
) -> Any | None:
    """The whole answer, if there is nothing left to handle; None if the rest has to be."""
    refused = partition_refusal(api_key, version, parts.refused, code, message)
    if parts.rest is None:
        return refused
    if api_key is ApiKey.ADD_PARTITIONS_TO_TXN:
        rest = partition_refusal(
            api_key, version, parts.rest, ErrorCode.OPERATION_NOT_ATTEMPTED, None
        )
        return put_in(api_key, rest, refused)
    return None


def fetch_refusal(
    places: Iterable[TopicPlace], code: ErrorCode, topic_id: Callable[[str], UUID], version: int
) -> FetchResponse:
    """An answer to a Fetch that refuses these partitions: a session's are not in its
    requests.
    """
    answer = FetchResponse()
    for name, index in sorted(places, key=str):
        if index is None:
            continue
        known = topic_id(name)
        topic = next((each for each in answer.responses if each.topic == name), None)
        if topic is None:
            topic = FetchableTopicResponse(topic=name, topic_id=known)
            answer.responses.append(topic)
        refused = PartitionData(partition_index=index, error_code=int(code), high_watermark=-1)
        refused.records = b""
        topic.partitions.append(refused)
    for topic in answer.responses:
        if version >= FETCH_BY_ID_SINCE:
            topic.topic = ""
        else:
            topic.topic_id = NO_UUID
    return answer


def put_in(api_key: ApiKey, answer: Any, refused: Any) -> Any:
    """The answer with the refusals: in the place of what is there for a partition, or beside
    it.
    """
    for name, _ in partition_lists(api_key):
        if hasattr(answer, name) and getattr(refused, name, None):
            setattr(answer, name, _merged(getattr(answer, name) or [], getattr(refused, name)))
    return answer


def _merged(ours: list[Any], theirs: list[Any]) -> list[Any]:
    found = {identity(each): index for index, each in enumerate(ours)}
    merged = list(ours)
    for element in theirs:
        index = found.get(identity(element))
        if index is None:
            merged.append(element)
            continue
        inner = _inner_list(class_of(element))
        if inner is None or not getattr(element, inner.name):
            close_records(merged[index])
            merged[index] = element
        else:
            there = getattr(merged[index], inner.name)
            setattr(merged[index], inner.name, _merged(there, getattr(element, inner.name)))
    return merged


def _inner_list(class_: type[Any]) -> Field | None:
    """The list of a topic's partitions, or of an outer struct's topics."""
    return next(
        (
            each
            for each in fields_of(class_)
            if each.shape is Shape.ARRAY
            and isinstance(each.element, type)
            and any(inner.name in _IDENTITY for inner in fields_of(each.element))
            and any(name in each.name for name in ("topic", "partition"))
        ),
        None,
    )


def identity(element: Any) -> tuple[object, ...]:
    """Says what tells an element of a list from the others."""
    values = (getattr(element, name, None) for name in _IDENTITY)
    return tuple(value for value in values if value not in (None, "", NO_UUID))


def close_records(element: Any) -> None:
    """Give back a slice of a file that will not be sent."""
    close = getattr(getattr(element, "records", None), "close", None)
    if close is not None:
        close()
