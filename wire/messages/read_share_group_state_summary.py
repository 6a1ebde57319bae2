"""ReadShareGroupStateSummary (key 87), versions 0-1, flexible since 0.

Group coordinator to share coordinator: offsets without the state of deliveries (KIP-932).

    1  delivery complete count (KIP-1226)
"""

from uuid import UUID

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int16, int32, int64, nullable_string, string, uuid
from kafkalite.wire.schema import array, field, request, response, struct


@struct
class PartitionData:
    partition: int = field(int32)
    leader_epoch: int = field(int32)


@struct
class ReadStateSummaryData:
    topic_id: UUID = field(uuid)
    partitions: list[PartitionData] = array(PartitionData)


@request(ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, versions=(0, 1), flexible=0)
class ReadShareGroupStateSummaryRequest:
    group_id: str = field(string)
    topics: list[ReadStateSummaryData] = array(ReadStateSummaryData)


@struct
class PartitionResult:
    partition: int = field(int32)
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string)
    state_epoch: int = field(int32)
    leader_epoch: int = field(int32)
    start_offset: int = field(int64)
    delivery_complete_count: int = field(int32, since=1, default=-1, ignorable=True)


@struct
class ReadStateSummaryResult:
    topic_id: UUID = field(uuid)
    partitions: list[PartitionResult] = array(PartitionResult)


@response(ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, versions=(0, 1), flexible=0)
class ReadShareGroupStateSummaryResponse:
    results: list[ReadStateSummaryResult] = array(ReadStateSummaryResult)
