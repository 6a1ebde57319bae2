"""A committed offset is packed as it is declared."""

from uuid import UUID

from hypothesis import example, given
from hypothesis import strategies as st

from kafkalite.group_coordinator.offset_table import NO_TOPIC_ID, CommittedOffset
from kafkalite.group_coordinator.state_log import CommitEncoder
from kafkalite.wire.messages.stored import encode
from kafkalite.wire.messages.stored.offset_commit import OffsetCommitKey, OffsetCommitValue

INT64 = st.integers(-(2**63), 2**63 - 1)
INT32 = st.integers(-(2**31), 2**31 - 1)
COMMITTED = st.builds(
    CommittedOffset,
    offset=INT64,
    leader_epoch=INT32,
    metadata=st.text(max_size=40),
    commit_timestamp_ms=INT64,
    expire_timestamp_ms=st.sampled_from([-1, -1, -1, 0, 1_700_000_000_000]),
    topic_id=st.uuids() | st.just(NO_TOPIC_ID),
)


def of(metadata: str) -> CommittedOffset:
    return CommittedOffset(1, 2, metadata, 3, topic_id=UUID(int=4))


@given(st.text(max_size=40), st.text(max_size=40), INT32, COMMITTED)
@example("", "", 0, of("x" * 126))
@example("", "", 0, of("x" * 127))
@example("", "", 0, of("é" * 63))
@example("", "", 0, of("é" * 64))
@example("x" * 32_767, "x" * 32_767, 0, of(""))
def test_a_committed_offset_is_packed_as_it_is_declared(
    group_id: str, topic: str, partition: int, committed: CommittedOffset
) -> None:
    key = OffsetCommitKey(group=group_id, topic=topic, partition=partition)
    value = OffsetCommitValue(
        offset=committed.offset,
        leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        commit_timestamp=committed.commit_timestamp_ms,
        expire_timestamp=committed.expire_timestamp_ms,
        topic_id=committed.topic_id,
    )
    version = 4 if committed.expire_timestamp_ms < 0 else 1
    encoder = CommitEncoder(
        group_id,
        topic,
        committed.topic_id,
        committed.commit_timestamp_ms,
        committed.expire_timestamp_ms,
    )
    encoder.record(7, 8, 9, "of another partition")
    for _ in range(2):
        assert encoder.record(
            partition, committed.offset, committed.leader_epoch, committed.metadata
        ) == (encode(key), encode(value, version))
