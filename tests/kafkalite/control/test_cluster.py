"""A cluster's state as verbs: reset, snapshots, clusters beside each other, restarts, seeds."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaException

from kafkalite.control.problems import Problem
from kafkalite.faults import drop
from kafkalite.testing import broker
from tests.kafkalite.control.clients import produced, producer


def test_a_reset_leaves_nothing_and_the_same_address(k: broker) -> None:
    before = k.describe()
    k.create_topic("t")
    produced(k, "t", b"1", b"2")
    k.fault("EndTxn", optional=True, do=drop.after)
    k.clock.advance("1h")
    old = producer(k)
    old.produce("t", b"3")
    old.flush(10)
    was = k.reset()
    assert (was.topics, was.records) == (1, 3)
    after = k.describe()
    assert (after.bootstrap, after.cluster_id) == (before.bootstrap, before.cluster_id)
    assert (k.topics(), k.groups(), k.faults.list()) == ([], [], [])
    assert abs(k.clock.show().ahead_ms) < 100
    k.create_topic("t")
    assert k.records("t") == []
    assert produced(k) == [None]
    del old


def test_a_snapshot_is_gone_back_to(k: broker) -> None:
    k.create_topic("t", partitions=2, configs={"segment.bytes": 1 << 20})
    for value in range(20):
        k.produce("t", f"{value:0300000}", partition=value % 2)
    k.group("g").seek("t", 5)
    saved = k.snapshot("seeded")
    assert 0 < saved.linked < saved.files
    k.produce("t", "more")
    k.delete_topic("t")
    for _ in range(2):
        k.restore("seeded")
        assert sorted(int((record.value or "")[-3:]) for record in k.records("t")) == list(
            range(20)
        )
        assert k.committed("g", "t", 1) == 5
        k.produce("t", "lost again")
    with k.new_cluster(snapshot="seeded") as c:
        assert len(c.records("t")) == 20
        assert c.bootstrap != k.bootstrap
        assert produced(c, "t", b"of its own") == [None]
        assert len(c.records("t")) == 21
    assert len(k.records("t")) == 21
    with pytest.raises(Problem, match="no snapshot 'none'"):
        k.restore("none")


def test_clusters_know_nothing_of_each_other(k: broker) -> None:
    with k.new_cluster(nodes=3) as a, k.new_cluster() as b:
        assert len(a.bootstrap.split(",")) == 3
        a.create_topic("t")
        a.produce("t", "v")
        a.clock.freeze()
        a.fault("Produce", times=None, optional=True, do=drop.before)
        assert (b.topics(), b.faults.list()) == ([], [])
        assert not b.clock.show().frozen
        b.create_topic("t")
        assert produced(b) == [None]
        assert [len(each.records("t")) for each in (a, b)] == [1, 1]


def test_a_broker_comes_back_on_its_data(k: broker) -> None:
    k.create_topic("t")
    assert produced(k, "t", b"1", b"2") == [None, None]
    for unclean in (True, False):
        k.restart(unclean=unclean)
        assert [record.value for record in k.records("t")][:2] == ["1", "2"]
        assert produced(k) == [None]
    assert len(k.records("t")) == 4


def test_seeds_are_planted(k: broker) -> None:
    k.seed(
        {
            "topics": [
                {
                    "name": "orders",
                    "partitions": 2,
                    "records": [
                        {"key": "a", "value": "1", "timestamp": "-7d", "count": 3},
                        {"value": "2", "partition": 1},
                    ],
                }
            ],
            "groups": [{"id": "billing", "offsets": {"orders": {"0": 2}}}],
        }
    )
    records = k.records("orders")
    assert [record.value for record in records] == ["1", "1", "1", "2"]
    assert records[3].timestamp - records[0].timestamp == 7 * 86_400_000
    assert k.committed("billing", "orders") == 2
    assert k.group("billing").show().offsets[0].lag == 1


def test_a_transaction_is_taken_from_its_producer(k: broker) -> None:
    k.create_topic("t")
    transactional = producer(k, **{"transactional.id": "billing-0"})
    transactional.init_transactions(10)
    transactional.begin_transaction()
    transactional.produce("t", b"v")
    transactional.flush(10)
    assert k.transaction("billing-0").state == "Ongoing"
    k.transaction("billing-0").fence()
    with pytest.raises(KafkaException) as caught:
        transactional.commit_transaction(10)
    assert caught.value.args[0].fatal()
    assert k.transaction("billing-0").state == "CompleteAbort"
    assert (len(k.records("t")), len(k.records("t", committed=True))) == (1, 0)
