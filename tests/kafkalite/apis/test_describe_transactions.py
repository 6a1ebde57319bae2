"""DescribeTransactions: state, producer, timeout and partitions of transactional ids."""

from __future__ import annotations

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.describe_transactions import DescribeTransactionsRequest
from tests.kafkalite.transactional import NONE, TOPIC, Transactional


async def test_an_open_transaction_is_described(writer: Transactional) -> None:
    assert await writer.produce(b"a", 1) is NONE
    assert await writer.produce(b"b", 0) is NONE
    request = DescribeTransactionsRequest(transactional_ids=[writer.id, "none"])
    found, missing = (await writer.client.ask(request)).transaction_states
    assert (found.error_code, found.transaction_state) == (NONE, "Ongoing")
    assert (found.producer_id, found.producer_epoch) == (writer.producer_id, writer.epoch)
    assert found.transaction_timeout_ms == 60_000
    assert found.transaction_start_time_ms > 0
    assert [(topic.topic, topic.partitions) for topic in found.topics] == [(TOPIC, [0, 1])]
    assert missing.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
