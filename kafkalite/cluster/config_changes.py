"""Changing configs while running: from what an admin client asks to metadata records.

Nothing is changed here. A refusal has the words and codes of Kafka: of ConfigAdminManager on the
node that is asked, then of ConfigurationControlManager. The values are checked in
config_validation.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from kafkalite.cluster.config_validation import TABLES, ConfigValidation, invalid, unknown_type
from kafkalite.cluster.image import BROKER_RESOURCE, TOPIC_RESOURCE
from kafkalite.config import ConfigType
from kafkalite.config.sources import find
from kafkalite.wire.errors import ErrorCode, KafkaError
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


@dataclass(frozen=True, slots=True)
class ConfigChange:
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
    ) -> list[object]:
        """The records for some changes to a resource, asked of `node_id`. Raises KafkaError."""
        check_changes(changes)
        if resource_type not in TABLES:
            raise unknown_type(resource_type)
        check_operations(changes)
        present = self._cluster.image.configs.get((resource_type, name), {})
        wanted = dict(present)
        if resource_type == BROKER_RESOURCE:
            _check_node(name, node_id)
        for change in changes:
            _apply(resource_type, wanted, change)
        self._validation.validate(resource_type, name, wanted, [change.name for change in changes])
        return [
            _record(resource_type, name, change.name, wanted.get(change.name))
            for change in changes
            if resource_type == BROKER_RESOURCE
            or present.get(change.name) != wanted.get(change.name)
        ]

    def replace(
        self, node_id: int, resource_type: int, name: str, configs: Mapping[str, str]
    ) -> list[object]:
        """The records that make `configs` all that a resource has. Raises KafkaError."""
        if resource_type == BROKER_RESOURCE:
            _check_node(name, node_id)
        present = self._cluster.image.configs.get((resource_type, name), {})
        gone = [key for key in present if key not in configs]
        self._validation.validate(resource_type, name, configs, [*configs, *gone])
        return [
            *(
                _record(resource_type, name, key, value)
                for key, value in configs.items()
                if resource_type == BROKER_RESOURCE or present.get(key) != value
            ),
            *(_record(resource_type, name, key, None) for key in gone),
        ]


class Resource(Protocol):
    """A resource that a request names."""

    resource_type: int
    resource_name: str


R = TypeVar("R", bound=Resource)


def alter_each(
    resources: Sequence[R], alter: Callable[[R], list[object]]
) -> tuple[list[object], list[tuple[ErrorCode, str | None]]]:
    """The records of all the resources that can be altered, and what came of each."""
    counts = Counter((item.resource_type, item.resource_name) for item in resources)
    records: list[object] = []
    outcomes: list[tuple[ErrorCode, str | None]] = []
    for resource in resources:
        try:
            if counts[resource.resource_type, resource.resource_name] > 1:
                raise invalid("Each resource must appear at most once.")
            records += alter(resource)
        except KafkaError as error:
            outcomes.append((error.code, error.message))
        else:
            outcomes.append((ErrorCode.NONE, None))
    return records, outcomes


def check_changes(changes: Sequence[ConfigChange]) -> None:
    """Check changes of any resource. Raises KafkaError(INVALID_REQUEST)."""
    if any(count > 1 for count in Counter(change.name for change in changes).values()):
        raise invalid("Error due to duplicate config keys")
    nulls = [
        change.name
        for change in changes
        if change.value is None and change.operation != Operation.DELETE
    ]
    if nulls:
        raise invalid(f"Null value not supported for : {', '.join(nulls)}")


def check_operations(changes: Sequence[ConfigChange]) -> None:
    """Raises KafkaError(INVALID_REQUEST) for an unknown operation."""
    for change in changes:
        if change.operation not in _OPERATIONS:
            raise invalid(f"Unknown operations type {change.operation}")


def _check_node(name: str, node_id: int) -> None:
    if not name:
        return
    try:
        given = int(name)
    except ValueError:
        raise invalid(f"Node id must be an integer, but it is: {name}") from None
    if given != node_id:
        raise invalid(f"Unexpected broker id, expected {node_id}, but received {name}")


def check_logger_node(name: str, node_id: int) -> None:
    """Loggers are a node's own. Raises KafkaError(INVALID_REQUEST) as RuntimeLoggerManager."""
    try:
        given = int(name)
    except ValueError:
        raise invalid(f"Node id must be an integer, but it is: {name}") from None
    if given != node_id:
        raise invalid(f"Unexpected node id. Expected {node_id}, but received {name}")


def _apply(resource_type: int, configs: dict[str, str], change: ConfigChange) -> None:
    """Carry out one change. Raises KafkaError(INVALID_CONFIG) where there is no list to add to."""
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
    text = configs.get(change.name, definition.default)
    items = [item for item in (text or "").split(",") if item]
    if change.operation == Operation.APPEND:
        items += [item for item in value.split(",") if item not in items]
    else:
        for item in value.split(","):
            if item in items:
                items.remove(item)
    configs[change.name] = ",".join(items)


def _not_a_list(resource_type: int, change: ConfigChange) -> str:
    operation = Operation(change.operation).name
    if resource_type == BROKER_RESOURCE:
        if find(change.name) is None:
            return f"Unknown config name: {change.name}"
        return f"Config value {operation.lower()} is not allowed for config key: {change.name}"
    return f"Can't {operation} to key {change.name} because its type is not LIST."


def _record(resource_type: int, resource: str, name: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(resource_type=resource_type, resource_name=resource, name=name, value=value)
