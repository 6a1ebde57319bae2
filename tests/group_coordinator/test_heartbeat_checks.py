"""The refusals that heartbeats of all protocols share: codes and Kafka's words."""

from __future__ import annotations

import pytest

from kafkalite.group_coordinator.heartbeat_checks import (
    check_epoch,
    group_full,
    refuse_blank,
    unknown_member,
)
from kafkalite.group_coordinator.modern_member import ModernMember
from kafkalite.wire.errors import ErrorCode, KafkaError


@pytest.mark.parametrize("value", ["", "  ", "\t"])
def test_a_field_that_is_there_has_text(value: str) -> None:
    with pytest.raises(KafkaError) as refused:
        refuse_blank(("group", "GroupId"), (None, "InstanceId"), (value, "RackId"), ("", "Last"))
    assert refused.value.code is ErrorCode.INVALID_REQUEST
    assert refused.value.message == "RackId can't be empty."


def test_fields_may_be_missing() -> None:
    refuse_blank((None, "InstanceId"), ("r", "RackId"))


MEMBER = ModernMember(member_id="m", member_epoch=5, previous_member_epoch=4)


@pytest.mark.parametrize(
    ("epoch", "has_all_it_names", "is_fine"),
    [
        (5, False, True),
        (0, False, True),
        (4, True, True),
        (4, False, False),
        (3, True, False),
        (6, True, False),
    ],
)
def test_a_member_has_its_epoch_or_the_one_before(
    epoch: int, has_all_it_names: bool, is_fine: bool
) -> None:
    def check() -> None:
        check_epoch("consumer", MEMBER, epoch, lambda: has_all_it_names)

    if is_fine:
        check()
        return
    with pytest.raises(KafkaError) as refused:
        check()
    assert refused.value.code is ErrorCode.FENCED_MEMBER_EPOCH


@pytest.mark.parametrize(
    ("epoch", "difference", "besides"), [(6, "greater", ""), (3, "smaller", ", and more")]
)
def test_the_words_for_an_epoch_that_is_not_the_member_s(
    epoch: int, difference: str, besides: str
) -> None:
    with pytest.raises(KafkaError) as refused:
        check_epoch("share", MEMBER, epoch, if_behind=", and more")
    assert refused.value.message == (
        f"The share group member has a {difference} member epoch ({epoch}) than the one known by "
        f"the group coordinator (5){besides}. The member must abandon all its partitions and "
        "rejoin."
    )


def test_the_words_for_members_that_do_not_fit() -> None:
    full = group_full("streams", 3)
    assert full.code is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert full.message == "The streams group has reached its maximum capacity of 3 members."
    unknown = unknown_member("app", "m")
    assert unknown.code is ErrorCode.UNKNOWN_MEMBER_ID
    assert unknown.message == "Member m is not a member of group app."
