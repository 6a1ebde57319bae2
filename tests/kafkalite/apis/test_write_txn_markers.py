"""WriteTxnMarkers: a hanging transaction is ended by an administrator."""

from __future__ import annotations

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from kafkalite.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tests.kafkalite.transactional import (
    NONE,
    SMALL,
    TOPIC,
    Transactional,
    end_offsets,
    read_committed,
)

BROKER_CONFIGS = SMALL


async def test_a_hanging_transaction_is_found_and_ended(writer: Transactional) -> None:
    assert await writer.produce(b"hangs", 1) is NONE
    request = DescribeProducersRequest(
        topics=[TopicRequest(name=TOPIC, partition_indexes=[0, 1, 2])]
    )
    none, one, unknown = (await writer.client.ask(request)).topics[0].partitions
    assert none.active_producers == []
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    (producer,) = one.active_producers
    assert (producer.producer_id, producer.producer_epoch) == (writer.producer_id, writer.epoch)
    assert (producer.current_txn_start_offset, producer.last_sequence) == (0, 0)
    marker = WritableTxnMarker(
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        transaction_result=False,
        coordinator_epoch=max(producer.coordinator_epoch, 0),
        topics=[WritableTxnMarkerTopic(name=TOPIC, partition_indexes=[1])],
    )
    answer = await writer.client.ask(WriteTxnMarkersRequest(markers=[marker]), 1)
    assert answer.markers[0].topics[0].partitions[0].error_code == NONE
    assert await end_offsets(writer.client, 1) == (2, 2)
    assert await read_committed(writer.client, 1) == []
