"""Events of a real broker: each change once, with its reason."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from kafkalite.control.sightings import EventView
from kafkalite.faults import drop
from kafkalite.testing import broker
from tests.kafkalite.control.clients import Polling, consumer, producer


def events(k: broker, kind: str, **about: object) -> list[EventView]:
    found = k.ask("events", kind=kind, limit=10_000)
    return [each for each in found if about.items() <= each.about.items()]


def test_topics_come_grow_and_go(k: broker) -> None:
    k.create_topic("one-topic", 2)
    assert len(events(k, "topic.created", topic="one-topic")) == 1
    assert events(k, "topic.grown") == []
    k.delete_topic("one-topic")
    assert len(events(k, "topic.deleted", topic="one-topic")) == 1


def test_a_leader_moves_with_its_node(k: broker) -> None:
    with k.new_cluster(nodes=2) as pair:
        pair.create_topic("t", 1, 2)
        leader = pair.topic("t").partitions[0].leader
        pair.stop_node(leader)
        found = pair.ask("events", kind="leader.*")
        assert [each.about["leader"] for each in found if each.about["topic"] == "t"] == [
            3 - leader
        ]
        assert [each.about["node"] for each in pair.ask("events", kind="node.down")] == [leader]


def test_changed_configs_are_told_and_those_of_a_new_topic_are_not(k: broker) -> None:
    k.create_topic("configured", configs={"retention.ms": 3_600_000, "segment.ms": 60_000})
    topic = ConfigResource(ConfigResource.Type.TOPIC, "configured")
    topic.add_incremental_config(
        ConfigEntry("retention.ms", "7200000", incremental_operation=AlterConfigOpType.SET)
    )
    admin = AdminClient({"bootstrap.servers": k.bootstrap})
    admin.incremental_alter_configs([topic])[topic].result(30)
    (event,) = events(k, "config.changed", resource="configured")
    assert event.about["name"] == "retention.ms"


def test_configs_without_effect_are_told(k: broker) -> None:
    k.create_topic("unusual", configs={"preallocate": True, "retention.ms": 5000})
    (event,) = events(k, "config.unsupported")
    assert event.about == {"resource": "topic unusual", "name": "preallocate"}
    assert event.why == "it is kept and shown, and has no effect"
    with broker({"background.threads": 12, "num.partitions": 3}) as unusual:
        (event,) = events(unusual, "config.unsupported")
    assert event.about == {"resource": "broker", "name": "background.threads"}


def test_segments_are_rolled_and_deleted(k: broker) -> None:
    """In bytes, by time, and by compaction: each with its reason."""
    k.create_topic("rolls", configs={"segment.bytes": 1_048_576, "retention.ms": 3_600_000})
    for _ in range(3):
        k.produce("rolls", "x" * 600_000)
    rolled = events(k, "segment.rolled", log="rolls-0")
    assert [each.about["base_offset"] for each in rolled] == [1, 2]
    assert all(each.why.startswith("600") for each in rolled)
    k.lose("rolls", to=1)
    k.clean()
    k.clock.advance("2h")
    deleted = events(k, "segment.deleted", log="rolls-0")
    assert [(each.about["base_offset"], each.why) for each in deleted] == [
        (0, "it is before the log start offset"),
        (1, "retention.ms"),
        (2, "retention.ms"),
    ]
    assert [each.about["base_offset"] for each in events(k, "segment.rolled", log="rolls-0")] == [
        *(1, 2),
        3,  # retention takes the active one, too
    ]
    k.create_topic("compacted", configs={"cleanup.policy": "compact"})
    k.produce("compacted", "v", key="a", count=2)
    k.clean()
    (cleaned,) = events(k, "segment.deleted", log="compacted-0")
    assert (cleaned.about["base_offset"], cleaned.why) == (0, "it is compacted")


def test_a_member_that_is_let_go_has_a_reason(k: broker) -> None:
    k.create_topic("t")
    with Polling(consumer(k, "of-members", **{"heartbeat.interval.ms": 200}), "t"):
        k.wait.group("of-members", members=1, assigned=True)
        (member,) = k.group("of-members").show().members
        k.group("of-members").expire()
        (expired,) = events(k, "group.expired", group="of-members", member=member.member_id)
        assert "not heard of" in expired.why
        k.wait.group("of-members", members=1, assigned=True)
    assert [each.why for each in events(k, "group.left", group="of-members")] == ["it left"]
    ended = events(k, "rebalance.ended", group="of-members")
    assert [each.about["members"] for each in ended] == [1, 0, 1, 0]


def test_members_of_the_consumer_protocol(k: broker) -> None:
    k.create_topic("t")
    with Polling(consumer(k, "modern", **{"group.protocol": "consumer"}), "t"):
        k.wait.group("modern", members=1, assigned=True)
        (member,) = k.group("modern").show().members
    (joined,) = events(k, "group.joined", group="modern")
    assert joined.about["member"] == member.member_id
    assert [each.why for each in events(k, "group.left", group="modern")] == ["it left"]
    began = [each.why for each in events(k, "rebalance.began", group="modern")]
    assert (began[0], began[-1]) == ("a member came", "a member went")
    assert events(k, "rebalance.ended", group="modern")[-1].about["members"] == 0


def test_transactions_and_their_producers(k: broker) -> None:
    k.create_topic("t")
    made = producer(k, **{"transactional.id": "of-events"})
    made.init_transactions(10)
    for end in (made.commit_transaction, made.abort_transaction):
        made.begin_transaction()
        made.produce("t", b"v")
        made.flush(10)
        end(10)
    made.begin_transaction()
    made.produce("t", b"v")
    made.flush(10)
    k.clock.advance("61s")
    kinds = [
        each.kind
        for each in k.ask("events", limit=10_000)
        if each.about.get("transaction") == "of-events"
    ]
    began = "transaction.began"
    assert kinds == [
        "producer.began",
        *(began, "transaction.committed"),
        *(began, "transaction.aborted"),
        *(began, "producer.fenced", "transaction.aborted"),
    ]
    (fenced,) = events(k, "producer.fenced", transaction="of-events")
    assert fenced.why == "its transaction has timed out"


def test_a_connection_tells_why_it_was_closed(k: broker) -> None:
    k.create_topic("t")
    fault = k.fault("Produce", do=drop.after)
    made = producer(k)
    made.produce("t", b"v")
    made.flush(10)
    assert events(k, "fault.applied", fault=fault.id, api="Produce")[0].why == "drop after"
    closed = events(k, "connection.closed")
    assert f"fault {fault.id}" in [each.why for each in closed]
    del made


def test_the_clock_and_the_reset_are_told(k: broker) -> None:
    k.clock.freeze()
    assert "stands still" in events(k, "clock.changed")[-1].why
    k.reset()
    assert events(k, "cluster.reset")[-1].seq > events(k, "clock.changed")[-1].seq


@pytest.mark.parametrize("code", [errno.EIO])
def test_a_directory_whose_disk_breaks(code: int) -> None:
    with broker(profile="test") as k:
        (directory,) = k._running.services.logs.manager.directories
        k._call(lambda: directory.failed(OSError(code, "Input/output error")))
        (offline,) = events(k, "log.offline")
        assert Path(str(offline.about["directory"])) == directory.path
        assert "Input/output error" in offline.why
