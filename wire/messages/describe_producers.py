"""DescribeProducers (key 61), version 0, flexible since 0.

Producers that a partition remembers, and their open transactions (KIP-664).
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int16, int32, int64, nullable_string, string
from kafkalite.wire.schema import array, field, request, response, struct


@struct
class TopicRequest:
    name: str = field(string)
    partition_indexes: list[int] = array(int32)


@request(ApiKey.DESCRIBE_PRODUCERS, versions=(0, 0), flexible=0)
class DescribeProducersRequest:
    topics: list[TopicRequest] = array(TopicRequest)


@struct
class ProducerState:
    producer_id: int = field(int64)
    producer_epoch: int = field(int32)
    last_sequence: int = field(int32, default=-1)
    last_timestamp: int = field(int64, default=-1)
    coordinator_epoch: int = field(int32)
    current_txn_start_offset: int = field(int64, default=-1)


@struct
class PartitionResponse:
    partition_index: int = field(int32)
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string)
    active_producers: list[ProducerState] = array(ProducerState)


@struct
class TopicResponse:
    name: str = field(string)
    partitions: list[PartitionResponse] = array(PartitionResponse)


@response(ApiKey.DESCRIBE_PRODUCERS, versions=(0, 0), flexible=0)
class DescribeProducersResponse:
    throttle_time_ms: int = field(int32)
    topics: list[TopicResponse] = array(TopicResponse)
