"""The values a resource's configs may have, when they are changed while running.

A bad value is INVALID_CONFIG for a topic, but INVALID_REQUEST for a node, whose dynamic configs are
checked as a whole. Source of rules and words: Kafka's ControllerConfigurationValidator,
DynamicBrokerConfig, GroupConfig, ClientMetricsConfigs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kafkalite.cluster.image import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from kafkalite.config import (
    BROKER_CONFIGS,
    CLIENT_METRICS_CONFIGS,
    GROUP_CONFIGS,
    TOPIC_CONFIGS,
    ConfigDef,
    ConfigError,
    Support,
    connection_limits,
    validate_topic_configs,
)
from kafkalite.config.definition import ConfigType, in_all_configs
from kafkalite.config.listener_configs import PREFIX, STORES
from kafkalite.config.log_dirs import check_cordoned
from kafkalite.config.sources import find
from kafkalite.log.loggers import logger_of
from kafkalite.requests.slices import Steps, WaitingSteps, cut
from kafkalite.requests.topic_names import validate_topic_name
from kafkalite.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from kafkalite.cluster.cluster import Cluster

logger = logger_of(__name__)

_MAX_VALUE_BYTES: Final = 32767
_ELR_FEATURE: Final = "eligible.leader.replicas.version"
# Dynamic in Kafka. Here a node keeps the addresses that it started with.
_AT_START_ONLY: Final = ("listeners", "listener.security.protocol.map")
_STORE_OF: Final = re.compile(
    rf"listener\.name\.([^.]+)\.(?:{'|'.join(map(re.escape, sorted(STORES)))})"
)
_OF_LISTENER: Final = re.compile(r"listener\.name\.[^.]*\.(.*)")
_OF_ALL_NODES: Final = (connection_limits.MOST, connection_limits.RATE, "num.network.threads")
# With one of these of the node itself, Apache Kafka looks whether a listener's own change
# (DynamicListenerConfig).
_ABOUT_LISTENERS: Final = frozenset(
    {
        "principal.builder.class",
        "sasl.enabled.mechanisms",
        "sasl.jaas.config",
        "sasl.kerberos.kinit.cmd",
        "sasl.kerberos.min.time.before.relogin",
        "sasl.kerberos.principal.to.local.rules",
        "sasl.kerberos.service.name",
        "sasl.kerberos.ticket.renew.jitter",
        "sasl.kerberos.ticket.renew.window.factor",
        "sasl.login.refresh.buffer.seconds",
        "sasl.login.refresh.min.period.seconds",
        "sasl.login.refresh.window.factor",
        "sasl.login.refresh.window.jitter",
        "sasl.mechanism.inter.broker.protocol",
        "ssl.cipher.suites",
        "ssl.client.auth",
        "ssl.enabled.protocols",
        "ssl.endpoint.identification.algorithm",
        "ssl.engine.factory.class",
        "ssl.keymanager.algorithm",
        "ssl.protocol",
        "ssl.provider",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
        *_OF_ALL_NODES,
    }
)
_KAFKAS_OWN: Final = "org.apache.kafka."
_CORDONED: Final = "cordoned.log.dirs"
_MIN_IN_SYNC: Final = "min.insync.replicas"


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
            raise invalid("Default topic resources are not allowed.")
        validate_topic_name(name)
        validate_topic_configs(configs)
        if name not in self._cluster.image.topics:
            raise KafkaError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist."
            )

    def _validate_node(
        self, name: str, configs: Configs, changed: Sequence[str]
    ) -> WaitingSteps[None]:
        definitions: dict[str, ConfigDef] = {}
        for some in cut([*configs, *changed]):
            # Kafka keeps what it does not know: it may be a plugin's.
            definitions.update({key: found for key in some if (found := find(key))})
            yield None
        known = {key: definitions[key] for key in changed if key in definitions}
        self._check_dynamic(name, configs, known)
        yield None
        try:
            for some in cut([key for key in configs if key in definitions]):
                for key in some:
                    _parse(definitions[key], key, configs[key])
                    _check_class(definitions[key], configs[key])
                yield None
            if not name:
                _check_default([key for key in changed if key in configs])
            if cordoned := configs.get(_CORDONED):
                check_cordoned(cordoned.split(","), self._cluster.config.log_dirs)
        except ConfigError as error:
            raise invalid(str(error)) from None
        self._check_support(known)
        if any(found.name in connection_limits.NAMES for found in known.values()):
            yield from self._check_limits(name, configs)
        self._check_listeners(name, configs, changed)
        yield None
        yield from self._check_stores(name, configs, changed)
        if _MIN_IN_SYNC in changed and self._cluster.features.get(_ELR_FEATURE):
            if name:
                raise ConfigError(
                    f"Broker-level {_MIN_IN_SYNC} cannot be altered while ELR is enabled."
                )
            if _MIN_IN_SYNC not in configs:
                raise ConfigError(
                    f"Cluster-level {_MIN_IN_SYNC} cannot be removed while ELR is enabled."
                )

    def _check_limits(self, name: str, configs: Configs) -> Steps[None]:
        """Check how many connections the nodes are to have, each with all its configs."""
        config = self._cluster.config
        default = config.dynamic_default if name else configs
        for node_id in [int(name)] if name else config.node_ids:
            yield
            own = config.dynamic_by_node.get(node_id, {})
            try:
                connection_limits.check_change(
                    {**config.static, **config.dynamic_default, **own},
                    {**config.static, **default, **(configs if name else own)},
                    [listener.name for listener in config.listeners()],
                )
            except ConfigError as error:
                raise invalid(str(error)) from None

    def _check_listeners(self, name: str, configs: Configs, changed: Sequence[str]) -> None:
        """Check that a running listener's own configs do not change beside those of the node."""
        present = self._cluster.image.configs.get((BROKER_RESOURCE, name), {})
        differing = [key for key in changed if present.get(key) != configs.get(key)]
        if _ABOUT_LISTENERS.isdisjoint(differing):
            return
        for listener in self._cluster.config.listeners():
            prefix = f"{PREFIX}{listener.name.lower()}."
            own = (key.removeprefix(prefix) for key in differing if key.startswith(prefix))
            if any(key not in STORES and key not in _OF_ALL_NODES for key in own):
                raise invalid(
                    in_all_configs(
                        "Configs cannot be updated dynamically for existing listener "
                        f"ListenerName({listener.name.upper()}), restart broker or create a new "
                        "listener for update"
                    )
                )

    def _check_stores(
        self, name: str, configs: Configs, changed: Sequence[str]
    ) -> WaitingSteps[None]:
        """Check the stores of the listeners that get other ones (SslFactory)."""
        listeners: dict[str, None] = {}
        for some in cut(changed):
            listeners |= {match[1]: None for key in some if (match := _STORE_OF.fullmatch(key))}
            yield None
        for listener in listeners if name else ():
            yield None
            try:
                yield from self._cluster.check_stores(int(name), listener, configs)
            except ConfigError as error:
                reason = f"Validation of dynamic config update of SSLFactory failed: {error}"
                raise invalid(in_all_configs(reason)) from None

    def _check_dynamic(self, name: str, configs: Configs, changed: Mapping[str, ConfigDef]) -> None:
        """Check that a running node takes these, at this level (DynamicBrokerConfig.validate)."""
        # A listener's own configs are kept for its next start, the static ones too.
        static = [
            key
            for key in changed
            if key in configs and not key.startswith(PREFIX) and not changed[key].dynamic
        ]
        if static:
            raise invalid(f"Cannot update these configs dynamically: {_listed(static)}")
        by_listener = [key for key in changed if key in configs and key in STORES]
        if by_listener:
            raise invalid(
                "These security configs can be dynamically updated only per-listener using the "
                f"listener prefix: {_listed(by_listener)}"
            )

    def _check_support(self, changed: Mapping[str, ConfigDef]) -> None:
        """Check that kafkalite has them, and while it runs. Raises ConfigError."""
        at_start = [key for key in changed if key in _AT_START_ONLY]
        if at_start:
            raise ConfigError(f"config {at_start[0]}: kafkalite takes it at its start only")
        refused = [key for key in changed if changed[key].support is Support.REFUSED]
        if refused:
            raise ConfigError(f"config {refused[0]}: kafkalite does not have this")

    def _validate_group(self, name: str, configs: Configs, changed: Sequence[str]) -> Steps[None]:
        yield
        if not name:
            raise invalid("Default group resources are not allowed.")
        unknown = next((key for key in configs if key not in GROUP_CONFIGS), None)
        if unknown is not None:
            raise ConfigError(f"Unknown group config name: {unknown}")
        in_order = [key for key in GROUP_CONFIGS if key in configs]
        for key in in_order:
            GROUP_CONFIGS[key].parse(configs[key])
        self._check_group_limits({key: configs[key] for key in sorted(in_order, key=_limit_place)})

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

    def _validate_client_metrics(
        self, name: str, configs: Configs, changed: Sequence[str]
    ) -> Steps[None]:
        yield
        if not name:
            raise invalid("Subscription name can't be empty")
        for key, text in configs.items():
            if key not in CLIENT_METRICS_CONFIGS:
                raise invalid(f"Unknown client metrics configuration: {key}")
            value = CLIENT_METRICS_CONFIGS[key].parse(text)
            if key == "match" and isinstance(value, tuple):
                from kafkalite.config.client_match import ClientMatch  # rarely needed

                ClientMatch(value)
            if key == "interval.ms" and isinstance(value, int) and not 100 <= value <= 3_600_000:
                raise invalid(
                    f"Invalid value {text} for interval.ms, interval must be between 100 and "
                    "3600000 (1 hour)"
                )


def _limit_place(key: str) -> tuple[str, bool]:
    """The order in which Kafka checks the configs of a family: the interval first."""
    family, _, rest = key.partition(".")
    return family, rest != "heartbeat.interval.ms"


def _check_default(names: Sequence[str]) -> None:
    """Check that these may be set for all nodes together. Raises ConfigError.

    Of a listener's own configs, only its limits of connections may be.
    """
    single = [
        key
        for key in names
        if ((match := _OF_LISTENER.fullmatch(key)) is not None and match[1] not in _OF_ALL_NODES)
        or (match is None and (found := find(key)) is not None and found.dynamic == "per-broker")
    ]
    if single:
        raise ConfigError(
            "Cannot update these configs at default cluster level, broker id must be "
            f"specified: {_listed(single)}"
        )


def _check_class(definition: ConfigDef, text: str) -> None:
    """Check that Kafka has such a class. Raises ConfigError in Kafka's words.

    A static config is read with all others of the node, which puts other words around the reason.
    """
    if definition.type is not ConfigType.CLASS or not text or text.startswith(_KAFKAS_OWN):
        return
    reason = (
        f"Invalid value {text} for configuration {definition.name}: "
        f"Class {text} could not be found."
    )
    raise ConfigError(reason if definition.dynamic else in_all_configs(reason))


def _parse(definition: ConfigDef, key: str, text: str) -> None:
    """Check a value. Raises ConfigError; a listener's static config is read with all others."""
    try:
        definition.parse(text)
    except ConfigError as error:
        if definition.dynamic or not key.startswith(PREFIX):
            raise
        raise ConfigError(in_all_configs(str(error))) from None


def _listed(names: Sequence[str]) -> str:
    return f"[{', '.join(names)}]"


def unknown_type(resource_type: int) -> KafkaError:
    return invalid(f"Unknown resource type {resource_type}")


def invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
