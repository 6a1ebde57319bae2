"""ShareAcknowledge (key 79), versions 1-2, flexible since 1.

Acknowledges acquired records (KIP-932). Version 0 was an early access and is gone.

    2  acknowledgements can renew (KIP-1222)
"""

from uuid import UUID

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import boolean, int8, int16, int32, int64, nullable_string, string, uuid
from kafkalite.wire.schema import array, field, nested, request, response, struct


@struct
class AcknowledgementBatch:
    first_offset: int = field(int64)
    last_offset: int = field(int64)
    acknowledge_types: list[int] = array(int8)


@struct
class AcknowledgePartition:
    partition_index: int = field(int32)
    acknowledgement_batches: list[AcknowledgementBatch] = array(AcknowledgementBatch)


@struct
class AcknowledgeTopic:
    topic_id: UUID = field(uuid)
    partitions: list[AcknowledgePartition] = array(AcknowledgePartition)


@request(ApiKey.SHARE_ACKNOWLEDGE, versions=(1, 2), flexible=1)
class ShareAcknowledgeRequest:
    group_id: str | None = field(nullable_string)
    member_id: str | None = field(nullable_string, default="")
    share_session_epoch: int = field(int32)
    is_renew_ack: bool = field(boolean, since=2)
    topics: list[AcknowledgeTopic] = array(AcknowledgeTopic)


@struct
class LeaderIdAndEpoch:
    leader_id: int = field(int32)
    leader_epoch: int = field(int32)


@struct
class PartitionData:
    partition_index: int = field(int32)
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string)
    current_leader: LeaderIdAndEpoch = nested(LeaderIdAndEpoch)


@struct
class ShareAcknowledgeTopicResponse:
    topic_id: UUID = field(uuid)
    partitions: list[PartitionData] = array(PartitionData)


@struct
class NodeEndpoint:
    node_id: int = field(int32)
    host: str = field(string)
    port: int = field(int32)
    rack: str | None = field(nullable_string)


@response(ApiKey.SHARE_ACKNOWLEDGE, versions=(1, 2), flexible=1)
class ShareAcknowledgeResponse:
    throttle_time_ms: int = field(int32)
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string)
    acquisition_lock_timeout_ms: int = field(int32, since=2, ignorable=True)
    responses: list[ShareAcknowledgeTopicResponse] = array(ShareAcknowledgeTopicResponse)
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint)
