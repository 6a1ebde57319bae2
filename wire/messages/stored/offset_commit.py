"""OffsetCommit (record type 1 of __consumer_offsets), versions 0-4, flexible since 4.

A committed offset. No value: the offset is forgotten.

    1  expire timestamp
    2  without it: retention is a config of the broker (KIP-211)
    3  leader epoch (KIP-320)
    4  topic id, tagged (KIP-848)
"""

from uuid import UUID

from kafkalite.wire.fields import int32, int64, string, uuid
from kafkalite.wire.schema import field, record_key, record_value


@record_key(1)
class OffsetCommitKey:
    group: str = field(string)
    topic: str = field(string)
    partition: int = field(int32)


@record_value(1, versions=(0, 4), flexible=4)
class OffsetCommitValue:
    offset: int = field(int64)
    leader_epoch: int = field(int32, since=3, default=-1, ignorable=True)
    metadata: str = field(string)
    commit_timestamp: int = field(int64)
    expire_timestamp: int = field(int64, since=1, until=1, default=-1, ignorable=True)
    topic_id: UUID = field(uuid, since=4, tag=0, ignorable=True)
