"""The values of requests that are looked at: as a query has them, and as JSON."""

from __future__ import annotations

import msgspec
import pytest

from kafkalite.control.sightings import EventView, ListRequests, RequestView, SetSpy


def test_a_query_has_text_for_numbers() -> None:
    query = {"after": "3", "limit": "7", "api": "Produce", "bodies": "true"}
    asked = msgspec.convert(query, ListRequests, strict=False)
    assert asked == ListRequests(after=3, limit=7, api="Produce", bodies=True)


@pytest.mark.parametrize("query", [{"limit": "0"}, {"limit": "10001"}, {"unknown": "1"}])
def test_a_query_that_makes_no_sense_is_refused(query: dict[str, str]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(query, ListRequests, strict=False)


def test_there_are_three_modes() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"mode": "half"}, SetSpy)


def test_a_request_has_all_its_fields_in_json() -> None:
    """A reader need not know which fields are left out."""
    view = RequestView(
        seq=1,
        connection="127.0.0.1:5",
        client_id="app",
        api="Produce",
        version=13,
        correlation_id=2,
        received_ms=1.5,
        cluster_ms=1,
        answered_ms=None,
        parked_ms=None,
        request_bytes=10,
        answer_bytes=0,
        outcome="waiting",
        error=None,
        errors=[],
        topics=["t"],
        fault=None,
        why="",
    )
    plain = msgspec.json.decode(msgspec.json.encode(view))
    assert set(plain) == set(RequestView.__struct_fields__)
    assert msgspec.convert(plain, RequestView) == view


def test_an_event_is_about_names_and_numbers() -> None:
    event = EventView(seq=1, at_ms=1.0, cluster_ms=1, kind="k", about={"node": 1, "g": "x"}, why="")
    assert msgspec.json.decode(msgspec.json.encode(event), type=EventView) == event
