"""The errors of members whose share partition has a state that could not be read or written.

The words are those of Kafka's persister, which leaders ask for states. Source: Kafka's
SharePartition, PersisterStateManager.
"""

from __future__ import annotations

from typing import Final

from kafkalite.group_coordinator.share_keeper import words_of_keeper
from kafkalite.wire.errors import ErrorCode, KafkaError

# The meaning of a failed read or write of the state (Kafka's SharePartition).
_AS_ANSWERED: Final = {
    ErrorCode.NOT_COORDINATOR: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.GROUP_ID_NOT_FOUND: ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.FENCED_LEADER_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_STATE_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
}


def as_answered(error: KafkaError) -> KafkaError:
    """The error for the member, in the words of a write: those of a read reach no member."""
    code = _AS_ANSWERED.get(error.code, ErrorCode.UNKNOWN_SERVER_ERROR)
    return KafkaError(code, words_of_keeper("write", error))
