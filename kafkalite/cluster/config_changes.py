"""Changing configs while running: from what an admin client asks to metadata records.

Nothing is changed here. What is wrong is said in Kafka's words (ConfigAdminManager on the node that
is asked, then ConfigurationControlManager), and with its codes: a bad value is INVALID_CONFIG for a
topic, but INVALID_REQUEST for a node, whose dynamic configs are checked as a whole.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from kafkalite.cluster.image import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from kafkalite.cluster.topic_creation import validate_topic_name
from kafkalite.config import (
    BROKER_CONFIGS,
    CLIENT_METRICS_CONFIGS,
    GROUP_CONFIGS,
    TOPIC_CONFIGS,
    ConfigDef,
    ConfigError,
    ConfigType,
    Support,
    validate_topic_configs,
)
from kafkalite.config.log_dirs import check_cordoned
from kafkalite.config.sources import find
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.stored.config_record import ConfigRecord

if TYPE_CHECKING:
    from kafkalite.cluster.cluster import Cluster

logger = logging.getLogger(__name__)

_MAX_VALUE_BYTES: Final = 32767
_ELR_FEATURE: Final = "eligible.leader.replicas.version"
# Dynamic in Kafka, but a node here listens where it began to.
_AT_START_ONLY: Final = ("listeners", "listener.security.protocol.map")
# A running broker takes new certificates for one listener only (SslConfigs.RECONFIGURABLE_CONFIGS).
_PER_LISTENER: Final = frozenset(
    {
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
    }
)
_CORDONED: Final = "cordoned.log.dirs"
_MIN_IN_SYNC: Final = "min.insync.replicas"


class Operation(IntEnum):
    """What to do with a config (AlterConfigOp.OpType)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


_OPERATIONS: Final = frozenset(Operation)


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """One wish; `operation` is as on the wire, and may be no Operation."""

    name: str
    operation: int
    value: str | None


Configs = Mapping[str, str]


class ConfigChanges:
    """Plans changes to a cluster's dynamic configs."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def alter(
        self, node_id: int, resource_type: int, name: str, changes: Sequence[ConfigChange]
    ) -> list[object]:
        """The records for some changes to a resource, asked of `node_id`. Raises KafkaError."""
        check_changes(changes)
        if resource_type not in _TABLES:
            raise _unknown_type(resource_type)
        check_operations(changes)
        present = self._cluster.image.configs.get((resource_type, name), {})
        wanted = dict(present)
        if resource_type == BROKER_RESOURCE:
            _check_node(name, node_id)
        for change in changes:
            _apply(resource_type, wanted, change)
        self._validate(resource_type, name, wanted, [change.name for change in changes])
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
        self._validate(resource_type, name, configs, [*configs, *gone])
        return [
            *(
                _record(resource_type, name, key, value)
                for key, value in configs.items()
                if resource_type == BROKER_RESOURCE or present.get(key) != value
            ),
            *(_record(resource_type, name, key, None) for key in gone),
        ]

    def _validate(
        self, resource_type: int, name: str, configs: Configs, changed: Sequence[str]
    ) -> None:
        """Check what a resource would have then. Raises KafkaError."""
        validators = {
            TOPIC_RESOURCE: self._validate_topic,
            BROKER_RESOURCE: self._validate_node,
            CLIENT_METRICS_RESOURCE: self._validate_client_metrics,
            GROUP_RESOURCE: self._validate_group,
        }
        validate = validators.get(resource_type)
        if validate is None:
            raise _unknown_type(resource_type)
        try:
            validate(name, configs, changed)
        except ConfigError as error:
            raise KafkaError(ErrorCode.INVALID_CONFIG, str(error)) from None
        for key in changed:
            if len(configs.get(key, "").encode()) > _MAX_VALUE_BYTES:
                raise KafkaError(
                    ErrorCode.INVALID_CONFIG,
                    "The configuration value cannot be added because it exceeds the maximum value "
                    f"size of {_MAX_VALUE_BYTES} bytes.",
                )
        self._warn_of_idle(_TABLES[resource_type], changed)

    def _warn_of_idle(self, table: Mapping[str, ConfigDef], changed: Sequence[str]) -> None:
        """Name in one line the configs that are kept without effect, each of them once."""
        known = self._cluster.configs_warned_of
        idle: list[str] = []
        for key in changed:
            definition = table.get(key) or find(key)
            has_effect = definition is not None and definition.support is not Support.ACCEPTED
            if not has_effect and key not in known:
                known.add(key)
                idle.append(key)
        if idle:
            logger.info("configs that are kept and have no effect here: %s", ", ".join(idle))

    def _validate_topic(self, name: str, configs: Configs, changed: Sequence[str]) -> None:
        if not name:
            raise _invalid("Default topic resources are not allowed.")
        validate_topic_name(name)
        validate_topic_configs(configs)
        if name not in self._cluster.image.topics:
            raise KafkaError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist."
            )

    def _validate_node(self, name: str, configs: Configs, changed: Sequence[str]) -> None:
        self._check_dynamic(name, configs, changed)
        try:
            for key, text in configs.items():
                if definition := find(key):
                    definition.parse(text)
            if cordoned := configs.get(_CORDONED):
                check_cordoned(cordoned.split(","), self._cluster.config.log_dirs)
        except ConfigError as error:
            raise _invalid(str(error)) from None
        if _MIN_IN_SYNC in changed and self._cluster.features.get(_ELR_FEATURE):
            if name:
                raise ConfigError(
                    f"Broker-level {_MIN_IN_SYNC} cannot be altered while ELR is enabled."
                )
            if _MIN_IN_SYNC not in configs:
                raise ConfigError(
                    f"Cluster-level {_MIN_IN_SYNC} cannot be removed while ELR is enabled."
                )

    def _check_dynamic(self, name: str, configs: Configs, changed: Sequence[str]) -> None:
        """True if a running node takes these, at this level (DynamicBrokerConfig.validate)."""
        # Kafka keeps what it does not know: it may be a plugin's.
        changed = [key for key in changed if find(key) is not None]
        static = [key for key in changed if not _definition(key).dynamic]
        if static:
            raise _invalid(f"Cannot update these configs dynamically: {_listed(static)}")
        single = [
            key for key in changed if key in configs and _definition(key).dynamic == "per-broker"
        ]
        if single and not name:
            raise _invalid(
                "Cannot update these configs at default cluster level, broker id must be "
                f"specified: {_listed(single)}"
            )
        by_listener = [key for key in changed if key in configs and key in _PER_LISTENER]
        if by_listener:
            raise _invalid(
                "These security configs can be dynamically updated only per-listener using the "
                f"listener prefix: {_listed(by_listener)}"
            )
        at_start = [key for key in changed if key in _AT_START_ONLY]
        if at_start:
            raise ConfigError(f"config {at_start[0]}: kafkalite takes it at its start only")
        refused = [key for key in changed if _definition(key).support is Support.REFUSED]
        if refused:
            raise ConfigError(f"config {refused[0]}: kafkalite does not have this")

    def _validate_group(self, name: str, configs: Configs, changed: Sequence[str]) -> None:
        if not name:
            raise _invalid("Default group resources are not allowed.")
        for key, text in configs.items():
            if key not in GROUP_CONFIGS:
                raise ConfigError(f"Unknown group config name: {key}")
            GROUP_CONFIGS[key].parse(text)
        self._check_group_limits(configs)

    def _check_group_limits(self, configs: Configs) -> None:
        """The brokers' limits hold for every group (GroupConfig.validateValues)."""
        broker = self._cluster.config
        for key, text in configs.items():
            family, _, rest = key.partition(".")
            least, most = f"group.{family}.min.{rest}", f"group.{family}.max.{rest}"
            most = most.replace(".max.num.", ".max.")  # of standby replicas
            if least in BROKER_CONFIGS and int(text) < broker.integer(least):
                raise ConfigError(f"{key} must be greater than or equal to {least}")
            if most in BROKER_CONFIGS and int(text) > broker.integer(most):
                raise ConfigError(f"{key} must be less than or equal to {most}")
        for family in ("consumer", "share", "streams"):
            session, interval = f"{family}.session.timeout.ms", f"{family}.heartbeat.interval.ms"
            session_ms, interval_ms = (
                int(configs.get(key, broker.integer(f"group.{key}"))) for key in (session, interval)
            )
            if session_ms <= interval_ms:
                raise ConfigError(f"{session} must be greater than {interval}")

    def _validate_client_metrics(self, name: str, configs: Configs, changed: Sequence[str]) -> None:
        if not name:
            raise _invalid("Subscription name can't be empty")
        for key, text in configs.items():
            if key not in CLIENT_METRICS_CONFIGS:
                raise _invalid(f"Unknown client metrics configuration: {key}")
            value = CLIENT_METRICS_CONFIGS[key].parse(text)
            if key == "interval.ms" and isinstance(value, int) and not 100 <= value <= 3_600_000:
                raise _invalid(
                    f"Invalid value {text} for interval.ms, interval must be between 100 and "
                    "3600000 (1 hour)"
                )


_TABLES: Final[Mapping[int, Mapping[str, ConfigDef]]] = {
    TOPIC_RESOURCE: TOPIC_CONFIGS,
    BROKER_RESOURCE: BROKER_CONFIGS,
    CLIENT_METRICS_RESOURCE: CLIENT_METRICS_CONFIGS,
    GROUP_RESOURCE: GROUP_CONFIGS,
}


class Resource(Protocol):
    """What a request names."""

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
                raise _invalid("Each resource must appear at most once.")
            records += alter(resource)
        except KafkaError as error:
            outcomes.append((error.code, error.message))
        else:
            outcomes.append((ErrorCode.NONE, None))
    return records, outcomes


def check_changes(changes: Sequence[ConfigChange]) -> None:
    """What is wrong whatever the resource. Raises KafkaError(INVALID_REQUEST)."""
    if any(count > 1 for count in Counter(change.name for change in changes).values()):
        raise _invalid("Error due to duplicate config keys")
    nulls = [
        change.name
        for change in changes
        if change.value is None and change.operation != Operation.DELETE
    ]
    if nulls:
        raise _invalid(f"Null value not supported for : {', '.join(nulls)}")


def check_operations(changes: Sequence[ConfigChange]) -> None:
    """Raises KafkaError(INVALID_REQUEST) for one that is none."""
    for change in changes:
        if change.operation not in _OPERATIONS:
            raise _invalid(f"Unknown operations type {change.operation}")


def _check_node(name: str, node_id: int) -> None:
    if not name:
        return
    try:
        given = int(name)
    except ValueError:
        raise _invalid(f"Node id must be an integer, but it is: {name}") from None
    if given != node_id:
        raise _invalid(f"Unexpected broker id, expected {node_id}, but received {name}")


def check_logger_node(name: str, node_id: int) -> None:
    """Loggers are a node's own. Raises KafkaError(INVALID_REQUEST) as RuntimeLoggerManager."""
    try:
        given = int(name)
    except ValueError:
        raise _invalid(f"Node id must be an integer, but it is: {name}") from None
    if given != node_id:
        raise _invalid(f"Unexpected node id. Expected {node_id}, but received {name}")


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
    definition = _TABLES[resource_type].get(change.name) if is_typed else None
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


def _definition(name: str) -> ConfigDef:
    definition = find(name)
    assert definition is not None, name
    return definition


def _listed(names: Sequence[str]) -> str:
    return f"[{', '.join(names)}]"


def _record(resource_type: int, resource: str, name: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(resource_type=resource_type, resource_name=resource, name=name, value=value)


def _unknown_type(resource_type: int) -> KafkaError:
    return _invalid(f"Unknown resource type {resource_type}")


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
