"""A classic member: its protocols, its vote, and when its silence counts."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.group_coordinator.classic_member import ClassicMember
from kafkalite.group_coordinator.timers import Timer
from kafkalite.wire.messages.join_group import JoinGroupRequestProtocol


def member(**fields: Any) -> ClassicMember:
    names = ("sticky", "range")
    return ClassicMember(
        **{
            "member_id": "m",
            "group_instance_id": None,
            "client_id": "c",
            "client_host": "/127.0.0.1",
            "rebalance_timeout_ms": 1,
            "session_timeout_ms": 1,
            "protocol_type": "consumer",
            "protocols": [
                JoinGroupRequestProtocol(name=name, metadata=name.encode()) for name in names
            ],
            "session": Timer(lambda: None),
        }
        | fields
    )


def test_a_vote_is_the_first_of_its_protocols_that_all_support() -> None:
    assert member().vote({"range", "sticky"}) == "sticky"
    assert member().vote({"range"}) == "range"


def test_metadata_is_that_of_the_protocol() -> None:
    assert member().metadata("range") == b"range"
    assert member().metadata("other") == member().metadata(None) == b""


def test_an_instance_id_makes_a_member_static() -> None:
    assert [member(group_instance_id=name).is_static for name in (None, "one")] == [False, True]


@pytest.mark.parametrize("waiting", ["answer_join", "answer_sync"])
def test_silence_does_not_count_while_a_known_member_waits(waiting: str) -> None:
    assert member().may_expire()
    assert not member(**{waiting: lambda response: None}).may_expire()
    # A new member may be gone while it waits: its connection is not read meanwhile.
    assert member(**{waiting: lambda response: None}, is_new=True).may_expire()
