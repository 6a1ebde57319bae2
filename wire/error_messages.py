"""Apache Kafka's own text of an error code, for responses that carry a text.

Source: Kafka's class Errors. Only codes that are answered with their text are here.
"""

from typing import Final

from kafkalite.wire.errors import MALFORMED, ErrorCode, KafkaError

_MESSAGES: Final = {
    ErrorCode.UNKNOWN_SERVER_ERROR: (
        "The server experienced an unexpected error when processing the request."
    ),
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
    ErrorCode.NOT_LEADER_OR_FOLLOWER: (
        "For requests intended only for the leader, this error indicates that the broker is not "
        "the current leader. For requests intended for any replica, this error indicates that the "
        "broker is not a replica of the topic partition."
    ),
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: (
        "The coordinator is loading and hence can't process requests."
    ),
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    ErrorCode.NOT_COORDINATOR: "This is not the correct coordinator.",
    ErrorCode.INVALID_GROUP_ID: "The group id is invalid.",
    ErrorCode.INVALID_REQUEST: MALFORMED,
    ErrorCode.KAFKA_STORAGE_ERROR: ("Disk error when trying to access log file on the disk."),
    ErrorCode.NON_EMPTY_GROUP: "The group is not empty.",
    ErrorCode.FENCED_LEADER_EPOCH: (
        "The leader epoch in the request is older than the epoch on the broker."
    ),
    ErrorCode.FENCED_STATE_EPOCH: (
        "The share coordinator rejected the request because the share-group state epoch did not "
        "match."
    ),
    ErrorCode.UNKNOWN_TOPIC_ID: "This server does not host this topic ID.",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "Topic authorization failed.",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed.",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "Transactional Id authorization failed.",
    ErrorCode.UNSUPPORTED_VERSION: "The version of API is not supported.",
}


def words_of(error: KafkaError) -> str | None:
    """The words of an error: its own, or Kafka's for its code."""
    return error.message or default_message(error.code)


def default_message(code: ErrorCode) -> str | None:
    """Kafka's words for a code; None for one that is never answered with words."""
    return _MESSAGES.get(code)
