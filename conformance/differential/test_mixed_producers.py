"""Produce of batches that belong to a transaction beside others: which of them count as producers.

Apache Kafka refuses a request whose transactional batches have several producers. It counts those
with a producer id only (ReplicaManager.handleProduceAppend), and markers as well.
"""

from collections.abc import Callable

import pytest

from conformance.differential.broker_side import Side
from conformance.differential.comparison import Pair
from conformance.differential.test_produce import LAST, batch, producing
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.produce import PartitionProduceData, ProduceRequest

BATCHES = {
    "producer 5": batch(1, producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True),
    "producer 5, epoch 1": batch(
        1, producer_id=5, producer_epoch=1, base_sequence=0, is_transactional=True
    ),
    "no producer": batch(1, is_transactional=True),
    "producer -2": batch(1, producer_id=-2, is_transactional=True),
    "marker of producer 6": batch(
        1,
        producer_id=6,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=True,
        is_control=True,
    ),
    "marker of no producer": batch(1, is_transactional=True, is_control=True),
    "no transaction": batch(1),
}


@pytest.mark.parametrize("version", [3, 11, LAST])
@pytest.mark.parametrize("with_id", [True, False])
@pytest.mark.parametrize("first", BATCHES)
def test_two_batches(pair: Pair, topic: str, version: int, first: str, with_id: bool) -> None:
    pair.create_topic(topic, 2)

    def of_both(second: bytes) -> Callable[[Side], ProduceRequest]:
        def make(side: Side) -> ProduceRequest:
            request = producing(topic, version, BATCHES[first])(side)
            request.transactional_id = f"id-{topic}" if with_id else None
            data = PartitionProduceData(index=1, records=second)
            request.topic_data[0].partition_data.append(data)
            return request

        return make

    for second in BATCHES.values():
        pair.ask(ApiKey.PRODUCE, version, of_both(second))
