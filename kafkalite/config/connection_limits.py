"""The limits of a node's connections, and the values that their configs take.

    max.connections                      of the node, and of each of its listeners
    listener.name.<name>.max.connections of a listener (KIP-402)
    max.connections.per.ip               of an address
    max.connections.per.ip.overrides     of single addresses and hosts, as host:count

`max.connection.creation.rate` (KIP-612) is of the node and of a listener likewise, and
`queued.max.request.bytes` (KIP-72) of the node.

Source of rules and words: Kafka's SocketServerConfigs, KafkaConfig, ConnectionQuotas.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from kafkalite.config.definition import BROKER_CONFIGS, ConfigError, in_all_configs
from kafkalite.config.java_text import trim
from kafkalite.config.listener_configs import PREFIX, ListenerConfigs

if TYPE_CHECKING:
    from kafkalite.config.broker_config import BrokerConfig

MOST: Final = "max.connections"
RATE: Final = "max.connection.creation.rate"
PER_ADDRESS: Final = "max.connections.per.ip"
OVERRIDES: Final = "max.connections.per.ip.overrides"
QUEUED: Final = "queued.max.request.bytes"
ALL_LISTENERS: Final = ""
NAMES: Final = frozenset({MOST, RATE, PER_ADDRESS, OVERRIDES})

_COMMA: Final = re.compile(r"\s*,\s*")
_HOST: Final = re.compile(r"[0-9a-zA-Z\-%._:]*")
_COUNT: Final = re.compile(r"[+-]?[0-9]+")
_LIMIT: Final = 1 << 31


def protected_listener(config: BrokerConfig) -> str | None:
    """The listener of brokers, which the limits of the node do not hold back.

    None if there is no other.
    """
    if len(config.listeners()) == 1:
        return None
    named = config.string("inter.broker.listener.name")
    return (named or config.string("security.inter.broker.protocol") or "").upper()


def limit_of(config: BrokerConfig, name: str, node_id: int, listener: str) -> int:
    """A limit of a node's listener; of the node itself for ALL_LISTENERS."""
    if listener == ALL_LISTENERS:
        return config.integer(name, node_id)
    return ListenerConfigs(config, listener, node_id).integer(name)


def has_rate(config: BrokerConfig) -> bool:
    """True if a node or a listener has a rate of new connections."""
    told = (config.static, config.dynamic_default, *config.dynamic_by_node.values())
    return any(RATE in name for configs in told for name in configs)


def address_overrides(text: str) -> dict[str, int]:
    """max.connections.per.ip.overrides as {host: count}. Raises ConfigError."""
    found: dict[str, int] = {}
    items = _COMMA.split(text)
    while items and not items[-1]:
        items.pop()
    for item in items:
        host, colon, count = item.rpartition(":")
        if not colon:
            raise ConfigError(
                f"Error parsing configuration property '{OVERRIDES}': "
                f"begin 0, end -1, length {len(item)}"
            )
        count = count.strip()
        if not _COUNT.fullmatch(count) or not -_LIMIT <= int(count) < _LIMIT:
            raise ConfigError(f'For input string: "{count}"')
        found[host.strip()] = int(count)
    return found


def check_addresses(most: int, overrides_text: str) -> None:
    """Check the limits of addresses: the one of all, and those of single ones.

    Raises ConfigError.
    """
    overrides = address_overrides(overrides_text)
    if most == 0 and not overrides:
        raise ConfigError(
            f"requirement failed: {PER_ADDRESS} can be set to zero only if {OVERRIDES} property "
            "is set."
        )
    invalid = [host for host in overrides if not _HOST.fullmatch(host)]
    if invalid:
        raise ConfigError(f"{OVERRIDES} contains invalid addresses : {','.join(invalid)}")


def check_at_start(config: BrokerConfig) -> None:
    """Check limits together. Raises ConfigError, which names the config."""
    if 0 < config.integer(QUEUED) < config.integer("socket.request.max.bytes"):
        raise ConfigError(f"{QUEUED} must be larger or equal to socket.request.max.bytes")
    text = config.string(OVERRIDES) or ""
    try:
        check_addresses(config.integer(PER_ADDRESS), text)
    except ConfigError as error:
        if OVERRIDES in str(error):
            raise
        raise ConfigError(f"{OVERRIDES}={text}: {error}") from None


def check_change(
    before: Mapping[str, str], after: Mapping[str, str], listener_names: Iterable[str]
) -> None:
    """Check the configs that a running node is to have. Raises ConfigError.

    A running listener takes no limit of 0, which would let in no client that could change it.
    """
    check_addresses(_number(after, PER_ADDRESS), trim(after.get(OVERRIDES, "")))
    for name in listener_names:
        values = {config: _of_listener(after, name, config) for config in (MOST, RATE)}
        if values == {config: _of_listener(before, name, config) for config in values}:
            continue
        for config, value in values.items():
            if value <= 0:
                raise ConfigError(in_all_configs(f"Invalid {config} {value}"))


def _of_listener(texts: Mapping[str, str], listener_name: str, config: str) -> int:
    own = f"{PREFIX}{listener_name.lower()}.{config}"
    return _number({config: texts[own]} if own in texts else texts, config)


def _number(texts: Mapping[str, str], config: str) -> int:
    value = BROKER_CONFIGS[config].parse(texts.get(config, BROKER_CONFIGS[config].default))
    assert isinstance(value, int), config
    return value
