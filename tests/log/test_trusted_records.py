"""Trusted pairs are records in a batch's inner format."""

from hypothesis import given
from hypothesis import strategies as st

from kafkalite.log.trusted_records import Pair, write_pairs
from kafkalite.wire.record_batch import HEADER_BYTES, Record, build_batch

TIMESTAMP = 1_700_000_000_000


@given(st.lists(st.tuples(st.binary(max_size=9000), st.none() | st.binary(max_size=9000))))
def test_pairs_are_records_of_their_batch_s_timestamp(pairs: list[Pair]) -> None:
    batch = build_batch([Record(timestamp=TIMESTAMP, key=key, value=value) for key, value in pairs])
    assert batch[HEADER_BYTES:] == write_pairs(pairs)
