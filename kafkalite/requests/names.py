"""Says what a request names: topics with their partitions, groups, members, transactional ids,
producers.

Found by the declarations of the messages. For each class of request the fields that name
something are looked up once; a request is then walked along these only.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeGuard, cast
from uuid import UUID

from kafkalite.requests.slices import Steps, at_once
from kafkalite.wire.api_keys import TOPIC_RESOURCE, CoordinatorType
from kafkalite.wire.fields import NO_UUID, records
from kafkalite.wire.record_batch import HEADER_BYTES, RecordBatch
from kafkalite.wire.schema import Field, Shape, fields_of

# The name of a topic id, if a topic has it.
TopicName = Callable[[UUID], str | None]
# A topic's name or id, and a partition if one was named.
Place = tuple[str | UUID, int | None]

_GROUP_FIELDS: Final = frozenset({"group_id", "group_ids", "groups", "groups_names"})
_MEMBER_FIELDS: Final = frozenset({"member_id"})
_INSTANCE_FIELDS: Final = frozenset({"group_instance_id", "instance_id"})
_TRANSACTIONAL_FIELDS: Final = frozenset(
    {"transactional_id", "transactional_ids", "v3_and_below_transactional_id"}
)
_PRODUCER_FIELDS: Final = frozenset({"producer_id", "v3_and_below_producer_id"})
_TOPIC_LISTS: Final = frozenset({"topic_names", "subscribed_topic_names"})
_TOPIC_NAMES: Final = ("topic", "topic_name", "name")
_PARTITION_LISTS: Final = frozenset({"partitions", "partition_data", "partition_indexes"})
_PARTITION_NUMBERS: Final = ("partition", "partition_index", "index", "partition_id")

_KINDS: Final = {
    "groups": _GROUP_FIELDS,
    "members": _MEMBER_FIELDS,
    "instances": _INSTANCE_FIELDS,
    "transactional_ids": _TRANSACTIONAL_FIELDS,
    "producers": _PRODUCER_FIELDS,
}


@dataclass(slots=True)
class Names:
    """All that one request names."""

    places: list[Place] = field(default_factory=list[Place])
    groups: set[str] = field(default_factory=set[str])
    members: set[str] = field(default_factory=set[str])
    instances: set[str] = field(default_factory=set[str])
    transactional_ids: set[str] = field(default_factory=set[str])
    producers: set[int] = field(default_factory=set[int])


def names_in(body: object, version: int) -> Names:
    """Says what a request's body names, in the fields that this version has."""
    return at_once(finding_names(body, version))


def finding_names(body: object, version: int) -> Steps[Names]:
    """The same in steps."""
    names = Names()
    yield from _walk(body, version, names)
    if hasattr(body, "coordinator_keys"):
        _add_coordinator_keys(body, names)
    return names


def shown_topic(topic: str | UUID, topic_name: TopicName) -> str:
    """A topic's name; the id as text where no topic has it."""
    return topic if isinstance(topic, str) else topic_name(topic) or str(topic)


def records_in(body: Any) -> Iterator[tuple[Place, bytes | memoryview]]:
    """The batches of a Produce request, each with its topic's name or id and its partition."""
    for topic in getattr(body, "topic_data", ()):
        for partition in topic.partition_data:
            if partition.records is not None:
                yield (topic_of(topic), partition.index), partition.records


@dataclass(frozen=True, slots=True)
class Plan:
    """The fields of a struct that matter, and what it is itself."""

    lists: tuple[tuple[str, str], ...]
    inner: tuple[Field, ...]
    is_topic: bool
    partitions: Field | None
    has_resource: bool
    topic_lists: tuple[str, ...]


_plans: dict[tuple[type[Any], int], Plan] = {}


def plan_of(class_: type[Any], version: int) -> Plan:
    """The fields of a struct that name something, in a version."""
    found = _plans.get((class_, version))
    if found is None:
        found = _plans[class_, version] = _make_plan(class_, version)
    return found


def _make_plan(class_: type[Any], version: int) -> Plan:
    declared = {each.name: each for each in fields_of(class_) if each.is_in(version)}
    lists = tuple(
        (kind, name)
        for kind, known in _KINDS.items()
        for name, each in declared.items()
        if name in known and not isinstance(each.element, type)
    )
    names_topic = is_topic(class_, declared)
    partitions = None
    if names_topic:
        partitions = next(
            (
                each
                for name, each in declared.items()
                if name in _PARTITION_LISTS and each.shape is Shape.ARRAY
            ),
            None,
        )
    return Plan(
        lists=lists,
        inner=tuple(each for each in declared.values() if isinstance(each.element, type)),
        is_topic=names_topic,
        partitions=partitions,
        has_resource={"resource_type", "resource_name"} <= declared.keys(),
        topic_lists=tuple(name for name in declared if name in _TOPIC_LISTS),
    )


def is_topic(class_: type[Any], declared: Container[str] | None = None) -> bool:
    """Tells whether a struct stands for a topic; `declared` are those of its fields that are in a
    version.
    """
    if declared is None:
        declared = {each.name for each in fields_of(class_)}
    if "topic_id" in declared or "topic" in declared or "topic_name" in declared:
        return True
    name = class_.__name__
    return "name" in declared and "Topic" in name and not name.endswith(("Config", "Configs"))


def _walk(value: Any, version: int, names: Names) -> Steps[None]:
    plan = plan_of(class_of(value), version)
    for kind, field_name in plan.lists:
        named = getattr(value, field_name)
        target: set[Any] = getattr(names, kind)
        several = listed(named)
        if several is not None:
            target.update(several)
        elif named is not None:
            target.add(named)
    for field_name in plan.topic_lists:
        names.places += [(each, None) for each in getattr(value, field_name) or ()]
    if plan.has_resource and value.resource_type == TOPIC_RESOURCE:
        names.places.append((value.resource_name, None))
    if plan.is_topic:
        yield from _add_topic(value, plan, names)
    for each in plan.inner:
        inside = getattr(value, each.name)
        several = listed(inside)
        for one in [inside] if several is None else several:
            if one is not None:
                yield from _walk(one, version, names)
                yield


def _add_topic(value: Any, plan: Plan, names: Names) -> Steps[None]:
    topic = topic_of(value)
    partitions: list[Any] = getattr(value, plan.partitions.name) if plan.partitions else []
    if not partitions:
        names.places.append((topic, None))
    for partition in partitions or ():
        names.places.append((topic, partition_number(partition)))
        _add_producer(partition, names)
        yield


def topic_of(value: Any) -> str | UUID:
    """A topic's id where it is given, else its name."""
    topic_id: UUID = getattr(value, "topic_id", NO_UUID)
    if topic_id != NO_UUID:
        return topic_id
    for name in _TOPIC_NAMES:
        if (found := getattr(value, name, None)) is not None:
            return str(found)
    return ""


def name_field(declared: Container[str]) -> str:
    """The field of a topic's struct that has its name; "" if none has."""
    return next((name for name in _TOPIC_NAMES if name in declared), "")


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def named(value: Any) -> dict[str, Any] | None:
    """The fields of a JSON object; None if the value is not one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def listed(value: object) -> list[Any] | None:
    """The value if it is a list."""
    return value if _is_list(value) else None


def class_of(value: object) -> type[Any]:
    """The class of a struct."""
    return type(value)


def partition_number(partition: Any) -> int:
    """The number of a partition, a plain one or a struct."""
    if isinstance(partition, int):
        return partition
    name = next(each for each in _PARTITION_NUMBERS if hasattr(partition, each))
    number: int = getattr(partition, name)
    return number


def _add_producer(partition: Any, names: Names) -> None:
    """The producer id of a batch."""
    if isinstance(partition, int) or not any(
        each.element is records for each in fields_of(class_of(partition))
    ):
        return
    batch = partition.records
    if batch is not None and len(batch) >= HEADER_BYTES:
        names.producers.add(RecordBatch(batch).producer_id)


def _add_coordinator_keys(body: Any, names: Names) -> None:
    keys = {*body.coordinator_keys, *((body.key,) if body.key else ())}
    if body.key_type == CoordinatorType.GROUP:
        names.groups |= keys
    elif body.key_type == CoordinatorType.TRANSACTION:
        names.transactional_ids |= keys
