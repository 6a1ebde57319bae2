"""Definitions of configs: name, type, default, allowed values, and the mark of what kafkalite does.

The facts stand in four tables beside this file (`broker.table`, `topic.table`, `group.table`,
`client_metrics.table`), one line per config:

    name | type | default | valid | dynamic | here | documentation

- default: as in Kafka's files; `null` is no value, empty is the empty string or list.
- valid: `[0,...]`, `[1,...,9]`, `[1,...,9] or -1` are ranges, `[a, b]` lists the words allowed.
- dynamic: `per-broker` or `cluster-wide` where a running broker takes a new value (KIP-226).
- here: `enforced`, `accepted` (checked, kept and shown, without effect) or `refused`
  (any value but the default is an error). `internal` is left out of what DescribeConfigs shows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from enum import Enum, IntEnum
from functools import cache
from pathlib import Path
from typing import Final

from msgspec import Struct

from kafkalite.config import java_text

ConfigValue = bool | int | float | str | tuple[str, ...] | None


class ConfigError(Exception):
    """A config with a bad name or value; one sentence that says which, and what is allowed."""


def in_all_configs(reason: str) -> str:
    """A reason to refuse all configs of a node together, in Kafka's words."""
    return (
        f"Invalid value org.apache.kafka.common.config.ConfigException: {reason} for "
        "configuration Invalid dynamic configuration"
    )


def no_java_class(config: str) -> ConfigError:
    """The refusal of a config, or `config=value`, that names a class to run."""
    return ConfigError(f"config {config}: kafkalite runs no Java classes")


class ConfigType(IntEnum):
    """Numbers as in DescribeConfigs (KIP-569)."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class Support(Enum):
    """The mark of a config: its effect here."""

    ENFORCED = "enforced"
    ACCEPTED = "accepted"
    REFUSED = "refused"


_WHOLE_NUMBERS: Final = {ConfigType.SHORT: 16, ConfigType.INT: 32, ConfigType.LONG: 64}


class ConfigDef(Struct, frozen=True):
    """One line of a table. `dynamic` is "", "per-broker" or "cluster-wide"."""

    name: str
    type: ConfigType
    default: str | None
    valid: str
    dynamic: str
    support: Support
    internal: bool
    documentation: str

    @property
    def sensitive(self) -> bool:
        """True when the value is never shown."""
        return self.type is ConfigType.PASSWORD

    def parse(self, text: str | None) -> ConfigValue:
        """The value that `text` stands for, checked.

        Raises ConfigError with the words of Kafka's ConfigException, which tools show as they are.
        """
        value = None if text is None else self._parse(text)
        if value is not None:
            self._check_each(value if isinstance(value, tuple) else (value,))
            if self.valid == _THROTTLED_REPLICAS:
                self._check_throttled(value)
            must_not_be_empty = self.valid in ("non-empty list", "non-empty string")
            if must_not_be_empty and not value and text != self.default:
                raise ConfigError(f"Configuration '{self.name}' must not be empty.")
        return value

    def _check_each(self, values: Iterable[ConfigValue]) -> None:
        """Check one value after the other: the first that is wrong is told."""
        check = _validator(self.valid)
        for value in values:
            if reason := check(value):
                raise self._invalid(format_value(value), reason)

    def _parse(self, text: str) -> ConfigValue:
        """The value of a text, as `type` says. What cannot be read is told with its blanks."""
        trimmed = java_text.trim(text)
        if self.type is ConfigType.BOOLEAN:
            if trimmed.lower() not in ("true", "false"):
                raise self._invalid(text, "Expected value to be either true or false")
            return trimmed.lower() == "true"
        if self.type in _WHOLE_NUMBERS or self.type is ConfigType.DOUBLE:
            number = (
                java_text.double(trimmed)
                if self.type is ConfigType.DOUBLE
                else java_text.whole_number(trimmed, _WHOLE_NUMBERS[self.type])
            )
            if number is None:
                raise self._invalid(text, f"Not a number of type {self.type.name}")
            return number
        if self.type is ConfigType.LIST:
            return self._parse_list(trimmed)
        return trimmed

    def _parse_list(self, trimmed: str) -> tuple[str, ...]:
        """Items in their order, each once unless `valid` says otherwise; throttled replicas are
        kept as they stand."""
        items = java_text.split_list(trimmed)
        if self.valid == _THROTTLED_REPLICAS:
            return items
        if "" in items:
            self._check_each(items[: items.index("")])
            raise ConfigError(f"Configuration '{self.name}' values must not be empty.")
        return items if self.valid == _REPEATED else tuple(dict.fromkeys(items))

    def _check_throttled(self, value: ConfigValue) -> None:
        items = value if isinstance(value, tuple) else ()
        if items == ("*",) or all(re.fullmatch(r"([0-9]+:[0-9]+)?", item) for item in items):
            return
        raise self._invalid(
            f"[{', '.join(items)}]",
            f"{self.name} must be the literal '*' or a list of replicas in the following format: "
            + _THROTTLED_REPLICAS,
        )

    def _invalid(self, value: ConfigValue, reason: str) -> ConfigError:
        shown = "[hidden]" if self.sensitive else value
        return ConfigError(f"Invalid value {shown} for configuration {self.name}: {reason}")


def format_value(value: ConfigValue) -> str | None:
    """A value as Kafka writes it (ConfigDef.convertToString)."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return java_text.format_double(value)
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value)


def scaled(value: ConfigValue, factor: int) -> ConfigValue:
    """A broker's value in a topic's unit; negative ones ("no limit") count as -1, as in Kafka."""
    if factor == 1 or not isinstance(value, int):
        return value
    return -1 if value < 0 else value * factor


_REPEATED: Final = "items may be repeated"
_THROTTLED_REPLICAS: Final = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
_RANGE = re.compile(r"\[(-?[0-9.]+?),\.\.\.(?:,(-?[0-9.]+))?](?: or (-?[0-9]+))?")

Check = Callable[[ConfigValue], str | None]


@cache
def _validator(valid: str) -> Check:
    """The checks by their words in the table. Each returns why a value is refused, or None."""
    if match := _RANGE.fullmatch(valid):
        return _range_check(*match.groups())
    if valid.startswith("(case insensitive) "):
        words = valid.removeprefix("(case insensitive) ").strip("[]").split(", ")
        known = [word.upper() for word in words]
        reason = f"String must be one of (case insensitive): {', '.join(words)}"
        return lambda value: None if str(value).upper() in known else reason
    if valid == "[latest, earliest, by_duration:PnDTnHnMn.nS]":
        return _check_offset_reset
    if valid.startswith("[") and valid != _THROTTLED_REPLICAS:
        allowed = valid.strip("[]").split(", ")
        reason = f"String must be one of: {', '.join(allowed)}"
        return lambda value: None if value in allowed else reason
    return lambda value: None


def _range_check(low_text: str, high_text: str | None, also_text: str | None) -> Check:
    low = float(low_text) if "." in low_text else int(low_text)
    high = None if high_text is None else float(high_text) if "." in high_text else int(high_text)
    also = None if also_text is None else int(also_text)

    def check(value: ConfigValue) -> str | None:
        if not isinstance(value, int | float) or value == also:
            return None
        if also is not None and not (low <= value and (high is None or value <= high)):
            return f"Value must be between {low} and {high} or equal to {also}"
        if value < low:
            return f"Value must be at least {low}"
        if high is not None and value > high:
            return f"Value must be no more than {high}"
        return None

    return check


def _check_offset_reset(value: ConfigValue) -> str | None:
    text = str(value)
    if text in ("latest", "earliest") or _is_by_duration(text):
        return None
    return (
        f"Invalid value `{text}` for configuration share.auto.offset.reset. The value must be "
        "either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
    )


def _is_by_duration(text: str) -> bool:
    from kafkalite.config.java_duration import duration_ns  # rarely needed

    prefix, _, duration = text.partition(":")
    try:
        return prefix == "by_duration" and duration_ns(duration) >= 0
    except ValueError:
        return False


def _read_table(name: str) -> dict[str, ConfigDef]:
    table: dict[str, ConfigDef] = {}
    text = Path(__file__).with_name(f"{name}.table").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        key, kind, default, valid, dynamic, here, doc = (cell.strip() for cell in line.split("|"))
        support, _, internal = here.partition(" ")
        table[key] = ConfigDef(
            name=key,
            type=ConfigType[kind.upper()],
            default=None if default == "null" else default,
            valid=valid,
            dynamic=dynamic,
            support=Support(support),
            internal=bool(internal),
            documentation=doc,
        )
    return table


BROKER_CONFIGS: Final[Mapping[str, ConfigDef]] = _read_table("broker")
TOPIC_CONFIGS: Final[Mapping[str, ConfigDef]] = _read_table("topic")
GROUP_CONFIGS: Final[Mapping[str, ConfigDef]] = _read_table("group")
CLIENT_METRICS_CONFIGS: Final[Mapping[str, ConfigDef]] = _read_table("client_metrics")

# Kafka takes the authorizer's configs for a plugin's: it tells their names, not their values.
AUTHORIZER_CONFIGS: Final[Mapping[str, ConfigDef]] = {
    name: ConfigDef(name, kind, default, "", "", Support.ENFORCED, False, documentation)
    for name, kind, default, documentation in (
        (
            "super.users",
            ConfigType.STRING,
            None,
            "Principals that may do everything, separated by semicolons: User:admin;User:broker.",
        ),
        (
            "allow.everyone.if.no.acl.found",
            ConfigType.BOOLEAN,
            "false",
            "Whether everybody may do everything with a resource for which there is no ACL.",
        ),
    )
}

_MINUTE_MS: Final = 60_000
_HOUR_MS: Final = 3_600_000

# The broker configs that a topic config falls back to, the strongest first, each with the factor
# from its unit to the topic config's (ServerTopicConfigSynonyms).
TOPIC_CONFIG_SYNONYMS: Final[Mapping[str, tuple[tuple[str, int], ...]]] = {
    "cleanup.policy": (("log.cleanup.policy", 1),),
    "compression.gzip.level": (("compression.gzip.level", 1),),
    "compression.lz4.level": (("compression.lz4.level", 1),),
    "compression.type": (("compression.type", 1),),
    "compression.zstd.level": (("compression.zstd.level", 1),),
    "delete.retention.ms": (("log.cleaner.delete.retention.ms", 1),),
    "file.delete.delay.ms": (("log.segment.delete.delay.ms", 1),),
    "flush.messages": (("log.flush.interval.messages", 1),),
    "flush.ms": (("log.flush.interval.ms", 1), ("log.flush.scheduler.interval.ms", 1)),
    "index.interval.bytes": (("log.index.interval.bytes", 1),),
    "local.retention.bytes": (("log.local.retention.bytes", 1),),
    "local.retention.ms": (("log.local.retention.ms", 1),),
    "max.compaction.lag.ms": (("log.cleaner.max.compaction.lag.ms", 1),),
    "max.message.bytes": (("message.max.bytes", 1),),
    "message.timestamp.after.max.ms": (("log.message.timestamp.after.max.ms", 1),),
    "message.timestamp.before.max.ms": (("log.message.timestamp.before.max.ms", 1),),
    "message.timestamp.type": (("log.message.timestamp.type", 1),),
    "min.cleanable.dirty.ratio": (("log.cleaner.min.cleanable.ratio", 1),),
    "min.compaction.lag.ms": (("log.cleaner.min.compaction.lag.ms", 1),),
    "min.insync.replicas": (("min.insync.replicas", 1),),
    "preallocate": (("log.preallocate", 1),),
    "retention.bytes": (("log.retention.bytes", 1),),
    "retention.ms": (
        ("log.retention.ms", 1),
        ("log.retention.minutes", _MINUTE_MS),
        ("log.retention.hours", _HOUR_MS),
    ),
    "segment.bytes": (("log.segment.bytes", 1),),
    "segment.index.bytes": (("log.index.size.max.bytes", 1),),
    "segment.jitter.ms": (("log.roll.jitter.ms", 1), ("log.roll.jitter.hours", _HOUR_MS)),
    "segment.ms": (("log.roll.ms", 1), ("log.roll.hours", _HOUR_MS)),
    "unclean.leader.election.enable": (("unclean.leader.election.enable", 1),),
}

# Broker configs that stand for one another, the strongest first.
_FAMILIES: Final = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
# The names behind a broker config, and those that hide one when they are set while running.
SYNONYMS: Final[Mapping[str, tuple[str, ...]]] = {
    **{name: family for family in _FAMILIES for name in family},
    "log.flush.interval.ms": ("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
}
HIDDEN_BY: Final[Mapping[str, tuple[str, ...]]] = {
    **{name: family for family in _FAMILIES for name in family},
    "log.flush.scheduler.interval.ms": ("log.flush.interval.ms",),
}


def text_in_force(
    name: str, dynamic: Iterable[Mapping[str, str]], static: Mapping[str, str]
) -> str | None:
    """A config of a node as it was set, in the first of these places, else its default.

    One that is changed while running hides what is set behind it under other names of the same
    thing.
    """
    default = BROKER_CONFIGS[name].default
    for layer in dynamic:
        if name in layer:
            return layer[name]
        if any(hiding in layer for hiding in HIDDEN_BY.get(name, ())):
            return default
    return static.get(name, default)
