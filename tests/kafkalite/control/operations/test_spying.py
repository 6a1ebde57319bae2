"""Looking at requests: the last ones, those after one, and those that were asked for."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import trio

from kafkalite.control.operations.following import Following
from kafkalite.control.problems import Problem
from kafkalite.control.sightings import Follow, RequestView
from kafkalite.control.spy import decoded
from kafkalite.control.spy.ring import Ring
from kafkalite.faults import error
from kafkalite.requests import slices
from kafkalite.testing import broker
from kafkalite.wire.messages.metadata import MetadataRequest
from tests.kafkalite.control.clients import produced


@pytest.fixture
def seen(k: broker) -> broker:
    """A broker that has seen records go to two topics."""
    k.create_topic("a")
    k.create_topic("b")
    k.ask("requests.clear")
    k.ask("spy.set", mode="on")
    for topic in ("a", "b", "a"):
        assert produced(k, topic) == [None]
    k.ask("spy.set", mode="off")
    return k


def seqs(found: list[RequestView]) -> list[int]:
    return [each.seq for each in found]


def test_the_last_ones_unless_told(seen: broker) -> None:
    everything = seen.ask("requests.list", limit=10_000)
    assert seqs(seen.ask("requests.list", limit=2)) == seqs(everything)[-2:]
    assert seqs(everything) == sorted(seqs(everything))


def test_page_by_page(seen: broker) -> None:
    everything = seqs(seen.ask("requests.list", limit=10_000))
    paged: list[int] = []
    after = 0
    while page := seen.ask("requests.list", after=after, limit=3):
        paged += seqs(page)
        after = page[-1].seq
    assert paged == everything


def test_by_api_client_topic_and_error(seen: broker) -> None:
    found = seen.ask("requests.list", api="Produce")
    assert [each.topics for each in found] == [["a"], ["b"], ["a"]]
    assert seqs(seen.ask("requests.list", api="PRODUCE", topic="b")) == [found[1].seq]
    assert seqs(seen.ask("requests.list", api="Produce", client_id="a*")) == seqs(found)
    assert seen.ask("requests.list", client_id="another") == []
    assert seen.ask("requests.list", error="*") == []
    with pytest.raises(Problem, match="no API 'Produse'"):
        seen.ask("requests.list", api="Produse")


def test_by_error(seen: broker) -> None:
    seen.ask("spy.set", mode="on")
    seen.fault("Produce", do=error("NOT_LEADER_OR_FOLLOWER"))
    assert produced(seen, "a") == [None]
    seen.ask("spy.set", mode="off")
    (refused,) = seen.ask("requests.list", error="NOT_LEADER*")
    assert (refused.api, refused.error) == ("Produce", "NOT_LEADER_OR_FOLLOWER")
    assert refused.fault == "fault-1"


def test_one_is_shown_whole(seen: broker) -> None:
    (first, *_) = seen.ask("requests.list", api="Produce")
    assert first.request is None
    shown = seen.ask("requests.show", seq=first.seq)
    assert shown.request["acks"] == -1
    assert shown.answer["responses"][0]["partition_responses"][0]["error_code"] == 0
    assert shown.answered_ms >= shown.received_ms
    with pytest.raises(Problem, match="no request"):
        seen.ask("requests.show", seq=1_000_000)


def test_the_room_may_be_smaller(seen: broker) -> None:
    before = seen.ask("spy.show")
    assert before.last - before.first + 1 == before.requests
    after = seen.ask("spy.set", mode="off", bytes=2048)
    assert after.used_bytes <= 2048
    assert after.requests < before.requests
    seen.ask("spy.set", mode="off", bytes=before.bytes)
    seen.ask("requests.clear")
    assert seen.ask("requests.list") == []


def test_events_page_by_page(k: broker) -> None:
    start = k.ask("spy.show").events
    for number in range(5):
        k.create_topic(f"t{number}")
    found = k.ask("events", kind="topic.created", limit=3)
    assert [each.about["topic"] for each in found] == ["t2", "t3", "t4"]
    (following,) = k.ask("events", kind="topic.created", after=found[1].seq)
    assert following.about["topic"] == "t4"
    assert k.ask("spy.show").events >= min(start + 5, 10_000)


KEPT = 100
VERBS: list[tuple[str, dict[str, Any]]] = [
    ("requests.list", {}),
    ("requests.list", {"after": 1, "bodies": True}),
    ("requests.list", {"topic": "none"}),
    ("requests.clear", {}),
    ("spy.set", {"mode": "on", "bytes": 1024}),
    ("trace.save", {}),
    ("trace.save", {"frames": True}),
    ("recording.save", {}),
]


@pytest.fixture
async def kept(connect: Any) -> Any:
    """A broker that has kept many requests, and records others."""
    async with broker() as k:
        await k.asynchronous.spy("on")
        await k.asynchronous.ask("recording.start")
        client = await connect(k)
        for _ in range(KEPT):
            await client.ask(MetadataRequest(topics=[]))
        yield k


@pytest.mark.parametrize(("verb", "fields"), VERBS)
async def test_many_requests_are_looked_at_in_slices(
    kept: broker, monkeypatch: pytest.MonkeyPatch, verb: str, fields: dict[str, Any]
) -> None:
    monkeypatch.setattr(slices, "SLICE_SECONDS", 0)
    monkeypatch.setattr(slices, "_BRIEF_SECONDS", 0)
    looked: list[int] = [0]
    for name in ("_at", "_drop"):
        look = getattr(Ring, name)

        def counted(*arguments: Any, look: Any = look) -> Any:
            looked[-1] += 1
            return look(*arguments)

        monkeypatch.setattr(Ring, name, counted)

    async def others() -> None:
        while True:
            await trio.lowlevel.checkpoint()
            looked.append(0)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(others)
        await kept.asynchronous.ask(verb, **fields)
        nursery.cancel_scope.cancel()
    assert sum(looked) > 0.9 * KEPT
    assert max(looked) < 10


@pytest.mark.parametrize("verb", ["list", "show", "trace", "follow"])
async def test_a_thread_decodes_large_ones(
    kept: broker, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    decoding: set[int] = set()

    class Noted(decoded.Decoded):
        def __init__(self, *arguments: Any) -> None:
            decoding.add(threading.get_ident())
            super().__init__(*arguments)

    monkeypatch.setattr(decoded, "Decoded", Noted)
    monkeypatch.setattr(decoded, "_LARGE_BYTES", 0)
    k = kept.asynchronous
    if verb == "follow":
        following = Following(kept._default, Follow(what="requests", after="0-0"))
        assert len(await following.batch()) == KEPT
    else:
        name, fields = {
            "list": ("requests.list", {}),
            "show": ("requests.show", {"seq": 1}),
            "trace": ("trace.save", {}),
        }[verb]
        await k.ask(name, **fields)
    assert decoding
    assert threading.get_ident() not in decoding
