"""Requests at the edges of their declaration, in the newest version of each API; with
KAFKALITE_EDGES=all (`make differential-edges`) in every version.

Each field in turn is null, empty, negative, as large as it can be, named twice, or a text that is
no name; the rest of the request is plain. LEFT_OUT and NOT_ASKED say what is left out, and why.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import msgspec
import pytest

from conformance.differential.broker_side import Side
from conformance.differential.comparison import Difference, Pair
from conformance.differential.test_share_states import initialize, make_share_states
from kafkalite.apis import APIS
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.api_messages import request_class
from kafkalite.wire.fields import FieldType
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalite.wire.record_batch import Record, build_batch
from kafkalite.wire.schema import Field, Shape, fields_of

# Ends of the types of numbers.
BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
LONG = "x" * 300
LEFT_OUT: dict[ApiKey, str] = {
    ApiKey.DESCRIBE_LOG_DIRS: "the sizes of the internal topics are each broker's own",
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: "ids of subscriptions are each broker's own",
    ApiKey.UNREGISTER_BROKER: "the node that is asked would be unregistered",
}
_STEPS_DOWN = "Apache Kafka's controller steps down at each of them: -1 stands for them"
_NO_ANSWER = "Apache Kafka fails without an answer"
# By API and field: one case or, without a word for it, all of them.
NOT_ASKED: dict[tuple[ApiKey, str], str] = {
    (ApiKey.ADD_PARTITIONS_TO_TXN, "transactions empty"): _NO_ANSWER,
    (ApiKey.ALTER_CONFIGS, "resources twice"): _NO_ANSWER,
    (ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, "groups.topics.partitions[] 1"): _NO_ANSWER,
    (ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, "groups.topics.partitions[] 2147483647"): _NO_ANSWER,
    (
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
        "cursor.partition_index 2147483647",
    ): "Apache Kafka's next index is larger than its type, and so negative",
    **{
        (ApiKey.INCREMENTAL_ALTER_CONFIGS, f"resources.configs.config_operation {number}"): (
            _STEPS_DOWN
        )
        for number in (-128, -2, 127)
    },
    (ApiKey.JOIN_GROUP, "group_instance_id"): "each is a member that the next one waits for",
    (ApiKey.JOIN_GROUP, "protocols twice"): _NO_ANSWER,
    (
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        "subscribed_topic_regex",
    ): "Apache Kafka looks for topics later, and at most every ten seconds",
    (ApiKey.SHARE_FETCH, "max_records"): "only members are given records: test_share_members.py",
    (ApiKey.PRODUCE, "acks 0"): "there is no answer",
    (ApiKey.PRODUCE, "topic_data.partition_data.records null"): _NO_ANSWER,
    (ApiKey.WRITE_TXN_MARKERS, "markers.topics twice"): _NO_ANSWER,
    (ApiKey.WRITE_TXN_MARKERS, "markers.topics.partition_indexes twice"): _NO_ANSWER,
}
# Ordinary values where the declared default is none.
ORDINARY: dict[str, Any] = {
    "acks": 1,
    "num_partitions": 1,
    "count": 2,
    "replica_id": -1,
    "replication_factor": 1,
    "session_timeout_ms": 10_000,
    "rebalance_timeout_ms": 10_000,
    "timeout_ms": 1000,
    "transaction_timeout_ms": 10_000,
    "max_bytes": 1 << 20,
    "partition_max_bytes": 1 << 20,
    "records": build_batch([Record(timestamp=1_600_000_000_000, value=b"v")]),
}


def produced(topic: str) -> ProduceRequest:
    data = [PartitionProduceData(index=0, records=ORDINARY["records"])]
    topics = [TopicProduceData(name=topic, partition_data=data)]
    return ProduceRequest(acks=-1, timeout_ms=1000, topic_data=topics)


def _set(path: str, **values: Any) -> Callable[[Any], None]:
    """Set fields of a message, or of the first elements of lists on a path into it."""

    def change(base: Any) -> None:
        for name in path.split("."):
            if name and not getattr(base, name):
                return  # of other versions
            if name:
                base = getattr(base, name)[0]
        for field, value in values.items():
            setattr(base, field, value)

    return change


def _all(*changes: Callable[[Any], None]) -> Callable[[Any], None]:
    def change(base: Any) -> None:
        for each in changes:
            each(base)

    return change


_RETENTION = {"name": "retention.ms", "value": "1000"}
_MEMBER = "AAAAAAAAAAAAAAAAAAAABw"
# Makes a request one that is carried out, where the ordinary values do not.
PLAINER: dict[ApiKey, Callable[[Any], None]] = {
    ApiKey.ALTER_CLIENT_QUOTAS: _all(
        _set("", validate_only=True),  # else the quota of all users would throttle what follows
        _set("entries.entity", entity_type="user"),
        _set("entries.ops", key="producer_byte_rate", value=1000.0),
    ),
    ApiKey.ALTER_CONFIGS: _all(
        _set("resources", resource_type=2), _set("resources.configs", **_RETENTION)
    ),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: _set("topics.partitions", replicas=[1]),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _all(
        _set("deletions", mechanism=1, name="y"),
        _set("upsertions", mechanism=1, name="z", iterations=4096, salt=b"s", salted_password=b"p"),
    ),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: _set(
        "",
        topic_partitions=[],
        instance_id=None,
        subscribed_topic_regex=None,
        server_assignor=None,
        member_id=_MEMBER,
    ),
    ApiKey.CREATE_ACLS: _set(
        "creations",
        resource_type=2,
        resource_pattern_type=3,
        operation=3,
        permission_type=3,
        principal="User:x",
    ),
    ApiKey.CREATE_PARTITIONS: _set("topics.assignments", broker_ids=[1]),
    ApiKey.CREATE_TOPICS: _all(
        _set("", validate_only=True),
        _set("topics", name="new", num_partitions=-1, replication_factor=-1),
        _set("topics.assignments", broker_ids=[1]),
        _set("topics.configs", **_RETENTION),
    ),
    ApiKey.DELETE_ACLS: _set(
        "filters", resource_type_filter=1, pattern_type_filter=1, operation=1, permission_type=1
    ),
    ApiKey.DELETE_TOPICS: _set("topics", topic_id=UUID(int=0)),
    ApiKey.DESCRIBE_ACLS: _set(
        "", resource_type_filter=1, pattern_type_filter=1, operation=1, permission_type=1
    ),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: _set("components", entity_type="user"),
    ApiKey.DESCRIBE_CLUSTER: _set("", endpoint_type=1),
    ApiKey.DESCRIBE_CONFIGS: _set(
        "resources", resource_type=2, configuration_keys=["retention.ms"]
    ),
    ApiKey.FIND_COORDINATOR: _set("", coordinator_keys=["x"]),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _all(
        _set("resources", resource_type=2), _set("resources.configs", **_RETENTION)
    ),
    ApiKey.JOIN_GROUP: _set("", member_id="", group_instance_id=None),
    ApiKey.LIST_CONFIG_RESOURCES: _set("", resource_types=[2]),
    ApiKey.LIST_TRANSACTIONS: _set("", state_filters=["Ongoing"]),
    ApiKey.OFFSET_COMMIT: _set(
        "", generation_id_or_member_epoch=-1, member_id="", group_instance_id=None
    ),
    ApiKey.OFFSET_FETCH: _set("groups", member_id=None, member_epoch=-1),
    ApiKey.SHARE_FETCH: _all(
        _set(
            "",
            member_id=_MEMBER,
            forgotten_topics_data=[],
        ),
        _set("topics.partitions", acknowledgement_batches=[]),
    ),
    ApiKey.STREAMS_GROUP_HEARTBEAT: _set(
        "",
        instance_id=None,
        member_id=_MEMBER,
        active_tasks=[],
        standby_tasks=[],
        warmup_tasks=[],
        task_offsets=None,
        task_end_offsets=None,
    ),
    ApiKey.UPDATE_FEATURES: _all(
        _set("", validate_only=True),
        _set("feature_updates", feature="group.version", max_version_level=1, upgrade_type=1),
    ),
}
# Stands for the id of the topic, which each side has made up.
TOPIC_ID = UUID(int=0x70)


def plain_value(field: Field, name: str) -> Any:
    """An ordinary value of a field that is no struct."""
    assert isinstance(field.element, FieldType)
    ordinary = ORDINARY.get(field.name)
    if ordinary is not None and field.shape is Shape.ONE:
        return ordinary
    if field.element.nullable and field.name == "transactional_id":
        return None
    match field.element.name:
        case "string":
            return name
        case "bytes" | "records":
            return b""
        case "uuid":
            return TOPIC_ID if field.name == "topic_id" else field.element.default
        case _:
            return field.element.default


def plain(class_: type[Any], version: int, names: Callable[[Field], str]) -> Any:
    """A message whose arrays have one element each."""
    made = class_()
    for field in fields_of(class_):
        if not field.is_in(version) or field.tag is not None:
            continue
        if isinstance(field.element, FieldType):
            value = plain_value(field, names(field))
        else:
            value = plain(field.element, version, names)
        setattr(made, field.name, [value] if field.shape is Shape.ARRAY else value)
    return made


def extremes(
    field: Field, version: int, value: Any, *, is_element: bool = False
) -> Iterator[tuple[str, Any]]:
    """Values at the edges, each with a word for it."""
    if field.nullable_in(version) and not is_element:
        yield "null", None
    if field.shape is Shape.ARRAY:
        yield "empty", []
        if value:
            yield "twice", [*value, *value]
        return
    if not isinstance(field.element, FieldType):
        return
    kind = field.element.name
    if kind in BITS:
        top = 1 << BITS[kind] - 1
        for number in (-top, -2, -1, 0, 1, top - 1):
            yield str(number), number
    elif kind == "string":
        for text in ("", ".", "a b", "ü\0", LONG):
            yield repr(text[:5]), text
    elif kind == "bool":
        yield "turned", not value
    elif kind in ("bytes", "records"):
        yield "bytes", b"\0\1"
    elif kind == "float64":
        for real in (-1.0, float("nan"), float("inf")):
            yield str(real), real
    elif kind == "uuid":
        for number in (0, 1, 7 << 64):
            yield f"id {number}", UUID(int=number)


def variants(message: Any, version: int, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Copies of a message that have one extreme each, at any depth."""
    for field in fields_of(type(message)):
        if not field.is_in(version):
            continue
        value = getattr(message, field.name)
        name = f"{prefix}{field.name}"
        for word, extreme in extremes(field, version, value):
            changed = copy.copy(message)
            setattr(changed, field.name, extreme)
            yield f"{name} {word}", changed
        if isinstance(field.element, FieldType):
            if field.shape is Shape.ARRAY and value:
                for word, extreme in extremes(alone(field), version, value[0], is_element=True):
                    changed = copy.copy(message)
                    setattr(changed, field.name, [extreme])
                    yield f"{name}[] {word}", changed
            continue
        inner = value[0] if field.shape is Shape.ARRAY and value else value
        if inner is None or inner == []:
            continue
        for word, extreme in variants(inner, version, f"{name}."):
            changed = copy.copy(message)
            setattr(changed, field.name, [extreme] if field.shape is Shape.ARRAY else extreme)
            yield word, changed


def alone(field: Field) -> Field:
    """The field, as if it was an element of its array."""
    return msgspec.structs.replace(field, shape=Shape.ONE)


def on_side(message: Any, ids: UUID) -> Any:
    """The message with this side's id of the topic."""
    if message == TOPIC_ID:
        return ids
    if isinstance(message, list):
        return [on_side(each, ids) for each in message]
    if hasattr(type(message), "__wire_fields__"):
        made = copy.copy(message)
        for field in fields_of(type(message)):
            setattr(made, field.name, on_side(getattr(message, field.name), ids))
        return made
    return message


TOPIC_FIELDS = {"name", "resource_name", "topic", "topics", "topic_name", "topic_names"}


def names_for(topic: str, group: str) -> Callable[[Field], str]:
    def name(field: Field) -> str:
        if field.name in TOPIC_FIELDS:
            return topic
        if "group" in field.name:
            return group
        return "x"

    return name


def is_asked(api: ApiKey, word: str) -> bool:
    if word == "timeout_ms 1":
        return False  # Apache Kafka's controller may be slower than that
    field = word.rpartition(" ")[0]
    return (api, word) not in NOT_ASKED and (api, field) not in NOT_ASKED


EVERY_VERSION = os.environ.get("KAFKALITE_EDGES") == "all"
CASES = [
    pytest.param(api.key, version, id=f"{api.key.name} {version}")
    for api in APIS.values()
    for version in range(api.min_version if EVERY_VERSION else api.max_version, api.max_version + 1)
    if api.key not in LEFT_OUT
]


@pytest.mark.parametrize(("api", "version"), CASES)
def test_the_edges_of_each_field(
    pair: Pair, topic: str, unique: Callable[[str], str], api: ApiKey, version: int
) -> None:
    pair.create_topic(topic)
    ids = {side: side.topic_id(topic) for side in pair.sides}
    group = unique("g")
    base = plain(request_class(api), version, names_for(topic, group))
    PLAINER.get(api, lambda base: None)(base)
    pair.ask(ApiKey.PRODUCE, 12, produced(topic))
    if "SHARE_GROUP_STATE" in api.name:
        make_share_states(pair)
        if api is not ApiKey.INITIALIZE_SHARE_GROUP_STATE:
            initialize(pair, group, topic, 0)
    found = []
    for number, (word, message) in enumerate([("plain", base), *variants(base, version)]):
        if not is_asked(api, word):
            continue
        if api is ApiKey.JOIN_GROUP and message.group_id == group:
            message.group_id = f"{group}-{number}"  # or each waits for those before it

        def body(side: Side, message: Any = message) -> Any:
            return on_side(message, ids[side])

        try:
            pair.ask(api, version, body)
        except Difference as difference:
            found.append(f"{word}: {difference}")
        except (TimeoutError, AssertionError) as error:
            found.append(f"{word}: {error!r}")
            for side in pair.sides:
                side.close()
    assert not found, "\n".join(found)
