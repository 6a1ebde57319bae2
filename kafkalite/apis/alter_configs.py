"""AlterConfigs (key 33), versions 0-2: what is given replaces all that a resource had (KIP-133).

Deprecated in favour of IncrementalAlterConfigs, and still what older clients send. Loggers cannot
be changed by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.cluster.config_changes import (
    ConfigChange,
    ConfigChanges,
    Operation,
    alter_each,
    check_changes,
)
from kafkalite.requests.context import RequestContext
from kafkalite.wire.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)

if TYPE_CHECKING:
    from kafkalite.services import Services


def handle(
    services: Services, context: RequestContext, request: AlterConfigsRequest
) -> AlterConfigsResponse:
    records, outcomes = alter_each(
        request.resources,
        lambda resource: _replace(services, context.node_id, resource),
    )
    if not request.validate_only:
        services.cluster.begin_write(records)
    return AlterConfigsResponse(
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


def _replace(services: Services, node_id: int, resource: AlterConfigsResource) -> list[object]:
    check_changes(
        [ConfigChange(config.name, Operation.SET, config.value) for config in resource.configs]
    )
    configs = {config.name: config.value or "" for config in resource.configs}
    return ConfigChanges(services.cluster).replace(
        node_id, resource.resource_type, resource.resource_name, configs
    )
