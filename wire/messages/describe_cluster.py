"""DescribeCluster (key 60), versions 0-2, flexible since 0.

Brokers, controller and cluster id, without topics (KIP-700).

    1  endpoint type: brokers or controllers (KIP-919)
    2  fenced brokers on request (KIP-1073)
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import boolean, int8, int16, int32, nullable_string, string
from kafkalite.wire.schema import array, field, request, response, struct


@request(ApiKey.DESCRIBE_CLUSTER, versions=(0, 2), flexible=0)
class DescribeClusterRequest:
    include_cluster_authorized_operations: bool = field(boolean)
    endpoint_type: int = field(int8, since=1, default=1)
    include_fenced_brokers: bool = field(boolean, since=2)


@struct
class DescribeClusterBroker:
    broker_id: int = field(int32)
    host: str = field(string)
    port: int = field(int32)
    rack: str | None = field(nullable_string)
    is_fenced: bool = field(boolean, since=2)


@response(ApiKey.DESCRIBE_CLUSTER, versions=(0, 2), flexible=0)
class DescribeClusterResponse:
    throttle_time_ms: int = field(int32)
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string)
    endpoint_type: int = field(int8, since=1, default=1)
    cluster_id: str = field(string)
    controller_id: int = field(int32, default=-1)
    brokers: list[DescribeClusterBroker] = array(DescribeClusterBroker)
    cluster_authorized_operations: int = field(int32, default=-0x80000000)
