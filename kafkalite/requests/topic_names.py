"""The names that topics may have, and those of the broker's own topics (Kafka's Topic)."""

from __future__ import annotations

import re
from typing import Final

from kafkalite.wire.errors import ErrorCode, KafkaError

OFFSETS_TOPIC: Final = "__consumer_offsets"
TRANSACTIONS_TOPIC: Final = "__transaction_state"
SHARE_STATE_TOPIC: Final = "__share_group_state"
METADATA_TOPIC: Final = "__cluster_metadata"
INTERNAL_TOPICS: Final = frozenset({OFFSETS_TOPIC, TRANSACTIONS_TOPIC, SHARE_STATE_TOPIC})

MAX_NAME_LENGTH: Final = 249
_LEGAL_NAME = re.compile(r"[a-zA-Z0-9._-]+")


def validate_topic_name(name: str) -> None:
    """Raises KafkaError(INVALID_TOPIC_EXCEPTION) with Kafka's words (its class Topic)."""
    reason = None
    if not name:
        reason = "the empty string is not allowed"
    elif name in (".", ".."):
        reason = f"'{name}' is not allowed"
    elif len(name) > MAX_NAME_LENGTH:
        reason = f"the length of '{name}' is longer than the max allowed length {MAX_NAME_LENGTH}"
    elif not _LEGAL_NAME.fullmatch(name):
        reason = (
            f"'{name}' contains one or more characters other than ASCII alphanumerics, "
            "'.', '_' and '-'"
        )
    if reason is not None:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {reason}")


def check_creatable(name: str) -> None:
    """Raises KafkaError for a name that no new topic may have.

    The log of the metadata lies where the first partition of a topic with its name would.
    """
    validate_topic_name(name)
    if name == METADATA_TOPIC:
        raise prohibited()


def prohibited() -> KafkaError:
    """The error for creating a topic of this name."""
    return KafkaError(
        ErrorCode.INVALID_REQUEST, f"Creation of internal topic {METADATA_TOPIC} is prohibited."
    )


def is_topic_name(name: str) -> bool:
    """True if a topic may have this name."""
    try:
        validate_topic_name(name)
    except KafkaError:
        return False
    return True
