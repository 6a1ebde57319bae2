"""The errors of states that could not be read or written, as members are told them."""

from __future__ import annotations

import pytest

from kafkalite.replica.share.state_errors import as_answered
from kafkalite.wire.error_messages import default_message
from kafkalite.wire.errors import ErrorCode, KafkaError

AGAIN = "Exhausted max retries to complete write state RPC without success."


@pytest.mark.parametrize(
    ("code", "answered", "reason"),
    [
        (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, AGAIN),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE, AGAIN),
        (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.GROUP_ID_NOT_FOUND, None),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, AGAIN),
        (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER, None),
        (ErrorCode.FENCED_STATE_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER, None),
        (ErrorCode.INVALID_REQUEST, ErrorCode.UNKNOWN_SERVER_ERROR, None),
    ],
)
def test_the_code_and_the_words(code: ErrorCode, answered: ErrorCode, reason: str | None) -> None:
    error = as_answered(KafkaError(code))
    assert error.code is answered
    assert error.message == f"Error in write state RPC. {reason or default_message(code)}"


def test_the_coordinator_s_own_words() -> None:
    error = as_answered(KafkaError(ErrorCode.INVALID_REQUEST, "not allowed"))
    assert error.message == "Error in write state RPC. not allowed"
