"""Produce of batches whose header and checksum are good: what is wrong with their records.

Every kind of `odd_batches` in every codec, by plain and idempotent producers, in topics whose
configuration makes the broker look closer or write anew. What was appended is read back, and
compared as well.
"""

import contextlib
import itertools
import time
from typing import Any

import pytest

from conformance.differential.broker_side import Side
from conformance.differential.comparison import Difference, Pair
from conformance.differential.test_produce import LAST, producing
from conformance.harness.odd_batches import KINDS, pack
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.compression import Compression, decompress
from kafkalite.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkalite.wire.record_batch import HEADER_BYTES, iterate_batches

TOPICS: dict[str, dict[str, str]] = {
    "as it comes": {},
    "compacted": {"cleanup_policy": "compact"},
    "LogAppendTime": {"message_timestamp_type": "LogAppendTime"},
    "compressed by gzip": {"compression_type": "gzip"},
    "uncompressed": {"compression_type": "uncompressed"},
    "compacted, stamped, zstd": {
        "cleanup_policy": "compact",
        "message_timestamp_type": "LogAppendTime",
        "compression_type": "zstd",
    },
    "limits of time": {
        "message_timestamp_before_max_ms": "1000000",
        "message_timestamp_after_max_ms": "1000",
    },
}
VERSIONS = (3, 7, 8, LAST)
# `make test` has every codec in the topic that takes batches as they come. In each of the others it
# has records as they are, and one codec, another for each. `make long` has the rest.
CODECS = list(Compression)
CASES = [
    pytest.param(
        config,
        codec,
        id=f"{config}-{codec.name}",
        marks=()
        if number == 0 or codec in (Compression.NONE, CODECS[1 + number % 4])
        else pytest.mark.long,
    )
    for number, config in enumerate(TOPICS)
    for codec in CODECS
]
_producer_ids = itertools.count(5000)


def batches(codec: Compression, kind: str, now_ms: int) -> list[bytes]:
    """From a plain producer, and from one that is idempotent and not known yet."""
    fields = KINDS[kind](codec, now_ms)
    producer = {"producer_id": next(_producer_ids), "producer_epoch": 0, "base_sequence": 0}
    return [pack(codec, now_ms, **fields), pack(codec, now_ms, **fields, **producer)]


def stored(side: Side, topic: str, *, is_stamped: bool) -> list[Any]:
    """The batches of the topic: headers, and records without their codec."""
    answer = side.ask(
        ApiKey.FETCH,
        12,
        FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=50_000_000,
            topics=[
                FetchTopic(
                    topic=topic,
                    partitions=[FetchPartition(partition=0, partition_max_bytes=50_000_000)],
                )
            ],
        ),
    )
    found: list[Any] = []
    for batch in iterate_batches(bytes(answer.responses[0].partitions[0].records)):
        assert batch.is_valid()
        data = bytes(batch.buffer[HEADER_BYTES:])
        with contextlib.suppress(ValueError):  # Kafka keeps what its own reader alone unfolds
            data = decompress(batch.compression, data)
        found.append(
            (
                batch.base_offset,
                batch.attributes,
                batch.last_offset_delta,
                batch.base_timestamp,
                "stamped" if is_stamped else batch.max_timestamp,
                (batch.producer_id, batch.producer_epoch, batch.base_sequence),
                batch.record_count,
                data.hex(),
            )
        )
    return found


@pytest.mark.parametrize(("config", "codec"), CASES)
def test_what_is_wrong_with_records(
    pair: Pair, topic: str, config: str, codec: Compression
) -> None:
    pair.create_topic(topic, **TOPICS[config])
    now_ms = int(time.time() * 1000)
    found: list[str] = []
    for kind, version in itertools.product(KINDS, VERSIONS):
        for i, records in enumerate(batches(codec, kind, now_ms)):
            try:
                pair.ask(ApiKey.PRODUCE, version, producing(topic, version, records))
            except Difference as difference:
                found.append(f"{kind} v{version} {'idempotent' if i else 'plain'}: {difference}")
    assert not found, "\n".join(found)
    is_stamped = TOPICS[config].get("message_timestamp_type") == "LogAppendTime"
    reference, tested = (stored(side, topic, is_stamped=is_stamped) for side in pair.sides)
    assert len(reference) > 3
    for ours, theirs in zip(tested, reference, strict=True):
        assert ours == theirs
