"""Verbs at exactly a request, also those that cut the connection it came by."""

from __future__ import annotations

import socket
import time
from typing import Any

import pytest

from kafkalite.control.problems import Problem
from kafkalite.faults import Action, dribble, restart, restart_node, run, stop_node, throttle
from kafkalite.testing import broker
from tests.kafkalite.control.clients import produced, producer


@pytest.mark.parametrize("at", ["before", "then"])
@pytest.mark.parametrize("unclean", [True, False])
def test_the_broker_is_restarted_at_exactly_a_request(k: broker, unclean: bool, at: Any) -> None:
    """The record is there once: the one whose connection was cut, or the one sent again."""
    k.create_topic("t")
    fault = k.fault("Produce", topic="t", skip=1, do=restart(unclean=unclean, at=at))
    sent = produced(k, "t", b"1", b"2", b"3", **{"enable.idempotence": True})
    assert sent == [None, None, None]
    assert fault.applied == 1
    assert [record.value for record in k.records("t")] == ["1", "2", "3"]
    told = [each.kind for each in k.events(kind="cluster.*")]
    assert told[-1] == "cluster.restarted"
    assert not k.events(kind="verb.failed")


@pytest.mark.slow
@pytest.mark.parametrize("at", ["before", "then", "beside"])
def test_the_leader_is_restarted_at_exactly_a_request(k: broker, at: Any) -> None:
    with k.new_cluster(nodes=3, config={"min.insync.replicas": 1}) as three:
        three.create_topic("t", replication_factor=3)
        leader = three.topic("t").partitions[0].leader
        fault = three.fault("Produce", node=leader, do=restart_node(leader, "300ms", at=at))
        assert produced(three, "t", b"1", b"2", **{"enable.idempotence": True}) == [None, None]
        assert fault.applied == 1
        assert [record.value for record in three.records("t")] == ["1", "2"]
        downs = [each.about["node"] for each in three.events(kind="node.*")]
        assert leader in downs


@pytest.mark.parametrize("at", ["before", "then", "beside"])
def test_the_end_of_a_cluster_waits_for_no_verb_of_a_rule(k: broker, at: Any) -> None:
    """The request that waits for the verb is answered. The stopped node stays stopped."""
    with k.new_cluster(nodes=3) as three:
        three.create_topic("t", replication_factor=3)
        leader = three.topic("t").partitions[0].leader
        other = next(each for each in (1, 2, 3) if each != leader)
        addresses = [each.address for each in three.nodes()]
        fault = three.fault("Produce", do=restart_node(other, "1h", at=at))
        sending = producer(three)
        delivered: list[Any] = []
        sending.produce("t", b"1", on_delivery=lambda failed, _: delivered.append(failed))
        while fault.applied == 0:
            sending.poll(0.02)
        began = time.monotonic()
    assert time.monotonic() - began < 5
    for address in addresses:
        host, port = address.rsplit(":", 1)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((host, int(port)), timeout=5)
    sending.flush(5)
    assert delivered == [None]


def test_a_node_is_stopped_while_another_waits_for_it(k: broker) -> None:
    with k.new_cluster(nodes=3) as three:
        three.create_topic("t", replication_factor=3)
        leader = three.topic("t").partitions[0].leader
        other = next(each for each in (1, 2, 3) if each != leader)
        three.fault("Produce", node=leader, do=stop_node(other))
        assert produced(three) == [None]
        assert {each.node for each in three.nodes() if not each.up} == {other}


@pytest.mark.parametrize(
    ("what", "told"),
    [
        (run("nodes.explode"), "no verb 'nodes.explode'"),
        (run("nodes.stop", node="two"), "nodes.stop does not take this"),
        (run("nodes.stop", wrong=2), "nodes.stop does not take this"),
    ],
)
def test_a_verb_that_means_nothing_is_refused_at_once(k: broker, what: Any, told: str) -> None:
    with pytest.raises(Problem, match=told):
        k.fault("Produce", do=what)
    assert k.faults.list() == []


@pytest.mark.parametrize("shape", [dribble(5, "1ms"), throttle("10ms")])
def test_a_connection_goes_on_after_an_answer_that_was_sent_in_its_own_way(
    k: broker, caplog: pytest.LogCaptureFixture, shape: Action
) -> None:
    """Also after those of APIs whose messages are objects, and no rows."""
    k.create_topic("t")
    apis = ["ApiVersions", "FindCoordinator", "InitProducerId", "Metadata", "Produce"]
    k.fault(apis, times=None, do=shape)
    assert produced(k, "t", b"v", **{"enable.idempotence": True}) == [None]
    assert "could not be answered" not in caplog.text


def test_a_verb_that_fails_is_told(k: broker, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "kafkalite")
    k.create_topic("t")
    k.fault("Produce", do=run("nodes.stop", node=9))
    assert produced(k, "t", b"v") == [None]
    (failed,) = k.events(kind="verb.failed")
    assert (failed.why, failed.about) == ("node 9 is not up", {"verb": "nodes.stop"})
    assert "connection closed: nodes.stop failed: node 9 is not up" in caplog.text
    assert "Traceback" not in caplog.text


def test_a_snapshot_is_restored_at_exactly_a_request(k: broker) -> None:
    """Verbs that are of all clusters are among them."""
    k.create_topic("t")
    k.snapshot("empty")
    k.produce("t", "before")
    k.fault("Produce", topic="t", do=run("snapshots.restore", snapshot="empty"))
    assert produced(k, "t", b"after") == [None]
    assert [record.value for record in k.records("t")] == ["after"]


def test_a_client_is_known_by_its_software(k: broker) -> None:
    k.create_topic("t")
    k.spy("on")
    missed = k.fault("Produce", client_software="kafka-python/*", optional=True, do=run("doctor"))
    hit = k.fault("Produce", client_software="confluent-kafka-python/*", do=run("doctor"))
    assert produced(k) == [None]
    assert (missed.applied, hit.applied) == (0, 1)
    (near,) = missed.show().near
    assert near.criterion == "client_software"
    assert near.seen[0].startswith("'confluent-kafka-python/")
    (shown,) = k.requests(api="Produce")
    assert (shown.software.partition("/")[0], shown.node, shown.listener) == (
        "confluent-kafka-python",
        1,
        "PLAINTEXT",
    )
