"""AlterConfigs (key 33), versions 0-2: what is given replaces all that a resource had (KIP-133).

Deprecated in favour of IncrementalAlterConfigs, and still what older clients send. Loggers cannot
be changed by it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kafkalite.cluster.config_changes import (
    ConfigChange,
    ConfigChanges,
    Operation,
    altering_each,
    check_changes,
)
from kafkalite.cluster.config_validation import TABLES, unknown_type
from kafkalite.requests.context import RequestContext
from kafkalite.requests.slices import Steps, WaitingSteps, in_slices, mapped
from kafkalite.wire.messages.alter_configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)

if TYPE_CHECKING:
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: AlterConfigsRequest
) -> AlterConfigsResponse:
    plan = partial(_plan, services, context.node_id)
    response = AlterConfigsResourceResponse
    altering = altering_each(services.cluster, request, _check, plan, response)
    return AlterConfigsResponse(responses=await in_slices(altering, context))


def _check(resource: AlterConfigsResource) -> Steps[dict[str, str]]:
    changes = yield from mapped(_change, resource.configs)
    yield from check_changes(changes)
    if resource.resource_type not in TABLES:
        raise unknown_type(resource.resource_type)
    return {change.name: change.value or "" for change in changes}


def _change(config: AlterableConfig) -> ConfigChange:
    return ConfigChange(config.name, Operation.SET, config.value)


def _plan(
    services: Services, node_id: int, resource: AlterConfigsResource, configs: dict[str, str]
) -> WaitingSteps[list[object]]:
    return ConfigChanges(services.cluster).replace(
        node_id, resource.resource_type, resource.resource_name, configs
    )
