"""ShareFetch (key 78), versions 1-2, flexible since 1.

Acquires records for a member of a share group, and acknowledges earlier ones (KIP-932). Version 0
was an early access and is gone.

    2  acquire mode (KIP-1206); acknowledgements can renew (KIP-1222)
"""

from uuid import UUID

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import (
    Records,
    boolean,
    int8,
    int16,
    int32,
    int64,
    nullable_string,
    required_records_chunk,
    string,
    uuid,
)
from kafkalite.wire.schema import array, field, nested, request, response, struct


@struct
class AcknowledgementBatch:
    first_offset: int = field(int64)
    last_offset: int = field(int64)
    acknowledge_types: list[int] = array(int8)


@struct
class FetchPartition:
    partition_index: int = field(int32)
    acknowledgement_batches: list[AcknowledgementBatch] = array(AcknowledgementBatch)


@struct
class FetchTopic:
    topic_id: UUID = field(uuid)
    partitions: list[FetchPartition] = array(FetchPartition)


@struct
class ForgottenTopic:
    topic_id: UUID = field(uuid)
    partitions: list[int] = array(int32)


@request(ApiKey.SHARE_FETCH, versions=(1, 2), flexible=1)
class ShareFetchRequest:
    group_id: str | None = field(nullable_string)
    member_id: str | None = field(nullable_string, default="")
    share_session_epoch: int = field(int32)
    max_wait_ms: int = field(int32)
    min_bytes: int = field(int32)
    max_bytes: int = field(int32, default=0x7FFFFFFF)
    max_records: int = field(int32)
    batch_size: int = field(int32)
    share_acquire_mode: int = field(int8, since=2, ignorable=True)
    is_renew_ack: bool = field(boolean, since=2)
    topics: list[FetchTopic] = array(FetchTopic)
    forgotten_topics_data: list[ForgottenTopic] = array(ForgottenTopic)


@struct
class LeaderIdAndEpoch:
    leader_id: int = field(int32)
    leader_epoch: int = field(int32)


@struct
class AcquiredRecords:
    first_offset: int = field(int64)
    last_offset: int = field(int64)
    delivery_count: int = field(int16)


@struct
class PartitionData:
    partition_index: int = field(int32)
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string)
    acknowledge_error_code: int = field(int16)
    acknowledge_error_message: str | None = field(nullable_string)
    current_leader: LeaderIdAndEpoch = nested(LeaderIdAndEpoch)
    records: Records = field(required_records_chunk)
    acquired_records: list[AcquiredRecords] = array(AcquiredRecords)


@struct
class ShareFetchableTopicResponse:
    topic_id: UUID = field(uuid)
    partitions: list[PartitionData] = array(PartitionData)


@struct
class NodeEndpoint:
    node_id: int = field(int32)
    host: str = field(string)
    port: int = field(int32)
    rack: str | None = field(nullable_string)


@response(ApiKey.SHARE_FETCH, versions=(1, 2), flexible=1)
class ShareFetchResponse:
    throttle_time_ms: int = field(int32)
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string)
    acquisition_lock_timeout_ms: int = field(int32)
    responses: list[ShareFetchableTopicResponse] = array(ShareFetchableTopicResponse)
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint)
