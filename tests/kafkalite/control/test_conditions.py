"""Conditions: each holds when it should, and else says in one sentence what is missing."""

from __future__ import annotations

import gc
import re
from typing import Any

import msgspec
import pytest
import trio

from kafkalite.control.conditions import Looked, Sight, look_for
from kafkalite.control.faults.book import RuleBook
from kafkalite.control.faults.matching import Seen
from kafkalite.control.problems import Problem
from kafkalite.control.questions import Until
from kafkalite.requests.slices import at_once
from kafkalite.testing import broker as test_broker
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.heartbeat import HeartbeatRequest
from tests.kafkalite.group_requests import commit, join, leave, sync, with_words
from tests.kafkalite.transactional import TOPIC, Transactional
from tests.kafkalite.until import until


class Looker:
    """Looks at a broker; its time and its clients are as the test says."""

    def __init__(self, broker: test_broker) -> None:
        self.now = 0.0
        self.clients: list[str] = []
        self.book = RuleBook(lambda: 0)
        self.stands_still = False
        self.sight = Sight(
            lambda: broker._running,
            lambda: self.book,
            lambda: self.clients,
            lambda: self.now,
            lambda: self.stands_still,
            lambda: 0,
        )

    def look(self, **until: Any) -> Looked:
        return at_once(look_for(msgspec.convert(until, Until), self.sight)())

    def missing(self, **until: Any) -> str:
        """The sentence of a condition that does not hold."""
        looked = self.look(**until)
        assert not looked.met
        return looked.because

    def holds(self, **until: Any) -> bool:
        looked = self.look(**until)
        assert bool(looked.because) != looked.met
        return looked.met


@pytest.fixture
def looker(broker: test_broker) -> Looker:
    return Looker(broker)


@pytest.mark.parametrize(
    "until", [{}, {"topic": {"name": "t"}, "connections": {}}, {"all": [{}]}, {"not": {}}]
)
async def test_a_condition_is_one_thing(looker: Looker, until: dict[str, Any]) -> None:
    with pytest.raises(Problem, match="a condition is one thing") as caught:
        looker.look(**until)
    assert caught.value.code == "invalid_condition"


async def test_a_group_with_members_that_have_their_partitions(clients: Any) -> None:
    client, _ = await with_words(clients)
    looker = Looker(clients.broker)
    assert looker.missing(group={"id": "group"}) == "group group does not exist"
    assert looker.look(group={"id": "group", "members": 0}).met
    joined = await join(client)
    assigned = {"id": "group", "members": 1, "assigned": True}
    told = looker.missing(group=assigned)
    assert told.startswith("group group is CompletingRebalance for 0 ms: waiting for ")
    assert re.search(
        rf"{joined.member_id} \(last heard of \d+ ms ago, its session ends in (9|10)\.\d s\)", told
    )
    await sync(client, joined)
    assert looker.holds(group=assigned)
    assert looker.holds(group={"id": "group", "state": "stable"})
    assert looker.holds(group={"id": "group", "generation": 1})
    assert looker.missing(group={"id": "group", "generation": 2}).endswith(
        "its generation is 1, not 2"
    )
    assert looker.missing(group={"id": "group", "state": "EMPTY"}).endswith("it is to be EMPTY")
    assert looker.missing(group={"id": "group", "topics": ["x"]}).endswith(
        "no member is assigned x"
    )
    told = looker.missing(group={"id": "group", "members": 2})
    assert told.endswith(f"1 of 2 members are there ({joined.member_id} at /127.0.0.1)")
    seen = looker.look(group=assigned).seen
    assert (seen["state"], seen["generation"], seen["members"]) == ("Stable", 1, [joined.member_id])
    await leave(client, joined.member_id)
    told = looker.missing(group=assigned)
    assert told.endswith("0 of 1 members are there (none); it has no members")


async def test_the_member_that_hangs_is_named(clients: Any) -> None:
    """The others wait in JoinGroup for it."""
    client, _ = await with_words(clients)
    k = clients.broker.asynchronous
    await k.clock.freeze()
    hanging = await join(client)
    await sync(client, hanging)
    await k.clock.advance("4s", members="expire")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(join, await clients.connect(client_id="other"))
        looker = Looker(clients.broker)
        both = {"id": "group", "members": 2, "assigned": True}
        await until(lambda: "PreparingRebalance" in looker.missing(group=both))
        told = looker.missing(group=both)
        there, late = told.split("; ")
        assert re.search(r"1 of 2 are there \(other-\S+ at /127.0.0.1\)", there)
        assert re.fullmatch(
            rf"waiting for {hanging.member_id} "
            r"\(last heard of 4\.0 s ago, its session ends in 6\.0 s\)",
            late,
        )
        nursery.cancel_scope.cancel()


async def test_the_time_of_a_state_is_told(clients: Any) -> None:
    client, _ = await with_words(clients)
    joined = await join(client)
    looker = Looker(clients.broker)
    look = look_for(
        msgspec.convert({"group": {"id": "group", "assigned": True}}, Until), looker.sight
    )
    looker.now = 4.8
    assert "is CompletingRebalance for 0 ms" in at_once(look()).because  # first seen now
    looker.now = 9.9
    assert "is CompletingRebalance for 5.1 s" in at_once(look()).because
    assert "stands still" not in at_once(look()).because
    looker.stands_still = True
    stuck = "time stands still, so no session ends: `groups expire` ends one"
    assert stuck in at_once(look()).because
    await sync(client, joined)
    assert at_once(look()).met


async def test_records_in_a_topic_or_a_partition(broker: test_broker, looker: Looker) -> None:
    assert looker.missing(records={"topic": "t"}) == "topic t does not exist"
    broker.create_topic("t", partitions=2)
    produce = broker.asynchronous.produce
    await produce("t", "v", count=3)
    now = look_for(
        msgspec.convert({"records": {"topic": "t", "since_now": True}}, Until), looker.sight
    )
    assert looker.holds(records={"topic": "t", "at_least": 3})
    assert looker.missing(records={"topic": "t", "at_least": 4}) == "t has 3 of 4 records"
    assert looker.missing(records={"topic": "t", "partition": 1}) == "t-1 has 0 of 1 records"
    assert at_once(now()).because == "t has 0 of 1 records"
    await produce("t", "v", partition=1)
    assert at_once(now()) == Looked(True, {"records": 1})
    assert looker.holds(records={"topic": "t", "partition": 1})


async def test_committed_records_end_at_the_last_stable_offset(
    broker: test_broker, writer: Transactional
) -> None:
    looker = Looker(broker)
    await writer.produce(b"v")
    assert looker.holds(records={"topic": TOPIC})
    assert looker.missing(records={"topic": TOPIC, "committed": True}) == (
        f"{TOPIC} has 0 of 1 committed records"
    )
    assert looker.holds(transaction={"id": writer.id, "state": "ongoing"})
    assert looker.missing(transaction={"id": writer.id, "state": "CompleteCommit"}) == (
        f"the transaction of {writer.id} is Ongoing, not CompleteCommit"
    )
    assert looker.missing(transaction={"id": "x", "state": "Ongoing"}) == (
        "there is no transactional id x"
    )
    await writer.end(commit=True)
    assert looker.holds(records={"topic": TOPIC, "committed": True})


async def test_offsets_and_how_far_a_group_is_behind(clients: Any) -> None:
    client, topic_id = await with_words(clients)
    looker = Looker(clients.broker)
    nothing = "group group has committed nothing"
    assert looker.missing(lag={"group": "group"}) == nothing
    place = {"group": "group", "topic": "words", "partition": 0}
    assert looker.missing(committed=place | {"offset": 1}) == f"{nothing} of words-0"
    await clients.broker.asynchronous.produce("words", "v", count=5)
    assert await commit(client, topic_id, 2) == 0
    assert looker.missing(lag={"group": "group"}) == (
        "group group is 3 records behind (words-0 by 3)"
    )
    assert looker.holds(lag={"group": "group", "at_most": 3})
    assert looker.missing(lag={"group": "group", "topics": ["x"]}) == nothing
    assert looker.holds(committed=place | {"offset": 2})
    assert looker.missing(committed=place | {"offset": 3}) == (
        "group group has committed 2 of words-0, not 3"
    )


async def test_topics_come_and_go(broker: test_broker, looker: Looker) -> None:
    assert looker.missing(topic={"name": "t"}) == "topic t does not exist"
    assert looker.look(topic={"name": "t", "exists": False}).met
    broker.create_topic("t")
    assert looker.holds(topic={"name": "t", "leaders": True})
    assert looker.missing(topic={"name": "t", "exists": False}) == "topic t is still there"


async def test_partitions_without_a_leader_are_named(three: test_broker) -> None:
    looker = Looker(three)
    three.create_topic("t", partitions=3, replication_factor=1)
    led = {each.partition: each.leader for each in three.topic("t").partitions}
    three.stop_node(2)
    (without,) = (index for index, leader in led.items() if leader == 2)
    assert looker.missing(topic={"name": "t", "leaders": True}) == f"t-{without} has no leader"
    assert looker.holds(topic={"name": "t"})


async def test_connections_are_counted_by_client(looker: Looker) -> None:
    looker.clients = ["a", "a", "b"]
    assert looker.holds(connections={"client_id": "a", "at_least": 2, "at_most": 2})
    assert looker.holds(connections={"at_least": 3})
    assert looker.missing(connections={"client_id": "b", "at_least": 2}) == (
        "1 connections of client b are open, at least 2 are waited for"
    )
    assert looker.missing(connections={"at_most": 2}) == (
        "3 connections are open, at most 2 are waited for"
    )


def heartbeat(group: str) -> Seen:
    return Seen(ApiKey.HEARTBEAT, 4, HeartbeatRequest(group_id=group, member_id="m"))


async def test_requests_count_from_the_moment_of_asking(looker: Looker) -> None:
    looker.book.steps(heartbeat("g"))
    when = {"api": "Heartbeat", "group": "g"}
    look = look_for(msgspec.convert({"request": {"when": when, "count": 2}}, Until), looker.sight)
    looker.book.steps(heartbeat("h"))
    told = at_once(look()).because
    assert told.startswith("0 of 2 such requests came (")
    assert "group was 'h', not 'g'" in told
    looker.book.steps(heartbeat("g"))
    assert at_once(look()).because == "1 of 2 such requests came"
    looker.book.steps(heartbeat("g"))
    assert at_once(look()) == Looked(True, {"requests": 2})
    assert len(looker.book) == 1
    del look
    gc.collect()
    assert len(looker.book) == 0


async def test_faults_are_applied_and_hold(broker: test_broker, looker: Looker) -> None:
    assert looker.missing(fault={"id": "f"}) == "there is no fault f"
    assert looker.missing(held={"id": "f"}) == "fault f holds 0 of 1 requests"
    rule = {"id": "f", "when": {"api": "Heartbeat"}, "times": None, "do": [{"count": True}]}
    from kafkalite.control.faults.rule import Rule

    state = looker.book.add(msgspec.convert(rule, Rule))
    assert looker.missing(fault={"id": "f"}) == (
        "fault f was never applied: no request of its API came"
    )
    looker.book.steps(heartbeat("g"))
    assert looker.holds(fault={"id": "f"})
    assert looker.missing(fault={"id": "f", "applied": 2}) == ("fault f was applied 1 of 2 times")
    state.held = 1
    assert looker.holds(held={"id": "f"})


async def test_quiet_is_that_nothing_was_written_for_so_long(
    broker: test_broker, looker: Looker
) -> None:
    broker.create_topic("t")
    look = look_for(msgspec.convert({"quiet": {"for": "2s"}}, Until), looker.sight)
    looker.now = 1.5
    assert not at_once(look()).met
    looker.now = 3.0
    assert at_once(look()).because == "the last record was written 1.5 s ago, not 2s"
    await broker.asynchronous.produce("t", "v")
    looker.now = 3.6
    assert at_once(look()).because == "the last record was written 0 ms ago, not 2s"
    looker.now = 5.7
    assert at_once(look()).met


async def test_conditions_are_put_together(broker: test_broker, looker: Looker) -> None:
    broker.create_topic("t")
    there, gone = {"topic": {"name": "t"}}, {"topic": {"name": "x"}}
    assert looker.holds(all=[there, there])
    assert looker.missing(all=[there, gone, gone]) == (
        "topic x does not exist; topic x does not exist"
    )
    assert looker.holds(any=[gone, there])
    assert looker.missing(any=[gone, gone]) == ("topic x does not exist and topic x does not exist")
    assert looker.holds(**{"not": gone})
    assert looker.missing(**{"not": there}) == "this still holds: {'exists': True}"
    await trio.lowlevel.checkpoint()
