"""The text of an error: its own, or Apache Kafka's for its code."""

from kafkalite.wire.error_messages import default_message, words_of
from kafkalite.wire.errors import ErrorCode, KafkaError


def test_an_errors_own_words_come_first() -> None:
    assert words_of(KafkaError(ErrorCode.UNKNOWN_TOPIC_ID, "no such topic")) == "no such topic"


def test_kafkas_words_stand_in_for_none() -> None:
    words = "This server does not host this topic-partition."
    assert words_of(KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)) == words
    assert default_message(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) == words


def test_a_code_that_is_never_answered_with_words_has_none() -> None:
    assert default_message(ErrorCode.NONE) is None
    assert words_of(KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)) is None
