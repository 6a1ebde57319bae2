"""Configs as DescribeConfigs tells them: value, where it comes from, and its synonyms.

A config may be set in several places and, for some, under several names; the synonyms list all of
them, the one in force first (KIP-226). Source: Kafka's ConfigHelper, KafkaConfigSchema.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

from kafkalite.config.broker_config import BrokerConfig
from kafkalite.config.definition import (
    AUTHORIZER_CONFIGS,
    BROKER_CONFIGS,
    CLIENT_METRICS_CONFIGS,
    GROUP_CONFIGS,
    SYNONYMS,
    TOPIC_CONFIG_SYNONYMS,
    TOPIC_CONFIGS,
    ConfigDef,
    format_value,
    text_in_force,
)
from kafkalite.config.sources import find


class ConfigSource(IntEnum):
    """Numbers as on the wire."""

    UNKNOWN = 0
    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


@dataclass(frozen=True, slots=True)
class Synonym:
    """One place where a value is set."""

    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True)
class DescribedConfig:
    """One config of a resource; the value is None where it is sensitive or unset."""

    name: str
    value: str | None
    read_only: bool
    source: ConfigSource
    sensitive: bool
    synonyms: tuple[Synonym, ...]
    type: int
    documentation: str | None


def describe_topic(
    config: BrokerConfig, overrides: Mapping[str, str], node_id: int
) -> Iterator[DescribedConfig]:
    """All configs of a topic with these configs of its own as a node has them, in order of name."""
    layers = _layers(config, node_id)
    for name, definition in TOPIC_CONFIGS.items():
        if definition.internal and name not in overrides:
            continue
        value = format_value(config.topic_value(name, overrides, node_id))
        if definition.internal:  # told as it was set
            value = overrides[name]
        synonyms: list[Synonym] = []
        if name in overrides:
            synonyms.append(Synonym(name, value, ConfigSource.TOPIC))
        if name in TOPIC_CONFIG_SYNONYMS:
            synonyms.extend(_broker_synonyms(layers, TOPIC_CONFIG_SYNONYMS[name][0][0]))
        yield _described(definition, value, synonyms)


def effective_source(config: BrokerConfig, name: str, overrides: Mapping[str, str]) -> ConfigSource:
    """The source of a topic config's value, under any of its names (as CreateTopics answers)."""
    if name in overrides:
        return ConfigSource.TOPIC
    for source, layer in _layers(config, config.node_id):
        if any(synonym in layer for synonym, _ in TOPIC_CONFIG_SYNONYMS.get(name, ())):
            return source
    return ConfigSource.DEFAULT


def describe_node(config: BrokerConfig, node_id: int) -> Iterator[DescribedConfig]:
    """All configs of one node (ConfigHelper.allConfigs).

    The internal ones that are set are among them, and those of a listener. These are told as they
    were set, all others as they are read.
    """
    names = [name for name, definition in BROKER_CONFIGS.items() if not definition.internal]
    layers = _layers(config, node_id)
    dynamic = [layer for _, layer in layers[:2]]
    static = config.static_of(node_id)
    set_somewhere = {name: None for _, layer in layers for name in layer}
    set_as_text = [
        name
        for name in set_somewhere
        if name not in BROKER_CONFIGS or BROKER_CONFIGS[name].internal
    ]
    for name in names + set_as_text:
        definition = _definition(name)
        synonyms = _broker_synonyms(layers, name)
        if definition is None:
            yield _unknown(name, synonyms)
            continue
        if name in set_as_text:
            value = synonyms[0].value
        else:
            value = format_value(definition.parse(text_in_force(name, dynamic, static)))
        yield _of_node(name, definition, value, synonyms)


def describe_all_nodes(config: BrokerConfig) -> Iterator[DescribedConfig]:
    """The dynamic configs that hold for all nodes, as they were set."""
    layers = _layers(config, config.node_id)
    for name in config.dynamic_default:
        definition = _definition(name)
        synonyms = [
            synonym
            for synonym in _broker_synonyms(layers, name)
            if synonym.source is ConfigSource.DYNAMIC_DEFAULT_BROKER
        ]
        if definition is None:
            yield _unknown(name, synonyms)
            continue
        yield _of_node(name, definition, config.dynamic_default[name], synonyms)


def _definition(name: str) -> ConfigDef | None:
    """None for a plugin's config, as those of the authorizer are."""
    found = find(name)
    return None if found is None or found.name in AUTHORIZER_CONFIGS else found


def _unknown(name: str, synonyms: list[Synonym]) -> DescribedConfig:
    """Perhaps a plugin's, and perhaps a secret."""
    return DescribedConfig(name, None, True, synonyms[0].source, True, tuple(synonyms), 0, None)


def describe_group(
    config: BrokerConfig, overrides: Mapping[str, str], node_id: int
) -> Iterator[DescribedConfig]:
    """All configs of a group; the broker's configs of the same meaning are the defaults."""
    layers = _layers(config, node_id)
    for name, definition in GROUP_CONFIGS.items():
        behind = f"group.{name}"
        text = overrides.get(name)
        if text is None:
            known = BROKER_CONFIGS.get(behind)
            text = format_value(config.value(behind, node_id)) if known else definition.default
        value = format_value(definition.parse(text))
        synonyms: list[Synonym] = []
        if name in overrides:
            synonyms.append(Synonym(name, value, ConfigSource.GROUP))
        if behind in BROKER_CONFIGS:
            synonyms.extend(_broker_synonyms(layers, behind))
        else:
            default = format_value(definition.parse(definition.default))
            synonyms.append(Synonym(name, default, ConfigSource.DEFAULT))
        yield _described(definition, value, synonyms)


def describe_client_metrics(overrides: Mapping[str, str]) -> Iterator[DescribedConfig]:
    """All configs of a client metrics subscription (KIP-714)."""
    for name, definition in CLIENT_METRICS_CONFIGS.items():
        value = format_value(definition.parse(overrides.get(name, definition.default)))
        synonyms = [Synonym(name, value, ConfigSource.CLIENT_METRICS)] if name in overrides else []
        yield _described(definition, value, synonyms)


Layers = tuple[tuple[ConfigSource, Mapping[str, str]], ...]


def _layers(config: BrokerConfig, node_id: int) -> Layers:
    """The places where a node's configs are set, the strongest first, and kafkalite's defaults."""
    own = config.own_defaults
    static = config.static_of(node_id)
    return (
        (ConfigSource.DYNAMIC_BROKER, config.dynamic_by_node.get(node_id, {})),
        (ConfigSource.DYNAMIC_DEFAULT_BROKER, config.dynamic_default),
        (ConfigSource.STATIC_BROKER, {name: static[name] for name in static if name not in own}),
        (ConfigSource.DEFAULT, own),
    )


def _broker_synonyms(layers: Layers, name: str) -> list[Synonym]:
    """Everywhere a broker config is set, the strongest first.

    What comes before the first that has the very name is left out: Kafka drops listeners'
    overrides so, and with them log.retention.hours where log.retention.ms is asked for and unset.
    """
    names = _names_of(name)
    found: list[Synonym] = []
    for source, layer in layers:
        for synonym in names:
            if synonym in layer:
                found.append(Synonym(synonym, _shown(synonym, layer[synonym]), source))
    *_, (_, own_defaults) = layers
    for synonym in names:
        definition = BROKER_CONFIGS.get(synonym)
        if synonym in own_defaults:
            continue  # told already
        # Limits of throttled replicas have a default, and tell none.
        is_only_dynamic = definition is not None and definition.internal and definition.dynamic
        if definition is not None and definition.default is not None and not is_only_dynamic:
            shown = _shown(synonym, definition.default)
            found.append(Synonym(synonym, shown, ConfigSource.DEFAULT))
    while found and found[0].name != name:
        del found[0]
    return found


def _names_of(name: str) -> tuple[str, ...]:
    """The names under which a broker config may be set; of a listener's, also that of the node."""
    definition = _definition(name)
    if definition is not None and definition.name != name:
        return name, definition.name
    return SYNONYMS.get(name, (name,))


def _shown(name: str, text: str) -> str | None:
    definition = _definition(name)
    return None if definition is None or definition.sensitive else text


def _of_node(
    name: str, definition: ConfigDef, value: str | None, synonyms: list[Synonym]
) -> DescribedConfig:
    """A config under its own name or under a listener's, which no running node takes for itself."""
    is_dynamic = name in BROKER_CONFIGS and definition.dynamic
    shown = None if definition.sensitive else value
    return _described(definition, shown, synonyms, read_only=not is_dynamic, name=name)


def _described(
    definition: ConfigDef,
    value: str | None,
    synonyms: list[Synonym],
    *,
    read_only: bool = False,
    name: str | None = None,
) -> DescribedConfig:
    return DescribedConfig(
        name or definition.name,
        value,
        read_only,
        synonyms[0].source if synonyms else ConfigSource.DEFAULT,
        definition.sensitive,
        tuple(synonyms),
        definition.type,
        definition.documentation,
    )
