"""Problems of people who test with Kafka, each solved. docs/testing.md tells of them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer

from kafkalite.client.errors import WaitTimeout
from kafkalite.faults import delay, drop, error, hold, repeat, run, silence
from kafkalite.testing import check_effects


def test_produce_only_when_the_consumer_is_assigned(k: Any, start_app: Callable[..., Any]) -> None:
    start_app()
    k.wait.group("billing", members=1, assigned=True)
    k.produce("orders", "1")
    assert [record.value for record in k.records("invoices", 1)] == ["1"]


def test_a_timeout_says_what_is_missing(k: Any) -> None:
    with pytest.raises(WaitTimeout, match="orders has 0 of 3 records"):
        k.wait.records("orders", 3, timeout="100ms")


def test_the_same_data_for_many_tests(kafkalite_session: Any, kafkalite_factory: Any) -> None:
    first = kafkalite_factory()
    first.seed({"topics": [{"name": "orders", "records": [{"value": "1", "count": 1000}]}]})
    first.snapshot("orders")
    for _ in range(3):
        one = kafkalite_factory(from_="orders")
        assert len(one.records("orders")) == 1000


@pytest.mark.slow
def test_a_member_hangs_and_another_takes_over(k: Any, start_app: Callable[..., Any]) -> None:
    start_app("worker-1")
    k.wait.group("billing", members=1, assigned=True)
    k.fault("Heartbeat", client_id="worker-1", times=None, do=silence.before)
    k.wait.fault("fault-1")
    start_app("worker-2")
    (hanging,) = [m for m in k.group("billing").show().members if m.client_id == "worker-1"]
    k.wait.group("billing", members=2)
    assert hanging.member_id in k.clock.advance("46s", members="expire").expired_members
    k.faults.clear()


def test_the_record_was_written_and_the_answer_was_lost(k: Any, app: Any) -> None:
    k.fault("Produce", topic="orders", do=drop.after)
    app.place("1")
    assert len(k.records("orders")) == 1  # the producer is idempotent


def test_a_producer_that_is_not_idempotent_writes_twice(k: Any) -> None:
    k.fault("Produce", topic="orders", do=drop.after)
    careless = Producer({"bootstrap.servers": k.bootstrap})
    careless.produce("orders", "1")
    careless.flush(30)
    assert len(k.records("orders")) == 2


@pytest.mark.slow
def test_a_commit_that_is_lost_makes_the_work_be_done_again(
    k: Any, start_app: Callable[..., Any]
) -> None:
    k.produce("orders", "1")
    k.fault("OffsetCommit", group="billing", do=error("UNKNOWN_MEMBER_ID"))
    start_app()
    k.wait.fault("fault-1", timeout="20s")


def test_a_zombie_is_fenced(k: Any) -> None:
    zombie = Producer({"bootstrap.servers": k.bootstrap, "transactional.id": "billing-0"})
    zombie.init_transactions(30)
    zombie.begin_transaction()
    zombie.produce("invoices", "1")
    zombie.flush(30)
    k.transaction("billing-0").fence()
    with pytest.raises(KafkaException):
        zombie.commit_transaction(30)
    assert k.records("invoices", committed=True) == []


def test_a_transaction_times_out(k: Any) -> None:
    slow = Producer({"bootstrap.servers": k.bootstrap, "transactional.id": "billing-0"})
    slow.init_transactions(30)
    slow.begin_transaction()
    slow.produce("invoices", "1")
    slow.flush(30)
    assert k.clock.advance("61s").aborted == ["billing-0"]
    assert k.transaction("billing-0").state == "CompleteAbort"


def test_retention_loses_what_was_not_read(k: Any) -> None:
    k.create_topic("audit", configs={"retention.ms": "604800000"})
    k.produce("audit", "old", count=100)
    k.clock.advance("8d")
    k.wait.until({"not": {"records": {"topic": "audit"}}})
    assert k.topic("audit").partitions[0].start_offset == 100


def test_the_broker_crashes(k: Any, start_app: Callable[..., Any]) -> None:
    start_app()
    k.produce("orders", "before")
    k.wait.records("invoices", 1)
    k.restart(unclean=True)
    k.produce("orders", "after")
    values = [record.value for record in k.records("invoices", 2, wait="30s")]
    assert values == ["before", "after"]


@pytest.mark.kafkalite(nodes=3)
def test_the_leader_moves_while_an_application_writes(k: Any, app: Any) -> None:
    k.create_topic("replicated", 1, 3)
    leader = k.topic("replicated").partitions[0].leader
    node = next(node.node for node in k.nodes() if node.node != leader)
    move = run("topics.lead", topic="replicated", partition=0, to=node)
    k.fault("Produce", topic="replicated", skip=2, do=move)
    for order in range(10):
        app.producer.produce("replicated", str(order))
        app.producer.flush(30)
    assert [record.value for record in k.records("replicated")] == [str(i) for i in range(10)]
    assert k.topic("replicated").partitions[0].leader == node


def test_exactly_this_interleaving(k: Any, app: Any) -> None:
    held = k.fault("Produce", topic="orders", do=hold)
    placing = threading.Thread(target=app.place, args=("1",))
    placing.start()
    k.wait.held(held)
    assert k.records("orders") == []
    held.release()
    placing.join()
    assert len(k.records("orders")) == 1


def test_a_rebalance_begins_while_an_order_is_worked_on(
    k: Any, start_app: Callable[..., Any]
) -> None:
    start_app()
    k.wait.group("billing", members=1, assigned=True)
    held = k.fault("SyncGroup", group="billing", do=hold)
    k.group("billing").rebalance()
    k.wait.held(held)
    k.produce("orders", "1")
    assert k.group("billing").show().state == "CompletingRebalance"
    assert k.records("invoices") == []  # it has no partitions
    held.release()
    assert [record.value for record in k.records("invoices", 1)] == ["1"]


@pytest.mark.slow
def test_the_coordinator_is_loading(k: Any, start_app: Callable[..., Any]) -> None:
    fault = k.preset("coordinator_loading", group="billing", times=3)
    start_app()
    k.wait.fault(fault, 3, timeout="20s")
    k.wait.group("billing", members=1, assigned=True, timeout="20s")


def test_duplicates_come_from_upstream(k: Any) -> None:
    k.fault("Produce", topic="orders", do=repeat(2))
    upstream = Producer({"bootstrap.servers": k.bootstrap})
    upstream.produce("orders", "1")
    upstream.flush(30)
    assert [record.value for record in k.records("orders")] == ["1", "1"]


def test_a_slow_broker(k: Any, app: Any) -> None:
    k.fault("Produce", client_id="app", do=delay("200ms"))
    app.place("1")
    assert len(k.records("orders")) == 1


def test_what_was_committed(k: Any, start_app: Callable[..., Any]) -> None:
    start_app()
    k.produce("orders", "1", count=3)
    k.wait.lag("billing")
    assert k.committed("billing", "orders", 0) == 3


@pytest.mark.kafkalite(clock="frozen")
def test_a_breakpoint_throws_no_member_out(k: Any, start_app: Callable[..., Any]) -> None:
    start_app()
    k.wait.group("billing", members=1, assigned=True)
    assert k.clock.show().frozen


@pytest.mark.slow
@pytest.mark.kafkalite_sweep(api=["Produce"], topic="invoices", do=[drop.after, drop.before])
def test_wherever_an_answer_is_lost(k: Any, start_app: Callable[..., Any]) -> None:
    orders = ["1", "2", "3"]
    for order in orders:
        k.produce("orders", order)
    start_app()
    invoices = k.records("invoices", len(orders), wait="30s")
    assert check_effects(orders, [invoice.value for invoice in invoices], by=str)


def test_what_did_my_client_really_send(k: Any, app: Any) -> None:
    app.place("1")
    assert [r.request["acks"] for r in k.requests("Produce", client_id="app")] == [-1]
    assert [e.about["topic"] for e in k.events("topic.created")][:2] == ["orders", "invoices"]
