"""WriteTxnMarkers (key 27), versions 1-2, flexible since 1.

The transaction coordinator to partition leaders: commit or abort markers (KIP-98). Also used by
kafka-transactions --abort.

    2  transaction version (KIP-1228)
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import boolean, int8, int16, int32, int64, string
from kafkalite.wire.schema import array, field, request, response, struct


@struct
class WritableTxnMarkerTopic:
    name: str = field(string)
    partition_indexes: list[int] = array(int32)


@struct
class WritableTxnMarker:
    producer_id: int = field(int64)
    producer_epoch: int = field(int16)
    transaction_result: bool = field(boolean)
    topics: list[WritableTxnMarkerTopic] = array(WritableTxnMarkerTopic)
    coordinator_epoch: int = field(int32)
    transaction_version: int = field(int8, since=2, ignorable=True)


@request(ApiKey.WRITE_TXN_MARKERS, versions=(1, 2), flexible=1)
class WriteTxnMarkersRequest:
    markers: list[WritableTxnMarker] = array(WritableTxnMarker)


@struct
class WritableTxnMarkerPartitionResult:
    partition_index: int = field(int32)
    error_code: int = field(int16)


@struct
class WritableTxnMarkerTopicResult:
    name: str = field(string)
    partitions: list[WritableTxnMarkerPartitionResult] = array(WritableTxnMarkerPartitionResult)


@struct
class WritableTxnMarkerResult:
    producer_id: int = field(int64)
    topics: list[WritableTxnMarkerTopicResult] = array(WritableTxnMarkerTopicResult)


@response(ApiKey.WRITE_TXN_MARKERS, versions=(1, 2), flexible=1)
class WriteTxnMarkersResponse:
    markers: list[WritableTxnMarkerResult] = array(WritableTxnMarkerResult)
