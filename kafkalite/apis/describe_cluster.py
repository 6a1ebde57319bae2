"""DescribeCluster (key 60), versions 0-2: cluster id, controller and nodes (KIP-700).

- v1: the type of endpoint the client believes it talks to: brokers 1, controllers 2 (KIP-919). This
  is a broker: 2 is MISMATCHED_ENDPOINT_TYPE, anything else UNSUPPORTED_ENDPOINT_TYPE.
- v2: fenced nodes on request (KIP-1073).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkalite.requests.context import RequestContext
from kafkalite.security.authorized_operations import CLUSTER_OPERATIONS
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

if TYPE_CHECKING:
    from kafkalite.services import Services

_BROKER: Final = 1
_CONTROLLER: Final = 2


def handle(
    services: Services, context: RequestContext, request: DescribeClusterRequest
) -> DescribeClusterResponse:
    if request.endpoint_type != _BROKER:
        return _wrong_endpoint(request.endpoint_type)
    response = DescribeClusterResponse(
        error_code=ErrorCode.NONE,
        error_message=None,
        cluster_id=services.cluster.cluster_id,
        controller_id=services.cluster.controller_id,
        brokers=_brokers(services, context.listener_name, request.include_fenced_brokers),
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = CLUSTER_OPERATIONS
    return response


def _wrong_endpoint(endpoint_type: int) -> DescribeClusterResponse:
    if endpoint_type == _CONTROLLER:
        return DescribeClusterResponse(
            error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            error_message="The request was sent to an endpoint of type BROKER, "
            "but we wanted an endpoint of type CONTROLLER",
        )
    return DescribeClusterResponse(
        error_code=ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
        error_message=f"Unsupported endpoint type {endpoint_type}",
    )


def _brokers(
    services: Services, listener_name: str, include_fenced: bool
) -> list[DescribeClusterBroker]:
    cluster = services.cluster
    key = ("describe cluster", listener_name, include_fenced)
    found: list[DescribeClusterBroker] | None = cluster.cache.get(key)
    if found is None:
        found = cluster.cache[key] = [
            DescribeClusterBroker(
                broker_id=registered.node_id,
                host=endpoint.host,
                port=endpoint.port,
                rack=registered.rack,
                is_fenced=registered.fenced,
            )
            for registered in cluster.image.brokers.values()
            for endpoint in registered.endpoints
            if endpoint.name == listener_name and (include_fenced or not registered.fenced)
        ]
    return found
