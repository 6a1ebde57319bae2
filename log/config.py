"""A log's configuration, as plain values: field names are Kafka's topic configs with underscores.

The broker's tables of configs (kafkalite/config/) make these from text. Nothing is parsed here.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Final

FOREVER: Final = 2**63 - 1
_OUT_OF_REACH: Final = 2**60
# To go through this many bytes of the smallest batches takes 2 ms.
_MOST_UNINDEXED_BYTES: Final = 128 * 1024


@dataclass(frozen=True, slots=True)
class LogConfig:
    """One log's configs, with Kafka's defaults.

    Sizes are in bytes and times in milliseconds. -1 means "no limit" where Kafka has it so.
    """

    cleanup_policy: tuple[str, ...] = ("delete",)
    compression_type: str = "producer"
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_zstd_level: int = 3
    delete_retention_ms: int = 86_400_000
    file_delete_delay_ms: int = 60_000
    flush_messages: int = FOREVER
    flush_ms: int = FOREVER
    index_interval_bytes: int = 4096
    max_compaction_lag_ms: int = FOREVER
    max_message_bytes: int = 1_048_588
    message_timestamp_after_max_ms: int = 3_600_000
    message_timestamp_before_max_ms: int = FOREVER
    message_timestamp_type: str = "CreateTime"
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    min_insync_replicas: int = 1
    retention_bytes: int = -1
    retention_ms: int = 604_800_000
    segment_bytes: int = 1_073_741_824
    segment_index_bytes: int = 10_485_760
    segment_jitter_ms: int = 0
    segment_ms: int = 604_800_000
    # kafkalite.visible.after.flush, which Kafka does not have: the high watermark follows the
    # recovery point.
    visible_after_flush: bool = False
    # transaction.partition.verification.enable: transactional batches need a `VerificationGuard`.
    verify_transactions: bool = False
    # kafkalite.seed, of which the jitter is made; None leaves it to chance.
    jitter_seed: int | None = None

    # The fields below follow from those above. Every append asks, so they are worked out once.
    compact: bool = field(init=False, compare=False)
    delete: bool = field(init=False, compare=False)
    log_append_time: bool = field(init=False, compare=False)
    # A compacted topic's segment rolls in time for the cleaner to keep max.compaction.lag.ms.
    max_segment_ms: int = field(init=False, compare=False)
    # True if batches go into the log as they come, neither stamped nor compressed anew.
    keeps_batches: bool = field(init=False, compare=False)
    # No batch may be larger.
    max_batch_bytes: int = field(init=False, compare=False)
    # index.interval.bytes, or less: what is between two entries is read in one go.
    most_unindexed_bytes: int = field(init=False, compare=False)
    # flush.messages, or a number of records that no log has.
    most_unflushed: int = field(init=False, compare=False)
    # True if what is appended may be seen before it is flushed, or asks for no flush.
    joins_writes: bool = field(init=False, compare=False)
    # message.timestamp.before.max.ms, or an age beyond that of any timestamp that is not negative.
    max_age_ms: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        compact = "compact" in self.cleanup_policy
        is_limited = compact and self.max_compaction_lag_ms > 0
        log_append_time = self.message_timestamp_type == "LogAppendTime"
        derived: dict[str, object] = {
            "compact": compact,
            "delete": "delete" in self.cleanup_policy,
            "log_append_time": log_append_time,
            "max_segment_ms": (
                min(self.max_compaction_lag_ms, self.segment_ms) if is_limited else self.segment_ms
            ),
            "keeps_batches": self.compression_type == "producer" and not log_append_time,
            "max_batch_bytes": min(self.max_message_bytes, self.segment_bytes),
            "most_unindexed_bytes": min(self.index_interval_bytes, _MOST_UNINDEXED_BYTES),
            "most_unflushed": min(self.flush_messages, _OUT_OF_REACH),
            "joins_writes": self.flush_messages == FOREVER and not self.visible_after_flush,
            "max_age_ms": min(self.message_timestamp_before_max_ms, _OUT_OF_REACH),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    def needed_in_sync(self, replica_count: int) -> int:
        """The number of replicas that must be in sync for a write with acks=all: not more than
        there are."""
        return min(self.min_insync_replicas, replica_count)

    def random_segment_jitter_ms(self, segment: str) -> int:
        """Milliseconds by which a segment rolls before segment.ms: not all logs roll at once.

        `segment` is its name, of which it is made if there is a seed. Source: Kafka's
        LogConfig.randomSegmentJitter.
        """
        jitter_ms = min(self.segment_jitter_ms, self.segment_ms)
        if not jitter_ms:
            return 0
        if self.jitter_seed is None:
            return random.randrange(jitter_ms)
        return random.Random(f"{self.jitter_seed}/{segment}").randrange(jitter_ms)
