"""The values a resource's configs may have, when they are changed while running.

A bad value is INVALID_CONFIG, but for a node's (node_config_validation.py). Source of rules and
words: Kafka's ControllerConfigurationValidator, GroupConfig, ClientMetricsConfigs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kafkalite.config import (
    BROKER_CONFIGS,
    CLIENT_METRICS_CONFIGS,
    GROUP_CONFIGS,
    TOPIC_CONFIGS,
    ConfigDef,
    ConfigError,
    Support,
    validate_topic_configs,
)
from kafkalite.config.sources import find
from kafkalite.log.loggers import logger_of
from kafkalite.requests.slices import Steps, WaitingSteps, cut
from kafkalite.requests.topic_names import validate_topic_name
from kafkalite.wire.api_keys import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from kafkalite.wire.errors import ErrorCode, KafkaError, invalid_request

if TYPE_CHECKING:
    from kafkalite.cluster.cluster import Cluster

logger = logger_of(__name__)

_MAX_VALUE_BYTES: Final = 32767

TABLES: Final[Mapping[int, Mapping[str, ConfigDef]]] = {
    TOPIC_RESOURCE: TOPIC_CONFIGS,
    BROKER_RESOURCE: BROKER_CONFIGS,
    CLIENT_METRICS_RESOURCE: CLIENT_METRICS_CONFIGS,
    GROUP_RESOURCE: GROUP_CONFIGS,
}


Configs = Mapping[str, str]


class ConfigValidation:
    """The checks, in a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def validate(
        self, resource_type: int, name: str, configs: Configs, changed: Sequence[str]
    ) -> WaitingSteps[None]:
        """Check what a resource would have then. Raises KafkaError."""
        validators = {
            TOPIC_RESOURCE: self._validate_topic,
            BROKER_RESOURCE: self._validate_node,
            CLIENT_METRICS_RESOURCE: self._validate_client_metrics,
            GROUP_RESOURCE: self._validate_group,
        }
        validate = validators.get(resource_type)
        if validate is None:
            raise unknown_type(resource_type)
        try:
            yield from validate(name, configs, changed)
        except ConfigError as error:
            raise KafkaError(ErrorCode.INVALID_CONFIG, str(error)) from None
        for some in cut(changed):
            yield None
            if any(len(configs.get(key, "").encode()) > _MAX_VALUE_BYTES for key in some):
                raise KafkaError(
                    ErrorCode.INVALID_CONFIG,
                    "The configuration value cannot be added because it exceeds the maximum value "
                    f"size of {_MAX_VALUE_BYTES} bytes.",
                )
        yield from self._warn_of_idle(TABLES[resource_type], changed)

    def _warn_of_idle(self, table: Mapping[str, ConfigDef], changed: Sequence[str]) -> Steps[None]:
        """Name in one line the configs that are kept without effect, each of them once."""
        known = self._cluster.configs_warned_of
        idle: list[str] = []
        for some in cut(changed):
            yield
            for key in some:
                definition = table.get(key) or find(key)
                has_effect = definition is not None and definition.support is not Support.ACCEPTED
                if not has_effect and key not in known:
                    known.add(key)
                    idle.append(key)
        if idle:
            logger.info("configs that are kept and have no effect here: %s", ", ".join(idle))

    def _validate_topic(self, name: str, configs: Configs, changed: Sequence[str]) -> Steps[None]:
        yield
        if not name:
            raise invalid_request("Default topic resources are not allowed.")
        validate_topic_name(name)
        validate_topic_configs(configs)
        if name not in self._cluster.image.topics:
            raise KafkaError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist."
            )

    def _validate_node(
        self, name: str, configs: Configs, changed: Sequence[str]
    ) -> WaitingSteps[None]:
        from kafkalite.cluster.node_config_validation import NodeConfigValidation  # rarely needed

        yield from NodeConfigValidation(self._cluster).validate(name, configs, changed)

    def _validate_group(self, name: str, configs: Configs, changed: Sequence[str]) -> Steps[None]:
        yield
        if not name:
            raise invalid_request("Default group resources are not allowed.")
        unknown = next((key for key in configs if key not in GROUP_CONFIGS), None)
        if unknown is not None:
            raise ConfigError(f"Unknown group config name: {unknown}")
        in_order = [key for key in GROUP_CONFIGS if key in configs]
        values = {key: GROUP_CONFIGS[key].parse(configs[key]) for key in in_order}
        numbers = {key: value for key, value in values.items() if isinstance(value, int)}
        self._check_group_limits({key: numbers[key] for key in sorted(numbers, key=_limit_place)})

    def _check_group_limits(self, numbers: Mapping[str, int]) -> None:
        """The brokers' limits hold for every group (GroupConfig.validateValues)."""
        broker = self._cluster.config
        for key, number in numbers.items():
            family, _, rest = key.partition(".")
            least, most = f"group.{family}.min.{rest}", f"group.{family}.max.{rest}"
            most = most.replace(".max.num.", ".max.")  # of standby replicas
            if least in BROKER_CONFIGS and number < broker.integer(least):
                raise ConfigError(f"{key} must be greater than or equal to {least}")
            if most in BROKER_CONFIGS and number > broker.integer(most):
                raise ConfigError(f"{key} must be less than or equal to {most}")
        for family in ("consumer", "share", "streams"):
            session, interval = f"{family}.session.timeout.ms", f"{family}.heartbeat.interval.ms"
            session_ms, interval_ms = (
                numbers.get(key, broker.integer(f"group.{key}")) for key in (session, interval)
            )
            if session_ms <= interval_ms:
                raise ConfigError(f"{session} must be greater than {interval}")

    def _validate_client_metrics(
        self, name: str, configs: Configs, changed: Sequence[str]
    ) -> Steps[None]:
        yield
        if not name:
            raise invalid_request("Subscription name can't be empty")
        for key, text in configs.items():
            if key not in CLIENT_METRICS_CONFIGS:
                raise invalid_request(f"Unknown client metrics configuration: {key}")
            value = CLIENT_METRICS_CONFIGS[key].parse(text)
            if key == "match" and isinstance(value, tuple):
                from kafkalite.config.client_match import ClientMatch  # rarely needed

                ClientMatch(value)
            if key == "interval.ms" and isinstance(value, int) and not 100 <= value <= 3_600_000:
                raise invalid_request(
                    f"Invalid value {value} for interval.ms, interval must be between 100 and "
                    "3600000 (1 hour)"
                )


def _limit_place(key: str) -> tuple[str, bool]:
    """The order in which Kafka checks the configs of a family: the interval first."""
    family, _, rest = key.partition(".")
    return family, rest != "heartbeat.interval.ms"


def unknown_type(resource_type: int) -> KafkaError:
    return invalid_request(f"Unknown resource type {resource_type}")
