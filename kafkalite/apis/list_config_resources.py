"""ListConfigResources (key 74), versions 0-1: what has, or may have, configs (KIP-1142).

v0 was ListClientMetricsResources, and lists those alone. v1 lists the types asked for, or all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafkalite.requests.context import RequestContext
from kafkalite.requests.slices import Steps, batches, briefly_or_in_slices
from kafkalite.wire.api_keys import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    CONFIG_RESOURCES,
    TOPIC_RESOURCE,
)
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

if TYPE_CHECKING:
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: ListConfigResourcesRequest
) -> ListConfigResourcesResponse:
    types: Sequence[int] = request.resource_types or CONFIG_RESOURCES
    if context.api_version == 0:
        types = (CLIENT_METRICS_RESOURCE,)
    if any(resource_type not in CONFIG_RESOURCES for resource_type in types):
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    resources = await briefly_or_in_slices(_resources(services, types), context)
    return ListConfigResourcesResponse(error_code=ErrorCode.NONE, config_resources=resources)


def _resources(services: Services, types: Sequence[int]) -> Steps[list[ConfigResource]]:
    resources: list[ConfigResource] = []
    for resource_type in dict.fromkeys(types):
        for names in batches(_names(services, resource_type)):
            resources += [
                ConfigResource(resource_name=name, resource_type=resource_type) for name in names
            ]
            yield
    return resources


def _names(services: Services, resource_type: int) -> list[str]:
    if resource_type == TOPIC_RESOURCE:
        return [topic.name for topic in services.topics.all()]
    if resource_type in (BROKER_RESOURCE, BROKER_LOGGER_RESOURCE):
        return [str(node_id) for node_id in sorted(services.cluster.nodes)]
    return [name for kind, name in services.cluster.image.configs if kind == resource_type]
