"""LegacyOffsetCommit (record type 0 of __consumer_offsets), version 0.

The key with which Kafka 0.8 wrote committed offsets.
"""

from kafkalite.wire.fields import int32, int64, string
from kafkalite.wire.schema import field, record_key, record_value


@record_key(0)
class LegacyOffsetCommitKey:
    group: str = field(string)
    topic: str = field(string)
    partition: int = field(int32)


@record_value(0, versions=(0, 0), flexible=None)
class LegacyOffsetCommitValue:
    offset: int = field(int64)
    metadata: str = field(string)
    commit_timestamp: int = field(int64)
