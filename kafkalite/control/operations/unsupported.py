"""Configs that somebody set, and that change nothing here: they are accepted, or not known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

from kafkalite.config.definition import (
    CLIENT_METRICS_CONFIGS,
    GROUP_CONFIGS,
    TOPIC_CONFIGS,
    ConfigDef,
    ConfigError,
    Support,
)
from kafkalite.config.sources import find
from kafkalite.control.answers import UnsupportedView
from kafkalite.control.cluster import ControlledCluster
from kafkalite.control.paging import Page, page_in_order
from kafkalite.control.secrets import HIDDEN
from kafkalite.requests.slices import in_slices_of_task, mapped
from kafkalite.wire.api_keys import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)

_TABLES: Final[Mapping[int, tuple[str, Mapping[str, ConfigDef]]]] = {
    TOPIC_RESOURCE: ("topic", TOPIC_CONFIGS),
    BROKER_RESOURCE: ("node", {}),
    CLIENT_METRICS_RESOURCE: ("client metrics", CLIENT_METRICS_CONFIGS),
    GROUP_RESOURCE: ("group", GROUP_CONFIGS),
}


async def list_unsupported(cluster: ControlledCluster, request: Page) -> list[UnsupportedView]:
    """The configs that were set and have no effect here: of the broker, nodes, topics, groups.

    `after` is one of them, such as "topic orders/retention.bytes".
    """
    broker = cluster.broker
    found = list(without_effect("broker", {}, broker.config.given))
    configs = broker.services.cluster.image.configs
    of_resources = await in_slices_of_task(mapped(partial(of_resource, configs), sorted(configs)))
    found += [each for several in of_resources for each in several]
    return page_in_order(found, request, lambda each: f"{each.where}/{each.name}")


def of_resource(
    configs: Mapping[tuple[int, str], Mapping[str, str]], resource: tuple[int, str]
) -> list[UnsupportedView]:
    """The configs of one resource that have no effect."""
    kind, name = resource
    if kind == BROKER_LOGGER_RESOURCE or kind not in _TABLES:
        return []
    called, table = _TABLES[kind]
    where = f"{called} {name}" if name else f"every {called}"
    return list(without_effect(where, table, configs.get(resource, {})))


def without_effect(
    where: str, table: Mapping[str, ConfigDef], given: Mapping[str, str]
) -> Iterator[UnsupportedView]:
    """Tell which were given and have no effect; `table` defines what brokers do not."""
    for name, value in given.items():
        definition = table.get(name) or find(name)
        if definition is None:
            yield UnsupportedView(where, name, HIDDEN, "kafkalite does not know it")
        elif definition.support is Support.ACCEPTED and not _is_default(definition, value):
            shown = HIDDEN if definition.sensitive else value
            yield UnsupportedView(where, name, shown, "it is kept and shown, and has no effect")


def _is_default(definition: ConfigDef, value: str) -> bool:
    try:
        return definition.parse(value) == definition.parse(definition.default)
    except ConfigError:
        return False
