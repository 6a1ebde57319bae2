"""Requests and events are followed: each comes once, in order, and what is missed is counted."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
import trio

from kafkalite.control.operations import following as following_module
from kafkalite.control.operations.following import MOST_AT_ONCE, MOST_LATEST, Following, follow
from kafkalite.control.problems import Problem
from kafkalite.control.sightings import Follow, Sighting
from kafkalite.control.spy.ring import Entry, Quick
from kafkalite.testing import broker as test_broker
from kafkalite.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkalite.wire.messages.metadata import MetadataRequest


def _quick(entry: Entry) -> Quick:
    assert entry.listener is not None
    host, port = entry.client
    times = entry.received_ns, entry.answered_ns
    (answer,) = entry.answer
    assert isinstance(answer, bytes)
    frame = entry.frame, entry.request_bytes
    return (*times, host, port, entry.software, entry.listener, *frame, answer)


async def followed(broker: test_broker, **wanted: Any) -> Following:
    return await follow(broker._default, Follow(**wanted))


async def seen(following: Following, count: int) -> list[Sighting]:
    """So many sightings, and no more."""
    found: list[Sighting] = []
    with trio.fail_after(60):
        while len(found) < count:
            found += await following.batch()
    assert len(found) == count
    return found


def fetch(topic_id: Any, max_wait_ms: int) -> FetchRequest:
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    topic = FetchTopic(topic_id=topic_id, partitions=[partition])
    return FetchRequest(max_wait_ms=max_wait_ms, min_bytes=1, topics=[topic])


async def test_requests_come_in_order_from_now_on(broker: test_broker, client: Any) -> None:
    await broker.asynchronous.spy("on")
    await client.ask(MetadataRequest(topics=[]))
    following = await followed(broker, what="requests")
    assert await following.batch() == []
    for _ in range(3):
        await client.ask(MetadataRequest(topics=[]))
    found = await seen(following, 3)
    seqs = [each.request.seq for each in found if each.request]
    assert seqs == [2, 3, 4]
    assert [each.kind for each in found] == ["request"] * 3
    assert found[0].request.request is None  # bodies were not asked for
    again = await followed(broker, what="requests", after=found[0].id, bodies=True, limit=1)
    (second,) = await seen(again, 1)
    assert second.request.seq == 3
    assert second.request.request is not None
    assert again.is_over


async def test_events_are_beside_them(broker: test_broker) -> None:
    following = await followed(broker, kind="topic.*")
    broker.create_topic("t")
    (created,) = await seen(following, 1)
    assert (created.kind, created.event.about) == ("event", {"topic": "t"})
    only_requests = await followed(broker, what="requests", after="0-0")
    assert await only_requests.batch() == []


async def test_a_request_that_waits_comes_when_it_is_answered(
    broker: test_broker, clients: Any
) -> None:
    broker.create_topic("t")
    await broker.asynchronous.spy("on")
    waiting = await followed(broker, what="requests", api="Fetch", waiting=True)
    patient = await followed(broker, what="requests", api="Fetch")
    client, other = await clients.connect(), await clients.connect()
    await client.send(fetch(broker.topic_id("t"), 60_000))
    (parked,) = await seen(waiting, 1)
    assert parked.request.outcome == "waiting"
    await other.ask(fetch(broker.topic_id("t"), 0))
    (quick,) = await seen(waiting, 1)
    assert await patient.batch() != []
    # The place is before the one that waits, so that who goes on there sees its answer.
    assert quick.id.partition("-")[0] == str(parked.request.seq - 1)
    await broker.asynchronous.produce("t", "v")
    await client.answer()
    for following in (waiting, patient):
        (answered,) = await seen(following, 1)
        assert (answered.request.seq, answered.request.outcome) == (parked.request.seq, "answered")


async def test_what_the_spy_has_dropped_is_counted(broker: test_broker, client: Any) -> None:
    k = broker.asynchronous
    await k.spy("on")
    following = await followed(broker, what="requests")
    for _ in range(5):
        await client.ask(MetadataRequest(topics=[]))
    await k.ask("requests.clear")
    await client.ask(MetadataRequest(topics=[]))
    lost, found = await seen(following, 2)
    assert (lost.kind, lost.missed, found.request.seq) == ("missed", 5, 6)
    again = await followed(broker, what="requests", after="3-0")
    lost, found = await seen(again, 2)
    assert (lost.missed, found.request.seq) == (2, 6)


async def test_the_latest_are_those_that_do_not_come_too_fast(
    broker: test_broker, client: Any
) -> None:
    """A backlog from before comes whole."""
    await broker.asynchronous.spy("on")
    await client.ask(MetadataRequest(topics=[]))
    ring = broker._default.spy.ring
    (quick,) = [_quick(entry) for entry in ring]
    for _ in range(MOST_LATEST + 1):
        ring.keep(quick)
    following = await followed(broker, what="requests", after="0-0", latest=True)
    assert not any(each.missed for each in await seen(following, MOST_LATEST + 2))
    for _ in range(MOST_LATEST):
        ring.keep(quick)
    assert not any(each.missed for each in await seen(following, MOST_LATEST))
    for _ in range(MOST_LATEST + 3):
        ring.keep(quick)
    lost, *found = await seen(following, 1 + MOST_LATEST)
    assert lost.missed == 3
    assert found[-1].request.seq == ring.last_seq


async def test_the_latest_take_less_of_a_core(
    broker: test_broker, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each look at the clock, once for a request, takes as long.
    passed = count(0, 20e-6)
    monkeypatch.setattr(following_module, "perf_counter", lambda: next(passed))
    await broker.asynchronous.spy("on")
    await client.ask(MetadataRequest(topics=[]))
    ring = broker._default.spy.ring
    (quick,) = [_quick(entry) for entry in ring]
    rests = {}
    for latest in (False, True):
        following = await followed(broker, what="requests", latest=latest)
        for _ in range(MOST_LATEST):
            ring.keep(quick)
        await seen(following, MOST_LATEST)
        rests[latest] = following._rest_seconds
    assert rests[True] == pytest.approx(20 * rests[False])


async def test_events_that_are_gone_are_counted(broker: test_broker) -> None:
    events = broker._default.spy.events
    following = await followed(broker, what="events")
    for _ in range(10_003):
        events.put("mark")
    found = await following.batch()
    assert (found[0].missed, found[1].event.seq) == (3, events.last_seq - 9_999)
    assert len(found) == MOST_AT_ONCE
    assert (await following.batch())[0].event.seq == found[-1].event.seq + 1


async def test_a_place_beyond_the_end_is_the_end(broker: test_broker) -> None:
    following = await followed(broker, after="900-900")
    broker.create_topic("t")
    assert "topic.created" in [each.event.kind for each in await following.batch()]


async def test_it_is_over_with_its_cluster(broker: test_broker) -> None:
    k = broker.asynchronous
    await k.ask("clusters.create", name="mine")
    clusters = broker._clusters
    assert clusters is not None
    following = await follow(clusters.get("mine"), Follow())
    assert not following.is_over
    k.cluster = "mine"
    await k.ask("clusters.delete")
    assert following.is_over


async def test_mistakes_are_told_at_once(broker: test_broker) -> None:
    with pytest.raises(Problem, match="no API 'Produse'"):
        await followed(broker, api="Produse")
