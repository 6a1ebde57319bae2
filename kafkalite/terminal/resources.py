"""Configs that librdkafka has no words for, by messages of our own.

They are the levels of a broker's loggers (KIP-412), which each broker is asked for its own, and the
defaults of all brokers (KIP-226), which any broker tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

from kafkalite.cluster.config_changes import Operation
from kafkalite.terminal.configs import HIDDEN, Change
from kafkalite.terminal.connection import BrokerGone, Connection
from kafkalite.terminal.kafka import Kafka, Refused
from kafkalite.terminal.login import UnknownSetting
from kafkalite.wire.api_keys import BROKER_LOGGER_RESOURCE, BROKER_RESOURCE
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kafkalite.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)


@dataclass(frozen=True, slots=True)
class Resource:
    """An owner of configs. `source` is the word for theirs, as librdkafka writes it.

    `name` is that of the protocol, `entity` and `words` those that are shown.
    """

    type: int
    name: str
    entity: str
    source: str
    words: str


def loggers_of(node: str) -> Resource:
    source, words = "DYNAMIC_BROKER_LOGGER_CONFIG", f"loggers of broker {node}"
    return Resource(BROKER_LOGGER_RESOURCE, node, "broker_logger", source, words)


BROKER_DEFAULTS: Final = Resource(
    BROKER_RESOURCE, "", "broker", "DYNAMIC_DEFAULT_BROKER_CONFIG", "defaults of all brokers"
)


def resource_configs(
    kafka: Kafka, resource: Resource, changes: Sequence[Change]
) -> list[dict[str, Any]]:
    """The configs of a resource, after `changes` (None: none of its own). Raises Refused."""
    brokers = kafka.metadata().brokers
    broker = brokers[int(resource.name) if resource.name else min(brokers)]
    try:
        with closing(Connection(broker.host, broker.port, kafka.target.settings)) as connection:
            if changes:
                _change(connection, resource, changes)
            return _described(connection, resource)
    except UnknownSetting as setting:
        raise Refused(f"{resource.words}: {setting} is for librdkafka alone") from None
    except BrokerGone as error:
        raise Refused(f"{resource.words}: {error}") from None


def _change(connection: Connection, resource: Resource, changes: Sequence[Change]) -> None:
    configs = [
        AlterableConfig(name, Operation.DELETE if value is None else Operation.SET, value)
        for name, value in changes
    ]
    asked = AlterConfigsResource(resource.type, resource.name, configs)
    [done] = connection.ask(IncrementalAlterConfigsRequest([asked])).responses
    _check(done, resource)


def _described(connection: Connection, resource: Resource) -> list[dict[str, Any]]:
    asked = DescribeConfigsResource(resource.type, resource.name, None)
    [found] = connection.ask(DescribeConfigsRequest([asked])).results
    _check(found, resource)
    return [
        {
            "entity_type": resource.entity,
            "entity_name": resource.name,
            "name": each.name,
            "value": HIDDEN if each.is_sensitive else each.value,
            "source": resource.source,
            "read_only": each.read_only,
        }
        for each in sorted(found.configs, key=lambda each: each.name)
    ]


def _check(answer: Any, resource: Resource) -> None:
    if answer.error_code:
        name = ErrorCode(answer.error_code).name
        raise Refused(f"{resource.words}: {answer.error_message} ({name})")
