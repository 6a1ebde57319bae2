"""Batches that a leader writes anew, as their topic asks for another codec."""

from typing import Any

import pytest

from kafkalite.log.config import LogConfig
from kafkalite.wire.compression import Compression
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.record_batch import Record, build_batch, iterate_records
from tests.log.test_validation import NOW_MS, batch, check, refused, written


@pytest.mark.parametrize(
    "producer",
    [
        {"producer_id": -2, "producer_epoch": 0, "base_sequence": -1},
        {"producer_id": 5, "producer_epoch": -1, "base_sequence": 0},
        {"is_transactional": True},
    ],
    ids=["no sequence", "no epoch", "no id"],
)
def test_a_batch_is_written_anew_for_a_producer_as_it_should_be(producer: dict[str, Any]) -> None:
    records = batch(b"k", **producer)
    check(records)
    error = refused(records, LogConfig(compression_type="gzip"))
    assert error.code == ErrorCode.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize("target", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("codec", Compression)
def test_the_topics_codec_is_used(codec: Compression, target: str) -> None:
    sent = build_batch(
        [Record(timestamp=NOW_MS + i, value=b"%d" % i) for i in range(9)],
        compression=codec,
        producer_id=4,
        producer_epoch=1,
        base_sequence=7,
    )
    result = written(check(sent, LogConfig(compression_type=target)))
    assert result.is_valid()
    expected = Compression.NONE if target == "uncompressed" else Compression[target.upper()]
    assert result.compression is expected
    assert [record.value for record in iterate_records(result)] == [b"%d" % i for i in range(9)]
    assert (result.producer_id, result.producer_epoch, result.base_sequence) == (4, 1, 7)
    assert (result.base_offset, result.last_offset) == (1000, 1008)


def test_what_grows_too_large_by_unpacking_is_refused() -> None:
    sent = build_batch(
        [Record(timestamp=NOW_MS, value=bytes(10_000))], compression=Compression.ZSTD
    )
    config = LogConfig(compression_type="uncompressed", max_message_bytes=5000)
    assert refused(sent, config).code == ErrorCode.MESSAGE_TOO_LARGE
