"""Produce in a transaction: sequences and the transactional id."""

from __future__ import annotations

from kafkalite.wire.errors import ErrorCode
from tests.kafkalite.transactional import (
    NONE,
    Transactional,
)


async def test_the_first_sequence_of_a_transaction_is_0(writer: Transactional) -> None:
    writer.sequences[0] = 3
    assert await writer.produce(b"late") is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    writer.sequences[0] = 0
    assert await writer.produce(b"first") is NONE


async def test_a_batch_must_name_its_transaction(writer: Transactional) -> None:
    request = writer.production(b"anonymous", 0)
    request.transactional_id = None
    answer = await writer.client.ask(request, 12)
    (partition,) = answer.responses[0].partition_responses
    assert partition.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
