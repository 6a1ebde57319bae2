"""The verbs as a test uses them, with librdkafka as the client."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any, Self

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from kafkalite.client.errors import WaitTimeout
from kafkalite.control.problems import Problem
from kafkalite.faults import (
    corrupt,
    cut,
    delay,
    drop,
    error,
    hold,
    patch,
    repeat,
    run,
    silence,
    throttle,
)
from kafkalite.testing import broker


@pytest.fixture(scope="module")
def shared() -> Iterator[broker]:
    with broker(profile="test") as running:
        yield running


@pytest.fixture
def k(shared: broker) -> Iterator[broker]:
    yield shared
    unfired = shared.faults.unfired()
    shared.reset()
    assert not unfired


def producer(k: broker, **configs: Any) -> Producer:
    return Producer(
        {"bootstrap.servers": k.bootstrap, "client.id": "app", "linger.ms": 0, **configs}
    )


def produced(
    k: broker, topic: str = "t", *values: bytes, **configs: Any
) -> list[KafkaError | None]:
    """What librdkafka says of each record."""
    errors: list[KafkaError | None] = []
    with_errors = producer(k, **{"socket.timeout.ms": 2000, **configs})
    for value in values or (b"v",):
        with_errors.produce(topic, value, on_delivery=lambda failed, _: errors.append(failed))
        with_errors.flush(10)
    return errors


def consumer(k: broker, group: str = "g", **configs: Any) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": k.bootstrap,
            "group.id": group,
            "client.id": "reader",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **configs,
        }
    )


class Polling:
    """A consumer polled by a thread, as an application does."""

    def __init__(self, made: Consumer, topic: str) -> None:
        self.consumer = made
        self.values: list[bytes] = []
        self.assignments = 0
        self._ended = threading.Event()
        made.subscribe([topic], on_assign=self._assigned)
        self._thread = threading.Thread(target=self._poll, daemon=True)

    def _assigned(self, *_: object) -> None:
        self.assignments += 1

    def _poll(self) -> None:
        while not self._ended.is_set():
            message = self.consumer.poll(0.05)
            if message is not None and message.error() is None:
                self.values.append(message.value())

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()
        self.consumer.close()


@pytest.mark.parametrize("idempotent", [False, True])
@pytest.mark.parametrize("what", [drop.after, silence.after, cut(7)])
def test_an_answer_is_lost(k: broker, what: Any, idempotent: bool) -> None:
    k.create_topic("t")
    fault = k.fault("Produce", topic="t", do=what)
    assert produced(k, "t", b"v", **{"enable.idempotence": idempotent}) == [None]
    assert fault.applied == 1
    # Only the log shows it: librdkafka reports one success in both cases.
    assert len(k.records("t")) == (1 if idempotent else 2)


@pytest.mark.parametrize("what", [drop.before, silence.before])
def test_a_request_is_lost(k: broker, what: Any) -> None:
    k.create_topic("t")
    k.fault("Produce", topic="t", do=what)
    assert produced(k) == [None]
    assert len(k.records("t")) == 1


def test_a_reset_connection_is_no_different_to_the_client(k: broker) -> None:
    from kafkalite.control.faults.rule import Action

    k.create_topic("t")
    k.fault("Produce", do=Action(drop="after", reset=True))
    assert produced(k) == [None]


def test_an_error_before_and_after_applying(k: broker) -> None:
    k.create_topic("t")
    k.fault("Produce", topic="t", do=error("TOPIC_AUTHORIZATION_FAILED"))
    (failed,) = produced(k)
    assert failed is not None
    assert failed.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    assert k.records("t") == []
    k.fault("Produce", topic="t", do=error("INVALID_REQUIRED_ACKS", apply=True))
    (failed,) = produced(k)
    assert failed is not None
    assert len(k.records("t")) == 1


def test_an_error_of_one_partition(k: broker) -> None:
    k.create_topic("t", partitions=2)
    k.fault("Produce", topic="t", partition=1, do=error("MESSAGE_TOO_LARGE"))
    told: dict[int, Any] = {}
    both = producer(k, **{"linger.ms": 50})
    for partition in (0, 1):
        both.produce(
            "t",
            b"v",
            partition=partition,
            on_delivery=lambda failed, message: told.update({message.partition(): failed}),
        )
    both.flush(10)
    assert told[0] is None
    assert told[1].code() == KafkaError.MSG_SIZE_TOO_LARGE
    assert [record.partition for record in k.records("t")] == [0]


def test_an_error_of_a_partition_of_a_fetch_session(k: broker) -> None:
    k.create_topic("t", partitions=2)
    with Polling(consumer(k), "t") as reader:
        k.wait.group("g", members=1, assigned=True)
        k.produce("t", "first", partition=1)
        deadline = time.monotonic() + 10
        while not reader.values and time.monotonic() < deadline:
            time.sleep(0.01)
        fault = k.fault(
            "Fetch", topic="t", partition=1, times=2, do=error("NOT_LEADER_OR_FOLLOWER")
        )
        k.wait.fault(fault, 2)
        k.produce("t", "second", partition=1)
        while len(reader.values) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert reader.values == [b"first", b"second"]


def test_a_delay_is_waited_for(k: broker) -> None:
    k.create_topic("t")
    produced(k)
    k.fault("Produce", do=delay("300ms"))
    began = time.monotonic()
    assert produced(k) == [None]
    assert 0.3 <= time.monotonic() - began < 3


def test_what_is_held_waits_for_its_release(k: broker) -> None:
    k.create_topic("t")
    fault = k.fault("Produce", do=hold)
    waiting = producer(k)
    waiting.produce("t", b"v")
    k.wait.held(fault)
    assert k.records("t") == []
    assert fault.release() == 1
    waiting.flush(10)
    assert len(k.records("t")) == 1


def test_metadata_may_lie_once(k: broker) -> None:
    k.create_topic("t")
    nobody_leads = {
        "topics.*.partitions.*.leader_id": -1,
        "topics.*.partitions.*.error_code": 5,
    }
    k.fault("Metadata", topic="t", do=patch(nobody_leads))
    assert produced(k) == [None]
    assert len(k.records("t")) == 1


def test_a_batch_comes_damaged_and_is_whole_in_the_log(k: broker) -> None:
    k.create_topic("t")
    k.produce("t", "v" * 100)
    k.fault("Fetch", topic="t", do=corrupt("crc"))
    with_check = consumer(k, **{"check.crcs": True})
    with_check.assign([TopicPartition("t", 0, 0)])
    errors = []
    for _ in range(100):
        message = with_check.poll(0.1)
        if message is None:
            continue
        if message.error() is None:
            assert message.value() == b"v" * 100
            break
        errors.append(message.error().code())
    else:
        pytest.fail("the record never came")
    with_check.close()
    assert len(k.records("t")) == 1


def test_a_batch_is_written_twice(k: broker) -> None:
    k.create_topic("t")
    k.fault("Produce", topic="t", do=repeat(2))
    assert produced(k, "t", b"a", b"b", **{"enable.idempotence": True}) == [None, None]
    assert [record.value for record in k.records("t")] == ["a", "a", "b"]


def test_a_client_is_throttled(k: broker) -> None:
    k.create_topic("t")
    told: list[int] = []
    with_throttling = producer(k, throttle_cb=lambda event: told.append(event.throttle_time))
    k.fault("Produce", client_id="app", do=throttle("400ms"))
    with_throttling.produce("t", b"v")
    with_throttling.flush(10)
    with_throttling.poll(0.2)
    assert told
    assert 0.3 < told[0] <= 0.4 or told[0] == 400


def test_a_verb_at_exactly_this_request(k: broker) -> None:
    k.create_topic("t")
    k.fault("Produce", skip=1, do=run("records.write", topic="t", records=[{"value": "between"}]))
    produced(k, "t", b"first", b"second")
    assert [record.value for record in k.records("t")] == ["first", "between", "second"]


def test_nothing_stands_in_the_way_without_a_rule(k: broker) -> None:
    def gate() -> object:
        return k._call(lambda: k._running._gates.fault)

    assert gate() is None
    with k.fault("EndTxn", optional=True, do=drop.after):
        assert gate() is not None
    assert gate() is None


# Time


def test_a_member_that_is_gone_is_taken_over_at_once(k: broker) -> None:
    k.create_topic("t", partitions=4)
    gone = consumer(k, **{"session.timeout.ms": 45000, "heartbeat.interval.ms": 500})
    gone.subscribe(["t"])
    while not gone.assignment():
        gone.poll(0.05)
    (first,) = k.group("g").show().members
    # A process that dies leaves its group without a word; its connections are closed by the kernel.
    k.fault("Heartbeat", member_id=first.member_id, times=None, optional=True, do=silence.before)
    k.fault("LeaveGroup", member_id=first.member_id, times=None, optional=True, do=silence.before)
    for each in k.connections():
        k.close_connection(each.connection)
    closing = threading.Thread(target=gone.close)
    closing.start()
    with Polling(consumer(k, **{"heartbeat.interval.ms": 500}), "t"):
        k.wait.group("g", members=2, timeout="20s")
        began = time.monotonic()
        done = k.clock.advance("46s")
        assert done.expired_members == [first.member_id]
        k.wait.group("g", members=1, assigned=True)
        assert time.monotonic() - began < 5
        (left,) = k.group("g").show().members
        assert left.assigned == {"t": [0, 1, 2, 3]}
    k.faults.clear()
    closing.join()


def test_members_that_live_outlive_a_week(k: broker) -> None:
    k.create_topic("t")
    with Polling(consumer(k), "t") as reader:
        k.wait.group("g", members=1, assigned=True)
        before = k.group("g").show()
        done = k.clock.advance("7d")
        assert (done.kept_members, done.expired_members) == (1, [])
        time.sleep(0.3)
        assert k.group("g").show().generation == before.generation
        assert reader.assignments == 1
        k.clock.advance("46s", members="expire")
        assert k.group("g").show().members == [] or reader.assignments == 1
        k.wait.group("g", members=1, assigned=True, timeout="20s")


# Waits


def test_what_is_missing_is_told(k: broker) -> None:
    k.create_topic("t")
    with pytest.raises(WaitTimeout, match="t has 0 of 3 records"):
        k.wait.records("t", 3, timeout="50ms")
    with pytest.raises(WaitTimeout, match="group billing does not exist"):
        k.wait.group("billing", members=1, timeout="50ms")
    with pytest.raises(WaitTimeout, match="there is no transactional id x"):
        k.wait.transaction("x", "Ongoing", timeout="50ms")
    fault = k.fault("EndTxn", optional=True, do=drop.after)
    with pytest.raises(WaitTimeout, match="no request of its API came"):
        k.wait.fault(fault, timeout="50ms")


def test_a_wait_ends_when_the_record_comes(k: broker) -> None:
    k.create_topic("t")
    later = threading.Timer(0.2, lambda: k.produce("t", "v"))
    later.start()
    waited = k.wait.records("t")
    assert 150 <= waited.took_ms < 1000
    assert waited.seen == {"records": 1}


def test_requests_are_counted_from_the_moment_of_asking(k: broker) -> None:
    k.create_topic("t")
    produced(k)
    later = threading.Timer(0.2, lambda: produced(k))
    later.start()
    waited = k.wait.request("Produce", topic="t", client_id="app")
    assert waited.seen == {"requests": 1}
    later.join()
    assert k.faults.list() == []


# State


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
