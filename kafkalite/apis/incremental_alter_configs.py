"""IncrementalAlterConfigs (key 44), versions 0-1: set, delete, append, subtract (KIP-339).

Each resource changes as a whole or not at all; a change is in force when the answer is sent.
Topics, one node or all of them (KIP-226), groups, client metrics subscriptions, and the levels of
a node's loggers (KIP-412), which are not kept.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kafkalite.cluster.broker_loggers import change_levels
from kafkalite.cluster.config_changes import (
    ConfigChange,
    ConfigChanges,
    altering_each,
    check_changes,
    check_logger_node,
    check_operations,
)
from kafkalite.cluster.config_validation import TABLES, unknown_type
from kafkalite.requests.context import RequestContext
from kafkalite.requests.slices import Steps, WaitingSteps, in_slices, mapped
from kafkalite.wire.api_keys import BROKER_LOGGER_RESOURCE
from kafkalite.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

if TYPE_CHECKING:
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    plan = partial(_plan, services, context.node_id, request.validate_only)
    response = AlterConfigsResourceResponse
    altering = altering_each(services.cluster, request, _check, plan, response)
    return IncrementalAlterConfigsResponse(responses=await in_slices(altering, context))


def _check(resource: AlterConfigsResource) -> Steps[list[ConfigChange]]:
    changes = yield from mapped(_change, resource.configs)
    yield from check_changes(changes)
    if resource.resource_type != BROKER_LOGGER_RESOURCE and resource.resource_type not in TABLES:
        raise unknown_type(resource.resource_type)
    yield from check_operations(resource.resource_type, changes)
    return changes


def _change(config: AlterableConfig) -> ConfigChange:
    return ConfigChange(config.name, config.config_operation, config.value)


def _plan(
    services: Services,
    node_id: int,
    validate_only: bool,
    resource: AlterConfigsResource,
    changes: list[ConfigChange],
) -> WaitingSteps[list[object]]:
    if resource.resource_type == BROKER_LOGGER_RESOURCE:
        check_logger_node(resource.resource_name, node_id)
        change_levels(changes, validate_only=validate_only)
        return []
    planning = ConfigChanges(services.cluster).alter(
        node_id, resource.resource_type, resource.resource_name, changes
    )
    return (yield from planning)
