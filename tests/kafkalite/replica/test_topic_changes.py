"""Topics that come and go in slices: whole or not at all, and others are served meanwhile."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import trio

from kafkalite.cluster.topic_creation import NewTopic
from kafkalite.replica.topics import Topics
from kafkalite.requests.slices import Steps, at_once
from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkalite.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

# A topic that is long in the making, as Kafka makes it.
BROKER_CONFIGS = {"offsets.topic.num.partitions": 50}

MANY = 1000
SECONDS = 60


def creation(partitions: int, name: str = "t") -> CreateTopicsRequest:
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    return CreateTopicsRequest(topics=[topic], timeout_ms=60_000)


def question(name: str = "t") -> MetadataRequest:
    return MetadataRequest(
        topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False
    )


def begun(topics: Topics, new: NewTopic, *, opened: int) -> Steps[None]:
    """The creation of a topic, as far as that so many of its logs are open."""
    steps = topics.creating(new)
    while sum(map(len, topics._opened.values())) < opened:
        next(steps)
    return steps


def topics_of(broker: test_broker) -> Topics:
    return broker._running.services.topics


@pytest.mark.slow
async def test_others_are_served_and_see_the_topic_whole_or_not(clients: Any) -> None:
    creator, other = await clients.connect(), await clients.connect()
    seen: set[int] = set()
    answers = 0
    with trio.fail_after(SECONDS):
        for request, expected in (
            (creation(MANY), MANY),
            (DeleteTopicsRequest(topics=[DeleteTopicState(name="t")], timeout_ms=60_000), 0),
        ):
            async with trio.open_nursery() as nursery:
                is_done = trio.Event()

                async def ask(request: object, is_done: trio.Event) -> None:
                    await creator.ask(request)
                    is_done.set()

                nursery.start_soon(ask, request, is_done)
                while not is_done.is_set():
                    (topic,) = (await other.ask(question())).topics
                    seen.add(len(topic.partitions))
                    answers += 1
            (topic,) = (await other.ask(question())).topics
            assert len(topic.partitions) == expected
    assert seen <= {0, MANY}
    assert answers > 10


async def test_two_requests_for_one_topic(clients: Any) -> None:
    first, second = await clients.connect(), await clients.connect()
    await first.send(creation(200))
    await second.send(creation(100))
    with trio.fail_after(SECONDS):
        codes = [(await each.answer()).topics[0].error_code for each in (first, second)]
        assert sorted(codes) == [ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS]
        (topic,) = (await first.ask(question())).topics
    assert len(topic.partitions) == (200 if codes[0] == 0 else 100)


async def test_many_that_need_an_internal_topic_at_once(clients: Any) -> None:
    connected = [await clients.connect() for _ in range(5)]
    for each in connected:
        await each.send(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]))
    with trio.fail_after(SECONDS):
        for each in connected:
            (coordinator,) = (await each.answer()).coordinators
            assert coordinator.error_code == ErrorCode.NONE
    (topic,) = (await connected[0].ask(question("__consumer_offsets"))).topics
    assert len(topic.partitions) == 50


async def test_a_topic_is_created_although_its_client_is_gone(
    broker: test_broker, clients: Any
) -> None:
    steps = begun(topics_of(broker), NewTopic("t", 40), opened=20)
    steps.close()
    assert topics_of(broker).get("t") is None
    client = await clients.connect()
    with trio.fail_after(SECONDS):
        # The next round of a job in the background does it, without an event.
        while not (await client.ask(question())).topics[0].partitions:  # noqa: ASYNC110 - as said
            await trio.sleep(0.01)
    found = topics_of(broker).get("t")
    assert found is not None
    assert len(found.partitions) == 40


@pytest.mark.parametrize("opened", [0, 5, 19])
async def test_a_kill_in_between_leaves_no_topic_and_no_logs(tmp_path: Path, opened: int) -> None:
    async with test_broker(data_dir=tmp_path / "alive") as running:
        running.create_topic("other")
        steps = begun(topics_of(running), NewTopic("t", 20), opened=opened)
        # A kill leaves this on the disk, without the lock of the living.
        shutil.copytree(tmp_path / "alive", tmp_path / "killed")
        at_once(steps)
    assert len(list((tmp_path / "killed").glob("t-*"))) >= opened
    async with test_broker(data_dir=tmp_path / "killed") as again:
        assert topics_of(again).get("t") is None
        assert not list((tmp_path / "killed").glob("t-*[0-9]"))
        assert topics_of(again).get("other") is not None
        again.create_topic("t", 3)
        found = topics_of(again).get("t")
        assert found is not None
        assert [partition.log.offline_reason for partition in found.partitions] == [None] * 3


async def test_a_node_that_fell_in_between_leads_nothing(three: test_broker) -> None:
    steps = begun(topics_of(three), NewTopic("t", 6, 2), opened=3)
    three.stop_node(2)
    at_once(steps)
    found = topics_of(three).get("t")
    assert found is not None
    assert {partition.leader_id for partition in found.partitions} == {1, 3}
    steps = begun(topics_of(three), NewTopic("u", 6, 3), opened=3)
    three.start_node(2)
    at_once(steps)
    found = topics_of(three).get("u")
    assert found is not None
    assert all(set(partition.in_sync_replicas) == {1, 2, 3} for partition in found.partitions)


async def test_configs_that_changed_in_between_count(broker: test_broker) -> None:
    steps = begun(topics_of(broker), NewTopic("t", 4), opened=2)
    broker._running.config.set_dynamic(None, {"log.retention.ms": "12345"})
    at_once(steps)
    found = topics_of(broker).get("t")
    assert found is not None
    assert [each.log.config.retention_ms for each in found.partitions] == [12345] * 4


async def test_what_the_metadata_cannot_take_leaves_nothing(
    broker: test_broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = begun(topics_of(broker), NewTopic("t", 4), opened=2)
    log = broker._running.controller._log._log
    log.offline_reason = "the disk is gone"
    with pytest.raises(KafkaError, match="the disk is gone"):
        at_once(steps)
    log.offline_reason = None
    assert topics_of(broker).get("t") is None
    assert topics_of(broker)._opened == {}
    broker.create_topic("t", 2)
    found = topics_of(broker).get("t")
    assert found is not None
    assert [partition.log.offline_reason for partition in found.partitions] == [None] * 2
