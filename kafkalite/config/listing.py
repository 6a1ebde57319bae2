"""The configs as a table for people: value, origin, and what kafkalite makes of each."""

from __future__ import annotations

from collections.abc import Iterator

from kafkalite.config.broker_config import BrokerConfig
from kafkalite.config.definition import BROKER_CONFIGS, ConfigDef, format_value


def list_configs(config: BrokerConfig) -> Iterator[str]:
    """One line per broker config, internal ones left out: name, value, set or default, support."""
    rows = [("CONFIG", "VALUE", "FROM", "HERE")]
    rows += [
        (name, _value(config, definition), _origin(config, name), definition.support.value)
        for name, definition in BROKER_CONFIGS.items()
        if not definition.internal
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    for name, value, origin, support in rows:
        yield f"{name:{widths[0]}}  {value:{widths[1]}}  {origin:7}  {support}"


def _value(config: BrokerConfig, definition: ConfigDef) -> str:
    value = format_value(config[definition.name])
    if value is None:
        return "-"
    return "[hidden]" if definition.sensitive else value


def _origin(config: BrokerConfig, name: str) -> str:
    return "set" if name in config.static and name not in config.own_defaults else "default"
