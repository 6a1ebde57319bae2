"""Changing configs while running: from what an admin client asks to metadata records.

Nothing is changed here. A refusal has the words and codes of Kafka: of ConfigAdminManager on the
node that is asked, then of ConfigurationControlManager. The values are checked in
config_validation.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from msgspec import Struct

from kafkalite.cluster.config_validation import TABLES, ConfigValidation
from kafkalite.cluster.features import ELR_FEATURE
from kafkalite.cluster.node_config_validation import MIN_IN_SYNC
from kafkalite.cluster.operation_size import MAX_RECORDS, TooManyRecords, check_operation_size
from kafkalite.config import BROKER_CONFIGS, ConfigType, java_text
from kafkalite.requests.slices import (
    Steps,
    WaitingSteps,
    counted,
    cut,
    mapped,
    release,
    release_dict,
)
from kafkalite.wire.api_keys import BROKER_LOGGER_RESOURCE, BROKER_RESOURCE, TOPIC_RESOURCE
from kafkalite.wire.errors import ErrorCode, KafkaError, invalid_request
from kafkalite.wire.messages.stored.clear_elr_record import ClearElrRecord
from kafkalite.wire.messages.stored.config_record import ConfigRecord

if TYPE_CHECKING:
    from kafkalite.cluster.cluster import Cluster


class Operation(IntEnum):
    """Operations on a config (AlterConfigOp.OpType)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


_OPERATIONS: Final = frozenset(Operation)
# Lists that must be given, so that Apache Kafka finds no default to add to and fails.
_WITHOUT_DEFAULT: Final = frozenset({"controller.listener.names", "process.roles"})


class ConfigChange(Struct, frozen=True):
    """One requested change. `operation` is the raw wire value and may be invalid."""

    name: str
    operation: int
    value: str | None


class ConfigChanges:
    """Plans changes to a cluster's dynamic configs."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._validation = ConfigValidation(cluster)

    def alter(
        self, node_id: int, resource_type: int, name: str, changes: Sequence[ConfigChange]
    ) -> WaitingSteps[list[object]]:
        """The records for changes to a resource, checked and asked of `node_id`.

        Raises KafkaError.
        """
        present = self._cluster.image.configs.get((resource_type, name), {})
        wanted = dict(present)
        if resource_type == BROKER_RESOURCE:
            _check_node(name, node_id)
        for some in cut(changes):
            for change in some:
                _apply(resource_type, wanted, change)
            yield None
        changed = [change.name for change in changes]
        yield from self._validation.validate(resource_type, name, wanted, changed)
        asked = [(change.name, wanted.get(change.name)) for change in changes]
        return (yield from _records(resource_type, name, present, asked))

    def replace(
        self, node_id: int, resource_type: int, name: str, configs: Mapping[str, str]
    ) -> WaitingSteps[list[object]]:
        """The records that make `configs` all that a resource has. Raises KafkaError."""
        if resource_type == BROKER_RESOURCE:
            _check_node(name, node_id)
        present = self._cluster.image.configs.get((resource_type, name), {})
        gone = [key for key in present if key not in configs]
        yield from self._validation.validate(resource_type, name, configs, [*configs, *gone])
        records = yield from _records(resource_type, name, present, [*configs.items()])
        return [*records, *(_record(resource_type, name, key, None) for key in gone)]


def _records(
    resource_type: int,
    name: str,
    present: Mapping[str, str],
    asked: Sequence[tuple[str, str | None]],
) -> Steps[list[object]]:
    """The records of what differs from the present; a node's are written in any case."""
    records: list[object] = []
    for some in cut(asked):
        records += [
            _record(resource_type, name, key, value)
            for key, value in some
            if resource_type == BROKER_RESOURCE or present.get(key) != value
        ]
        yield
    return records


class Resource(Protocol):
    """A resource that a request names."""

    resource_type: int
    resource_name: str


A = TypeVar("A")
C = TypeVar("C")
R = TypeVar("R", bound=Resource)


Outcome = tuple[R, ErrorCode, str | None]
"""A resource, and what came of it."""


class AlterRequest(Protocol[R]):
    """A request that alters configs."""

    resources: list[R]
    validate_only: bool


def altering_each(
    cluster: Cluster,
    request: AlterRequest[R],
    check: Callable[[R], Steps[C]],
    plan: Callable[[R, C], WaitingSteps[list[object]]],
    make_response: Callable[..., A],
) -> WaitingSteps[list[A]]:
    """Write the records of all the resources that can be altered: each changes as a whole. The
    results are responses, one for each resource.

    `check` looks at what is asked for; `plan` makes the records of it. Both raise KafkaError. More
    records than a controller takes at once are refused.

    Raises KafkaError: the records are not on the disk.
    """
    counts = yield from counted(
        (resource.resource_type, resource.resource_name) for resource in request.resources
    )
    checked: list[tuple[R, C | KafkaError]] = []
    is_known = True
    for resource in request.resources:
        try:
            if counts[resource.resource_type, resource.resource_name] > 1:
                raise invalid_request("Each resource must appear at most once.")
            checked.append((resource, (yield from check(resource))))
        except KafkaError as error:
            checked.append((resource, error))
            is_known = is_known and not isinstance(error, UnknownOperationError)
        yield None
    outcomes: list[Outcome[R]] = []
    if cluster.is_observed:
        plan = partial(_of_a_node, plan)

    def decide() -> WaitingSteps[list[object]]:
        records = yield from _planned(checked, plan, outcomes, is_known=is_known)
        return [*records, *_clearings(records)] if cluster.features.get(ELR_FEATURE) else records

    if request.validate_only:
        yield from cluster.settling()
        yield from decide()
    else:
        yield from cluster.deciding(decide)

    def respond(outcome: Outcome[R]) -> A:
        resource, code, message = outcome
        return make_response(
            error_code=code,
            error_message=message,
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
        )

    responses = yield from mapped(respond, outcomes)
    yield from release((checked, outcomes))
    yield from release_dict(counts)
    return responses


def _planned(
    checked: Sequence[tuple[R, C | KafkaError]],
    plan: Callable[[R, C], WaitingSteps[list[object]]],
    outcomes: list[Outcome[R]],
    *,
    is_known: bool,
) -> WaitingSteps[list[object]]:
    """The records of all that can be altered; `outcomes` says what becomes of each.

    Unless each operation `is_known`, nothing can be altered.
    """
    outcomes.clear()
    records: list[object] = []
    for resource, found in checked:
        try:
            if isinstance(found, KafkaError):
                raise found
            if not is_known:
                raise UnknownOperationError
            records += yield from plan(resource, found)
        except KafkaError as error:
            outcomes.append((resource, error.code, error.message))
        else:
            outcomes.append((resource, ErrorCode.NONE, None))
        yield None
    if len(records) <= MAX_RECORDS:
        return records
    too_many = TooManyRecords()
    outcomes.clear()
    for resource, found in checked:
        if isinstance(found, KafkaError):
            outcomes.append((resource, found.code, found.message))
        else:
            outcomes.append((resource, too_many.code, too_many.message))
        yield None
    return []


def _of_a_node(
    plan: Callable[[R, C], WaitingSteps[list[object]]], resource: R, found: C
) -> WaitingSteps[list[object]]:
    """Plan a change of the node's own; all others are planned where they are decided."""
    if resource.resource_type in (BROKER_RESOURCE, BROKER_LOGGER_RESOURCE):
        return (yield from plan(resource, found))
    yield None
    return []


def _clearings(records: Sequence[object]) -> list[ClearElrRecord]:
    """With another min.insync.replicas no one is an eligible leader for what the old one promised.

    Source: ConfigurationControlManager.createClearElrRecordsAsNeeded; KIP-966.
    """
    return [
        ClearElrRecord(
            topic_name=record.resource_name if record.resource_type == TOPIC_RESOURCE else ""
        )
        for record in records
        if isinstance(record, ConfigRecord) and record.name == MIN_IN_SYNC
    ]


def check_changes(changes: Sequence[ConfigChange]) -> Steps[None]:
    """Check changes of any resource. Raises KafkaError: INVALID_REQUEST, POLICY_VIOLATION."""
    seen: set[str] = set()
    nulls: list[str] = []
    for some in cut(changes):
        yield
        for change in some:
            if change.name in seen:
                raise invalid_request("Error due to duplicate config keys")
            seen.add(change.name)
            if change.value is None and change.operation != Operation.DELETE:
                nulls.append(change.name)
    if nulls:
        raise invalid_request(f"Null value not supported for : {', '.join(nulls)}")
    check_operation_size(len(changes))


class UnknownOperationError(KafkaError):
    """Nothing is changed: Apache Kafka's controller fails with all that it is asked for."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.UNKNOWN_SERVER_ERROR)


def check_operations(resource_type: int, changes: Sequence[ConfigChange]) -> Steps[None]:
    """For an unknown operation, raises KafkaError (INVALID_REQUEST of a node) or, where only the
    controller would look at it, UnknownOperationError."""
    for some in cut(changes):
        yield
        for change in some:
            if change.operation in _OPERATIONS:
                continue
            if resource_type == BROKER_RESOURCE:
                raise invalid_request(f"Unknown operations type {change.operation}")
            if resource_type == BROKER_LOGGER_RESOURCE:
                raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
            raise UnknownOperationError


def _check_node(name: str, node_id: int) -> None:
    if name:
        check_node_id(name, node_id, "Node", f"broker id, expected {node_id},")


def check_logger_node(name: str, node_id: int) -> None:
    """Loggers are a node's own. Raises KafkaError(INVALID_REQUEST) as RuntimeLoggerManager."""
    check_node_id(name, node_id, "Node", f"node id. Expected {node_id},")


def check_node_id(name: str, node_id: int, kind: str, expected: str) -> None:
    """Only the node itself has its configs. Raises KafkaError(INVALID_REQUEST) in these words."""
    given = java_text.whole_number(name, 32)
    if given is None:
        raise invalid_request(f"{kind} id must be an integer, but it is: {name}")
    if given != node_id:
        raise invalid_request(f"Unexpected {expected} but received {name}")


def _apply(resource_type: int, configs: dict[str, str], change: ConfigChange) -> None:
    """Carry out one change.

    Raises KafkaError: INVALID_CONFIG where there is no list to add to, UNKNOWN_SERVER_ERROR where
    Apache Kafka fails.
    """
    if change.operation == Operation.DELETE:
        configs.pop(change.name, None)
        return
    value = change.value or ""
    if change.operation == Operation.SET:
        configs[change.name] = value
        return
    # Kafka's controller knows the types of topics' and nodes' configs only (KafkaConfigSchema).
    is_typed = resource_type in (TOPIC_RESOURCE, BROKER_RESOURCE)
    definition = TABLES[resource_type].get(change.name) if is_typed else None
    if definition is None or definition.type is not ConfigType.LIST:
        raise KafkaError(ErrorCode.INVALID_CONFIG, _not_a_list(resource_type, change))
    if change.name in _WITHOUT_DEFAULT:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
    text = configs.get(change.name, definition.default)
    items = [item for item in (text or "").split(",") if item]
    if change.operation == Operation.APPEND:
        known = set(items)
        for item in _split(value):
            if item not in known:
                known.add(item)
                items.append(item)
    else:
        items = _without_first(items, Counter(_split(value)))
    configs[change.name] = ",".join(items)


def _split(value: str) -> list[str]:
    """The items of a list, without empty ones at its end, as Java splits a text."""
    if not value:
        return [value]
    stripped = value.rstrip(",")
    return stripped.split(",") if stripped else []


def _without_first(items: list[str], gone: Counter[str]) -> list[str]:
    """The items without the first ones of each kind, as many as `gone` counts."""
    left: list[str] = []
    for item in items:
        if gone[item] > 0:
            gone[item] -= 1
        else:
            left.append(item)
    return left


def _not_a_list(resource_type: int, change: ConfigChange) -> str:
    operation = Operation(change.operation).name
    if resource_type == BROKER_RESOURCE:
        if change.name not in BROKER_CONFIGS:  # nor is a name with a listener's prefix
            return f"Unknown config name: {change.name}"
        return f"Config value {operation.lower()} is not allowed for config key: {change.name}"
    return f"Can't {operation} to key {change.name} because its type is not LIST."


def _record(resource_type: int, resource: str, name: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(resource_type=resource_type, resource_name=resource, name=name, value=value)
