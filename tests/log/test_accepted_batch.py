"""An accepted batch has what stands in the header of the batch that it is made of."""

import pytest

from kafkalite.log.accepted_batch import as_accepted
from kafkalite.wire.record_batch import HEADER_BYTES, Record, RecordBatch, build_batch

RECORDS = [Record(timestamp=5, value=b"a"), Record(timestamp=9, value=b"b")]


def test_the_fields_are_the_header_s() -> None:
    batch = build_batch(
        RECORDS, producer_id=7, producer_epoch=1, base_sequence=3, is_transactional=True
    )
    accepted = as_accepted(RecordBatch(batch))
    assert (accepted.size_bytes, accepted.crc) == (len(batch), RecordBatch(batch).crc)
    assert bytes(accepted.under_crc) == batch[HEADER_BYTES - 40 :]
    assert (accepted.producer_id, accepted.producer_epoch, accepted.base_sequence) == (7, 1, 3)
    assert (accepted.last_offset_delta, accepted.record_count, accepted.max_timestamp) == (1, 2, 9)
    assert (accepted.is_transactional, accepted.is_control) == (True, False)


@pytest.mark.parametrize(("first", "last"), [(-1, -1), (3, 4), (2**31 - 1, 0)])
def test_the_last_sequence_begins_anew_behind_the_largest(first: int, last: int) -> None:
    batch = build_batch(RECORDS, producer_id=7, producer_epoch=0, base_sequence=first)
    assert as_accepted(RecordBatch(batch)).last_sequence == last
