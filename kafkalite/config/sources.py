"""Sources of configs: a properties file, the environment, flags. The later ones win."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kafkalite.config.definition import (
    AUTHORIZER_CONFIGS,
    BROKER_CONFIGS,
    CLIENT_METRICS_CONFIGS,
    GROUP_CONFIGS,
    TOPIC_CONFIGS,
    ConfigDef,
    ConfigError,
    Support,
)
from kafkalite.log.loggers import logger_of

logger = logger_of(__name__)

# A slip of the finger leaves a name this similar (difflib's ratio). Less is another name.
_CLOSE_ENOUGH: Final = 0.8

# The lowest layer, as the server.properties and the image of Kafka itself come with one.
BUILT_IN: Final[Mapping[str, str]] = {
    "controller.listener.names": "CONTROLLER",
    "listeners": "PLAINTEXT://127.0.0.1:9092",
    "log.dirs": "kafkalite-data",
    "node.id": "1",
    "process.roles": "broker,controller",
}
# Defaults that are not Kafka's: a test should not wait seconds for an assignment.
_OWN_DEFAULTS: Final[Mapping[str, str]] = {
    "group.consumer.assignment.interval.ms": "0",
    "group.initial.rebalance.delay.ms": "0",
    "group.share.assignment.interval.ms": "0",
    "group.streams.assignment.interval.ms": "0",
    "group.streams.initial.rebalance.delay.ms": "0",
}
# Kafka's defaults for internal topics, three replicas of which two must be in sync, need as many
# nodes.
_REPLICATION_FACTORS: Final = (
    "offsets.topic.replication.factor",
    "share.coordinator.state.topic.replication.factor",
    "transaction.state.log.replication.factor",
)
_MIN_IN_SYNC: Final = (
    "share.coordinator.state.topic.min.isr",
    "transaction.state.log.min.isr",
)
_KAFKA_REPLICATION_FACTOR: Final = 3


def built_in(properties: Mapping[str, str]) -> dict[str, str]:
    """The lowest layer of configs for a broker with these properties.

    `log.dir` counts where it stands alone, as in Kafka. Internal topics get as many replicas as
    there are nodes, at most Kafka's three. How many nodes a cluster of several processes has is not
    known here, and Kafka's defaults hold.
    """
    layer = dict(BUILT_IN)
    if "log.dir" in properties:
        del layer["log.dirs"]
    if properties.get("process.roles", "").strip() == "broker":
        return layer
    nodes = properties.get("kafkalite.nodes", "1").strip()
    # Anything but a number is refused where configs are checked.
    count = int(nodes) if nodes.isdecimal() else 1
    if count < _KAFKA_REPLICATION_FACTOR:
        layer |= dict.fromkeys(_REPLICATION_FACTORS, str(max(1, count)))
        layer |= dict.fromkeys(_MIN_IN_SYNC, "1")
    return layer


def own_defaults(properties: Mapping[str, str]) -> dict[str, str]:
    """The defaults that are not Kafka's, for a broker with these properties, without what they set.

    Assignments of groups come as soon as they may: at once, or after the least time that is set.
    """
    defaults = dict(_OWN_DEFAULTS)
    for family in ("consumer", "share", "streams"):
        least = f"group.{family}.min.assignment.interval.ms"
        if least in properties:
            defaults[f"group.{family}.assignment.interval.ms"] = properties[least]
    return {name: value for name, value in defaults.items() if name not in properties}


def read_file(path: Path) -> dict[str, str]:
    """The properties of a file in Java's format, which is Latin-1 with escapes for all else.

    Raises ConfigError if it cannot be read. Source: Utils.loadProps, java.util.Properties.load.
    """
    import javaproperties

    try:
        return javaproperties.loads(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"cannot read the config file {path}: {error.strerror}") from None
    except ValueError as error:
        raise ConfigError(f"cannot read the config file {path}: {error}") from None


def at_address(lower: Mapping[str, str], host: str | None, port: int | None) -> dict[str, str]:
    """The configs that make the first listener of `lower` listen on another host or port.

    The address told to clients follows, if its port was the listener's, so that an image that
    advertises its own port needs to be told one flag only.
    """
    if host is None and port is None:
        return {}
    first, *others = lower.get("listeners", BUILT_IN["listeners"]).split(",")
    name, _, address = first.strip().partition("://")
    old_host, _, old_port = address.rpartition(":")
    if host is not None:
        old_host = f"[{host}]" if ":" in host else host
    new_port = old_port if port is None else str(port)
    configs = {"listeners": ",".join([f"{name}://{old_host}:{new_port}", *others])}
    advertised = lower.get("advertised.listeners")
    if advertised is not None:
        told = (each.strip() for each in advertised.split(","))
        configs["advertised.listeners"] = ",".join(
            f"{each.removesuffix(old_port)}{new_port}"
            if each.startswith(f"{name}://") and each.endswith(f":{old_port}")
            else each
            for each in told
        )
    return configs


def below_a_new_listener(
    together: Mapping[str, str], flags: Mapping[str, str], places: Mapping[str, str]
) -> dict[str, str]:
    """The configs with a listener of the flags that takes the place of all others.

    The addresses that clients are told go with the listeners they belong to. Told alone, they are
    for the new one. `places` says where each config of a file or the environment is set.
    """
    told = "advertised.listeners"
    if told in flags or places.get("listeners") in (None, "KAFKA_ADVERTISED_LISTENERS"):
        return dict(together)
    return {name: text for name, text in together.items() if name != told}


_LONGEST_NAME: Final = max(map(len, BROKER_CONFIGS))


def find(name: str) -> ConfigDef | None:
    """The definition of a broker config; listener.name.<listener>.<name> is that of <name>."""
    if name.startswith("listener.name."):
        rest = name.removeprefix("listener.name.").partition(".")[2]
        if len(rest) > _LONGEST_NAME:  # of 32 kB of dots, only the end can be a name
            rest = rest[-_LONGEST_NAME - 1 :]
        while rest and rest not in BROKER_CONFIGS:
            rest = rest.partition(".")[2]  # the SASL mechanism in between
        name = rest
    return BROKER_CONFIGS.get(name) or AUTHORIZER_CONFIGS.get(name)


def is_sensitive(name: str) -> bool:
    """Tells whether the value of a config, of any resource, is never to be shown.

    A name that is not known may be a plugin's password. Source: KafkaConfig.maybeSensitive.
    """
    tables = TOPIC_CONFIGS, GROUP_CONFIGS, CLIENT_METRICS_CONFIGS
    definition = find(name) or next((each[name] for each in tables if name in each), None)
    return definition is None or definition.sensitive


def check(
    properties: Mapping[str, str],
    *,
    strict_names: bool = False,
    places: Mapping[str, str] | None = None,
) -> None:
    """Check names and values of one source, and name in one line what will have no effect.

    With `strict_names` an unknown name is an error. Otherwise it is left aside, as Kafka does.
    `places` says for each config where it is set: a file, a variable.
    Raises ConfigError, which begins with the place.
    """
    try:
        _check(properties, strict_names=strict_names)
    except ConfigError as error:
        raise located(error, places or {}) from None


def located(error: ConfigError, places: Mapping[str, str]) -> ConfigError:
    """The error with the place where the config that it names first is set."""
    named = sorted(
        (found.start(), -len(name), place)
        for name, place in places.items()
        if (found := re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.]*\w)", str(error)))
    )
    return ConfigError(f"{named[0][2]}: {error}") if named else error


def _check(properties: Mapping[str, str], *, strict_names: bool) -> None:
    idle: list[str] = []
    for name, text in properties.items():
        definition = find(name)
        if definition is None:
            if strict_names:
                raise ConfigError(f"there is no config {name}{_suggestion(name)}")
            logger.warning("config %s is not known and is left aside%s", name, _suggestion(name))
            continue
        value = definition.parse(text)
        if definition.support is Support.REFUSED and value != definition.parse(definition.default):
            raise ConfigError(f"config {name}={text}: kafkalite does not have this")
        if definition.support is Support.ACCEPTED:
            idle.append(name)
    if idle:
        logger.info("configs that have no effect here: %s", ", ".join(sorted(idle)))


def _suggestion(name: str) -> str:
    import difflib  # rarely needed

    close = difflib.get_close_matches(name, BROKER_CONFIGS, n=1, cutoff=_CLOSE_ENOUGH)
    return f" (did you mean {close[0]}?)" if close else ""
