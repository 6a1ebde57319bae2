"""The names of topics, and the words of those that none may have."""

from __future__ import annotations

import pytest

from kafkalite.requests.topic_names import is_topic_name, validate_topic_name
from kafkalite.wire.errors import ErrorCode, KafkaError

INVALID = "Topic name is invalid: "
LONG = "l" * 250


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "the empty string is not allowed"),
        (".", "'.' is not allowed"),
        ("..", "'..' is not allowed"),
        (LONG, f"the length of '{LONG}' is longer than the max allowed length 249"),
        (
            "a b",
            (
                "'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' "
                "and '-'"
            ),
        ),
    ],
)
def test_a_bad_name_is_refused_in_kafkas_words(name: str, reason: str) -> None:
    with pytest.raises(KafkaError) as refused:
        validate_topic_name(name)
    assert refused.value.code is ErrorCode.INVALID_TOPIC_EXCEPTION
    assert str(refused.value).endswith(INVALID + reason)
    assert not is_topic_name(name)


@pytest.mark.parametrize("name", ["t", "...", "a.b_c-D9", LONG[1:]])
def test_names_of_topics(name: str) -> None:
    validate_topic_name(name)
    assert is_topic_name(name)
