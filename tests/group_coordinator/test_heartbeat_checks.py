"""The refusals that heartbeats of all protocols share: codes and Kafka's words."""

from __future__ import annotations

import pytest

from kafkalite.group_coordinator.heartbeat_checks import (
    fenced,
    group_full,
    refuse_blank,
    unknown_member,
)
from kafkalite.wire.errors import ErrorCode, KafkaError


@pytest.mark.parametrize("value", ["", "  ", "\t"])
def test_a_field_that_is_there_has_text(value: str) -> None:
    with pytest.raises(KafkaError) as refused:
        refuse_blank(("group", "GroupId"), (None, "InstanceId"), (value, "RackId"), ("", "Last"))
    assert refused.value.code is ErrorCode.INVALID_REQUEST
    assert refused.value.message == "RackId can't be empty."


def test_fields_may_be_missing() -> None:
    refuse_blank((None, "InstanceId"), ("r", "RackId"))


@pytest.mark.parametrize(("epoch", "difference"), [(6, "greater"), (4, "smaller")])
def test_the_words_for_an_epoch_that_is_not_the_member_s(epoch: int, difference: str) -> None:
    error = fenced("share", epoch, 5)
    assert error.code is ErrorCode.FENCED_MEMBER_EPOCH
    assert error.message == (
        f"The share group member has a {difference} member epoch ({epoch}) than the one known by "
        "the group coordinator (5). The member must abandon all its partitions and rejoin."
    )
    assert "(5), and more. The" in str(fenced("share", epoch, 5, besides=", and more").message)


def test_the_words_for_members_that_do_not_fit() -> None:
    full = group_full("streams", 3)
    assert full.code is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert full.message == "The streams group has reached its maximum capacity of 3 members."
    unknown = unknown_member("app", "m")
    assert unknown.code is ErrorCode.UNKNOWN_MEMBER_ID
    assert unknown.message == "Member m is not a member of group app."
