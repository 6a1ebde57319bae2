"""The referee itself: whatever is planted into an answer, it sees."""

import copy
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any
from uuid import UUID, uuid4

import pytest

from conformance.differential.comparison import Pair
from conformance.differential.normalize import Names, in_one_order
from conformance.differential.test_metadata import about
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsResponse,
)
from kafkalite.wire.messages.list_groups import ListedGroup, ListGroupsResponse

LEFT_OUT = {"throttle_time_ms", "unknown_tagged_fields", "host", "rack"}


def planted(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The answer with one leaf changed, for each leaf."""
    for field in fields(value):
        if field.name in LEFT_OUT:
            continue
        here = f"{path}.{field.name}"
        old = getattr(value, field.name)
        for where, new in changed(old, here):
            copied = copy.copy(value)
            setattr(copied, field.name, new)
            yield where, copied


def changed(old: Any, path: str) -> Iterator[tuple[str, Any]]:
    if is_dataclass(old):
        yield from planted(old, path)
    elif isinstance(old, list):
        yield f"{path}, one more", [*old, old[0] if old else 7]
        for index, item in enumerate(old):
            for where, new in changed(item, f"{path}[{index}]"):
                yield where, [*old[:index], new, *old[index + 1 :]]
    elif isinstance(old, bool):
        yield path, not old
    elif isinstance(old, UUID):
        yield path, UUID(int=0)
    elif isinstance(old, int):
        yield path, old + 1 if old >= 0 else old - 1
    else:
        yield path, "planted" if old is None else None


@pytest.fixture
def uncounted(pair: Pair) -> Pair:
    """The same brokers: what is planted here is none of their differences."""
    return Pair(*pair.sides)


def test_every_planted_difference_is_seen(uncounted: Pair, topic: str) -> None:
    pair = uncounted
    pair.create_topic(topic, 2)
    reference = pair.reference.ask(ApiKey.METADATA, 12, about(topic))
    tested = pair.tested.ask(ApiKey.METADATA, 12, about(topic))
    pair.compare("untouched", reference, tested)
    cases = dict(planted(tested))
    assert len(cases) > 25
    for where, wrong in cases.items():
        if where == ".brokers[0].port":
            continue  # an address nobody has is no address of the pair: that is refused before
        with pytest.raises(AssertionError):
            pair.compare(where, reference, wrong)


def test_a_closed_connection_is_a_difference(uncounted: Pair, topic: str) -> None:
    pair = uncounted
    reference = pair.reference.ask(ApiKey.METADATA, 12, about(topic))
    with pytest.raises(AssertionError):
        pair.compare("closed", reference, None)


def test_members_whose_ids_nobody_was_told_are_told_apart() -> None:
    """They come out of a hash table: in another order from another broker."""

    def answer(*instance_ids: str | None) -> Any:
        members = [
            DescribedGroupMember(member_id=f"a-{uuid4()}", group_instance_id=each)
            for each in instance_ids
        ]
        described = DescribeGroupsResponse(groups=[DescribedGroup(group_id="g", members=members)])
        return in_one_order(Names([], "/data").plain(described))

    assert answer("i", None, "j") == answer(None, "j", "i")
    assert answer("i", None) != answer("i", "j")


@pytest.mark.parametrize("name", ["group-1", "g-1", "a b", "", "\u00fc\0", "replayed-2"])
def test_a_story_sees_no_groups_of_others(name: str) -> None:
    """Their members may be gone when the second broker is asked."""

    def listed(*names: str) -> Any:
        groups = [ListedGroup(group_id=each, group_state="Empty") for each in names]
        return seen.plain(ListGroupsResponse(groups=groups))

    seen = Names([], "/data")
    assert listed("replayed-1-a", name) != listed("replayed-1-a")
    seen.prefix = "replayed-1"
    assert listed("replayed-1-a", name) == listed("replayed-1-a")
    assert listed("replayed-1-a") != listed("replayed-1-b")
