"""Configs of a log, and all that an append may change, to compare two ways of appending."""

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from kafkalite.log.config import LogConfig
from kafkalite.log.log import Log
from kafkalite.log.producer_entry import ProducerEntry

SMALL = LogConfig(
    segment_bytes=2000, index_interval_bytes=150, max_message_bytes=900, segment_ms=60_000
)


CONFIGS = st.sampled_from(
    [
        LogConfig(),
        SMALL,
        replace(SMALL, segment_index_bytes=24),
        replace(SMALL, message_timestamp_after_max_ms=1000),
        replace(SMALL, message_timestamp_before_max_ms=1000),
        replace(SMALL, message_timestamp_type="LogAppendTime"),
        replace(SMALL, compression_type="gzip"),
        replace(SMALL, cleanup_policy=("compact",)),
        replace(SMALL, flush_messages=2),
    ]
)


def producers(log: Log) -> dict[int, Any]:
    return {
        producer_id: (entry.producer_epoch, entry.last_timestamp, _remembered(entry))
        for producer_id, entry in log.producer_state.producers.items()
    }


def _remembered(entry: ProducerEntry) -> list[tuple[int, ...]]:
    return [
        (each.last_sequence, each.last_offset, each.offset_delta, each.timestamp)
        for each in entry.batches
    ]


def content(log: Log) -> dict[str, bytes]:
    for segment in log.segments:
        segment.write_indexes()
    return {path.name: path.read_bytes() for path in sorted(log.directory.iterdir())}


def as_seen(log: Log, answer: Any) -> Any:
    state = log.producer_state
    return answer, log.log_end_offset, log.recovery_point, state.end_offset, producers(log)
