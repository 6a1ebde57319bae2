"""DescribeCluster: nodes, controller, operations, endpoint types."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.testing import broker as test_broker
from kafkalite.wire.messages.describe_cluster import DescribeClusterRequest
from tests.kafkalite.authorized_operations import CLUSTER_OPERATIONS


@pytest.mark.parametrize("version", range(3))
async def test_describe_cluster(broker: test_broker, client: Any, version: int) -> None:
    request = DescribeClusterRequest(include_cluster_authorized_operations=True)
    answer = await client.ask(request, version)
    assert (answer.error_code, answer.error_message) == (0, None)
    assert (answer.cluster_id, answer.controller_id) == (broker.cluster_id, 1)
    assert answer.cluster_authorized_operations == CLUSTER_OPERATIONS
    (node,) = answer.brokers
    assert f"{node.host}:{node.port}" == broker.bootstrap


@pytest.mark.parametrize(
    ("endpoint_type", "code", "message"),
    [
        (
            2,
            114,
            (
                "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of "
                "type CONTROLLER"
            ),
        ),
        (3, 115, "Unsupported endpoint type 3"),
        (0, 115, "Unsupported endpoint type 0"),
    ],
)
async def test_describe_cluster_of_something_else(
    client: Any, endpoint_type: int, code: int, message: str
) -> None:
    answer = await client.ask(DescribeClusterRequest(endpoint_type=endpoint_type))
    assert (answer.error_code, answer.error_message) == (code, message)
