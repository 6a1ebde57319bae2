"""A choice among requests: the header rules out what need not be decoded."""

from __future__ import annotations

import pytest

from kafkalite.control.problems import Problem
from kafkalite.control.sightings import ListRequests, RequestView
from kafkalite.control.spy.choice import Choice
from kafkalite.control.spy.ring import Ring
from kafkalite.wire.codec import encode_request
from kafkalite.wire.messages.metadata import MetadataRequest


def frame(client_id: str) -> bytes:
    chunks = encode_request(3, 12, 1, client_id, MetadataRequest(topics=[]))
    return b"".join(map(bytes, chunks))[4:]


@pytest.mark.parametrize(
    ("criteria", "allowed"),
    [
        ({}, True),
        ({"api": "Meta*"}, True),
        ({"api": "Fetch"}, False),
        ({"client_id": "ap?"}, True),
        ({"client_id": "other"}, False),
        ({"api": "Metadata", "client_id": "other"}, False),
        ({"topic": "none"}, True),
    ],
)
def test_the_header_rules_out(criteria: dict[str, str], allowed: bool) -> None:
    data = frame("app")
    entry = Ring().add(("127.0.0.1", 5), data, len(data))
    assert Choice(ListRequests(**criteria)).allows(entry) is allowed


@pytest.mark.parametrize(
    ("criteria", "errors", "taken"),
    [
        ({}, [], True),
        ({"topic": "or*"}, [], True),
        ({"topic": "other"}, [], False),
        ({"error": "*"}, [], False),
        ({"error": "NOT_*"}, ["NOT_LEADER_OR_FOLLOWER"], True),
        ({"error": "UNKNOWN_*"}, ["NOT_LEADER_OR_FOLLOWER", "UNKNOWN_TOPIC_ID"], True),
        ({"error": "UNKNOWN_*"}, ["NOT_LEADER_OR_FOLLOWER"], False),
    ],
)
def test_topic_and_errors_decide(criteria: dict[str, str], errors: list[str], taken: bool) -> None:
    view = RequestView(
        seq=1,
        connection="127.0.0.1:5",
        client_id="app",
        api="Produce",
        version=9,
        correlation_id=1,
        received_ms=0,
        cluster_ms=0,
        answered_ms=None,
        parked_ms=None,
        request_bytes=1,
        answer_bytes=1,
        outcome="answered",
        error=errors[0] if errors else None,
        errors=errors,
        topics=["a", "orders"],
        fault=None,
        why="",
    )
    assert Choice(ListRequests(**criteria)).takes(view) is taken


def test_an_api_that_there_is_not() -> None:
    with pytest.raises(Problem, match="no API 'Produse'"):
        Choice(ListRequests(api="Produse"))
