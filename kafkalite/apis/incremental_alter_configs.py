"""IncrementalAlterConfigs (key 44), versions 0-1: set, delete, append, subtract (KIP-339).

Each resource changes as a whole or not at all; a change is in force when the answer is sent.
Topics, one node or all of them (KIP-226), groups, client metrics subscriptions, and the levels of
a node's loggers (KIP-412), which are not kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.cluster.broker_loggers import change_levels
from kafkalite.cluster.config_changes import (
    ConfigChange,
    ConfigChanges,
    alter_each,
    check_changes,
    check_logger_node,
    check_operations,
)
from kafkalite.cluster.image import BROKER_LOGGER_RESOURCE
from kafkalite.requests.context import RequestContext
from kafkalite.wire.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

if TYPE_CHECKING:
    from kafkalite.services import Services


def handle(
    services: Services, context: RequestContext, request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    records, outcomes = alter_each(
        request.resources,
        lambda resource: _alter(services, context.node_id, resource, request.validate_only),
    )
    if not request.validate_only:
        services.cluster.begin_write(records)
    return IncrementalAlterConfigsResponse(
        responses=[
            AlterConfigsResourceResponse(
                error_code=code,
                error_message=message,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
            for resource, (code, message) in zip(request.resources, outcomes, strict=True)
        ]
    )


def _alter(
    services: Services, node_id: int, resource: AlterConfigsResource, validate_only: bool
) -> list[object]:
    changes = [
        ConfigChange(config.name, config.config_operation, config.value)
        for config in resource.configs
    ]
    if resource.resource_type == BROKER_LOGGER_RESOURCE:
        check_changes(changes)
        check_operations(changes)
        check_logger_node(resource.resource_name, node_id)
        change_levels(changes, validate_only=validate_only)
        return []
    return ConfigChanges(services.cluster).alter(
        node_id, resource.resource_type, resource.resource_name, changes
    )
