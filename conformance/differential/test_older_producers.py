"""Batches and offsets of a transaction with an older epoch than their producer's last one there.

The partition says so before the coordinator is asked, whatever the transactional id
(UnifiedLog.maybeStartTransactionVerification).
"""

import pytest

from conformance.differential.broker_side import Side
from conformance.differential.comparison import Pair
from conformance.differential.test_produce import LAST, batch, producing
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.init_producer_id import InitProducerIdRequest
from kafkalite.wire.messages.produce import ProduceRequest
from kafkalite.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)


@pytest.mark.parametrize("version", [3, 8, 11, 12, LAST])
@pytest.mark.parametrize("epoch", [0, 1, 2])
@pytest.mark.parametrize("transactional_id", ["", "nobody's", None])
def test_a_batch(
    pair: Pair, topic: str, version: int, epoch: int, transactional_id: str | None
) -> None:
    pair.create_topic(topic)
    first = batch(1, producer_id=5, producer_epoch=1, base_sequence=0)
    pair.ask(ApiKey.PRODUCE, version, producing(topic, version, first))
    later = batch(1, producer_id=5, producer_epoch=epoch, base_sequence=0, is_transactional=True)

    def request(side: Side) -> ProduceRequest:
        asked = producing(topic, version, later)(side)
        asked.transactional_id = transactional_id
        return asked

    pair.ask(ApiKey.PRODUCE, version, request)


@pytest.mark.parametrize("version", [3, 4, 5])
@pytest.mark.parametrize("older", [0, 1])
@pytest.mark.parametrize("transactional_id", ["", "nobody's", None])
def test_offsets(
    pair: Pair, topic: str, group: str, version: int, older: int, transactional_id: str | None
) -> None:
    """None stands for the producer's own transactional id."""
    pair.create_topic(topic)
    init = InitProducerIdRequest(transactional_id=group, transaction_timeout_ms=60_000)

    def committing(epoch: int, by: str, version: int) -> None:
        answers = dict(zip(pair.sides, producers, strict=True))

        def request(side: Side) -> TxnOffsetCommitRequest:
            return TxnOffsetCommitRequest(
                transactional_id=by,
                group_id=group,
                producer_id=answers[side].producer_id,
                producer_epoch=answers[side].producer_epoch + epoch,
                topics=[
                    TxnOffsetCommitRequestTopic(
                        name=topic,
                        partitions=[
                            TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=7)
                        ],
                    )
                ],
            )

        pair.ask(ApiKey.TXN_OFFSET_COMMIT, version, request)

    producers = pair.ask(ApiKey.INIT_PRODUCER_ID, 5, init, retry=14)
    producers = pair.ask(ApiKey.INIT_PRODUCER_ID, 5, init, retry=14)
    committing(0, group, 5)
    committing(-older, group if transactional_id is None else transactional_id, version)
