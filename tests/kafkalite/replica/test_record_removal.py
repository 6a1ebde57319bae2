"""Records are removed from the middle of a log; offsets stay."""

from __future__ import annotations

import pytest

from kafkalite.replica.record_removal import remove_records
from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import iterate_batches, iterate_records
from tests.kafkalite.filling import fill


async def test_a_range_of_offsets_is_removed(broker: test_broker) -> None:
    broker.create_topic("t")
    log = fill(broker, "t").log
    remove_records(log, 3, 7)
    assert (log.log_start_offset, log.log_end_offset) == (0, 10)
    left: list[int] = []
    offset = 0
    while offset < 10:
        with log.read(offset, 1 << 20, upper_bound=10).records as records:
            for batch in iterate_batches(records.read()):
                left += [record.offset for record in iterate_records(batch)]
                offset = batch.next_offset
    assert left == [0, 1, 2, 7, 8, 9]


@pytest.mark.parametrize(("first", "end"), [(0, 0), (5, 3), (8, 11), (-1, 2)])
async def test_a_range_beyond_the_log_is_refused(broker: test_broker, first: int, end: int) -> None:
    broker.create_topic("t")
    log = fill(broker, "t").log
    with pytest.raises(KafkaError) as refused:
        remove_records(log, first, end)
    assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
