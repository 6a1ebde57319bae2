"""InitProducerId without a transactional id: an id that nobody else has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.init_producer_id import InitProducerIdRequest
from tests.kafkalite.transactional import (
    Transactional,
)


def idempotent(**fields: Any) -> InitProducerIdRequest:
    return InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60000, **fields)


@pytest.mark.parametrize("version", range(6))
async def test_every_producer_gets_an_id_of_its_own(client: Any, version: int) -> None:
    answers = [await client.ask(idempotent(), version) for _ in range(3)]
    assert [answer.error_code for answer in answers] == [0, 0, 0]
    assert [answer.producer_epoch for answer in answers] == [0, 0, 0]
    assert len({answer.producer_id for answer in answers}) == 3


async def test_a_producer_that_had_one_gets_another(client: Any) -> None:
    first = await client.ask(idempotent())
    second = await client.ask(
        idempotent(producer_id=first.producer_id, producer_epoch=first.producer_epoch)
    )
    assert (second.error_code, second.producer_epoch) == (0, 0)
    assert second.producer_id != first.producer_id


async def test_half_an_identity_is_refused(client: Any) -> None:
    for fields in ({"producer_id": 5}, {"producer_epoch": 5}):
        assert (await client.ask(idempotent(**fields))).error_code == 42
    empty = InitProducerIdRequest(transactional_id="", transaction_timeout_ms=60000)
    assert (await client.ask(empty)).error_code == 42


async def test_ids_are_not_handed_out_again_after_a_restart(tmp_path: Path) -> None:
    seen: set[int] = set()
    for start in range(3):
        async with test_broker(data_dir=tmp_path, nodes=2) as b:
            for node_id in (1, 2):
                seen.add(b._running.services.cluster.allocate_producer_id(node_id))
        assert len(seen) == 2 * (start + 1)


@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
async def test_a_timeout_has_bounds(writer: Transactional, timeout_ms: int) -> None:
    refused = await writer.init(timeout_ms=timeout_ms)
    assert refused is ErrorCode.INVALID_TRANSACTION_TIMEOUT
