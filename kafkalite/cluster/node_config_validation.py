"""The values a node's configs may have, when they are changed while it runs.

A bad value is INVALID_REQUEST, as the dynamic configs of a node are checked as a whole. Source of
rules and words: Kafka's DynamicBrokerConfig.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kafkalite.cluster.features import ELR_FEATURE
from kafkalite.config import (
    BROKER_CONFIGS,
    ConfigDef,
    ConfigError,
    Support,
    connection_limits,
    together,
)
from kafkalite.config.definition import ConfigType, in_all_configs
from kafkalite.config.listener_configs import PREFIX, STORES
from kafkalite.config.log_dirs import check_cordoned
from kafkalite.config.sources import find
from kafkalite.requests.slices import Steps, WaitingSteps, cut
from kafkalite.wire.api_keys import BROKER_RESOURCE
from kafkalite.wire.errors import invalid_request

if TYPE_CHECKING:
    from kafkalite.cluster.cluster import Cluster

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
_REPORTERS: Final = "metric.reporters"
_CORDONED: Final = "cordoned.log.dirs"
MIN_IN_SYNC: Final = "min.insync.replicas"

Configs = Mapping[str, str]


class NodeConfigValidation:
    """The checks, in a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def validate(self, name: str, configs: Configs, changed: Sequence[str]) -> WaitingSteps[None]:
        """Check what a node, or without a name all of them, would have then.

        Raises KafkaError or ConfigError.
        """
        definitions: dict[str, ConfigDef] = {}
        for some in cut([*configs, *changed]):
            definitions.update({key: found for key in some if (found := _definition(key))})
            yield None
        known = {key: definitions[key] for key in changed if key in definitions}
        self._check_dynamic(name, configs, known)
        yield None
        try:
            for is_dynamic in (True, False):
                for some in cut([key for key in configs if key in definitions]):
                    for key in some:
                        if bool(definitions[key].dynamic) == is_dynamic:
                            _check_value(definitions[key], key, configs[key])
                    yield None
                if is_dynamic and not name:
                    _check_default([key for key in changed if key in configs])
            if _CORDONED in configs:
                cordoned = BROKER_CONFIGS[_CORDONED].parse(configs[_CORDONED])
                assert isinstance(cordoned, tuple)
                check_cordoned(cordoned, self._cluster.config.log_dirs)
        except ConfigError as error:
            raise invalid_request(str(error)) from None
        self._check_support({key: found for key, found in known.items() if key in configs})
        yield from self._check_nodes(name, configs)
        self._check_reporters(name, configs, changed)
        self._check_listeners(name, configs, changed)
        yield None
        yield from self._check_stores(name, configs, changed)
        if MIN_IN_SYNC in changed and self._cluster.features.get(ELR_FEATURE):
            if name:
                raise ConfigError(
                    f"Broker-level {MIN_IN_SYNC} cannot be altered while ELR is enabled."
                )
            if MIN_IN_SYNC not in configs:
                raise ConfigError(
                    f"Cluster-level {MIN_IN_SYNC} cannot be removed while ELR is enabled."
                )

    def _check_nodes(self, name: str, configs: Configs) -> Steps[None]:
        """Check what each node is to have, with its own configs and those of all."""
        config = self._cluster.config
        default = config.dynamic_default if name else configs
        listener_names = [listener.name for listener in config.listeners()]
        for node_id in [int(name)] if name else config.node_ids:
            yield
            own = config.dynamic_by_node.get(node_id, {})
            before = {**config.static, **config.dynamic_default, **own}
            after = {**config.static, **default, **(configs if name else own)}
            try:
                together.check_change(before, after, listener_names)
                connection_limits.check_change(before, after, listener_names)
            except ConfigError as error:
                raise invalid_request(str(error)) from None

    def _check_reporters(self, name: str, configs: Configs, changed: Sequence[str]) -> None:
        """Check that Kafka has the classes that report metrics (DynamicMetricsReporters)."""
        if _REPORTERS not in changed or _REPORTERS not in configs:
            return
        reporters = BROKER_CONFIGS[_REPORTERS].parse(configs[_REPORTERS])
        assert isinstance(reporters, tuple)
        if not all(reporter.startswith(_KAFKAS_OWN) for reporter in reporters):
            updated = [key for key in self._differing(name, configs, changed) if key in configs]
            raise invalid_request(
                in_all_configs(
                    f"Validation of dynamic config update of Set({', '.join(updated)}) failed "
                    "with class class kafka.server.DynamicMetricsReporters"
                )
            )

    def _differing(self, name: str, configs: Configs, changed: Sequence[str]) -> list[str]:
        """The configs that would have another value than they have."""
        present = self._cluster.image.configs.get((BROKER_RESOURCE, name), {})
        return [key for key in changed if present.get(key) != configs.get(key)]

    def _check_listeners(self, name: str, configs: Configs, changed: Sequence[str]) -> None:
        """Check that a running listener's own configs do not change beside those of the node."""
        differing = self._differing(name, configs, changed)
        if _ABOUT_LISTENERS.isdisjoint(differing):
            return
        for listener in self._cluster.config.listeners():
            prefix = f"{PREFIX}{listener.name.lower()}."
            own = (key.removeprefix(prefix) for key in differing if key.startswith(prefix))
            if any(key not in STORES and key not in _OF_ALL_NODES for key in own):
                raise invalid_request(
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
                raise invalid_request(in_all_configs(reason)) from None

    def _check_dynamic(self, name: str, configs: Configs, changed: Mapping[str, ConfigDef]) -> None:
        """Check that a running node takes these, at this level (DynamicBrokerConfig.validate)."""
        # A listener's own configs are kept for its next start, the static ones too.
        static = [
            key
            for key in changed
            if key in configs and not key.startswith(PREFIX) and not changed[key].dynamic
        ]
        if static:
            raise invalid_request(f"Cannot update these configs dynamically: {_listed(static)}")
        by_listener = [key for key in changed if key in configs and key in STORES]
        if by_listener:
            raise invalid_request(
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


def _definition(name: str) -> ConfigDef | None:
    """The definition; None for a config that Kafka keeps as it is, as it may be a plugin's."""
    found = find(name)
    return None if found is None or found.name not in BROKER_CONFIGS else found


def _check_value(definition: ConfigDef, key: str, text: str) -> None:
    """Check a value, and that Kafka has such a class. Raises ConfigError.

    A listener's static config is read with all others of the node, which puts other words around
    the reason.
    """
    try:
        value = definition.parse(text)
        if definition.type is ConfigType.CLASS and not str(value).startswith(_KAFKAS_OWN):
            raise ConfigError(
                f"Invalid value {text} for configuration {definition.name}: "
                f"Class {text} could not be found."
            )
    except ConfigError as error:
        if definition.dynamic or not key.startswith(PREFIX):
            raise
        raise ConfigError(in_all_configs(str(error))) from None


def _listed(names: Sequence[str]) -> str:
    return f"[{', '.join(names)}]"
