"""KafkaUtils, as far as it needs no Spark: its clients, its waiting, its ends."""

from __future__ import annotations

import inspect
import sys
from typing import Any

import pytest

from kafkalite.spark.testing import KafkaUtils
from kafkalite.wire.errors import KafkaError

# The methods of pyspark.sql.tests.streaming.kafka_utils.KafkaUtils (SPARK-55306), with their
# arguments.
METHODS = {
    "setup": [],
    "teardown": [],
    "create_topics": ["topic_names", "num_partitions", "replication_factor"],
    "delete_topics": ["topic_names"],
    "send_messages": ["topic", "messages"],
    "get_all_records": ["spark", "topic", "key_deserializer", "value_deserializer"],
    "assert_eventually": ["result_func", "expected", "timeout", "interval"],
    "wait_for_query_alive": ["query", "timeout", "interval"],
}


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_those_of_pysparks_helper(name: str) -> None:
    arguments = [*inspect.signature(getattr(KafkaUtils, name)).parameters]
    assert arguments[1 : 1 + len(METHODS[name])] == METHODS[name]


def test_before_and_after_there_is_nothing() -> None:
    utils = KafkaUtils("7.4.0")
    utils.teardown()
    for _ in range(2):
        assert not utils.initialized
        assert utils.broker is None
        with pytest.raises(RuntimeError, match="setup"):
            utils.create_topics(["t"])
        with pytest.raises(RuntimeError, match="setup"):
            _ = utils.producer
        utils.setup()
        utils.setup()
        assert utils.initialized
        utils.teardown()
        utils.teardown()


def test_topics_and_records() -> None:
    from kafka import KafkaConsumer, TopicPartition

    with KafkaUtils(config={"auto.create.topics.enable": False}) as utils:
        utils.create_topics(["a", "b"], num_partitions=2)
        utils.create_topics(["a"])  # is there: left alone
        assert {"a", "b"} <= set(utils.admin_client.list_topics())
        utils.send_messages("a", [("key", 1), (None, "two"), ("gone", None)])
        consumer: Any = KafkaConsumer(bootstrap_servers=utils.broker, group_id=None)
        partitions = [TopicPartition("a", index) for index in range(2)]
        consumer.assign(partitions)
        consumer.seek_to_beginning()
        found: list[tuple[bytes | None, bytes | None]] = []
        while len(found) < 3:
            for records in consumer.poll(timeout_ms=1000).values():
                found += [(record.key, record.value) for record in records]
        consumer.close()
        assert set(found) == {(b"key", b"1"), (None, b"two"), (b"gone", None)}
        utils.delete_topics(["a", "never"])
        assert "a" not in utils.admin_client.list_topics()


def test_loss_and_gaps() -> None:
    with KafkaUtils() as utils:
        utils.create_topics(["t"])
        utils.send_messages("t", [(None, value) for value in range(10)])
        utils.force_data_loss("t", 0, 3)
        utils.make_gap("t", 0, 5, 8)
        utils.clean_now()
        with pytest.raises(KafkaError):
            utils.force_data_loss("t", 0, 100)
        with pytest.raises(KeyError):
            utils.make_gap("t", 1, 0, 1)


def test_waiting() -> None:
    utils = KafkaUtils()
    results = iter([1, 2, 3])
    utils.assert_eventually(lambda: next(results), 3, interval=0)
    with pytest.raises(AssertionError, match="Expected: 5, Got: 4"):
        utils.assert_eventually(lambda: 4, 5, timeout=0.01, interval=0)


class Query:
    """A StreamingQuery that is dead, idle, or at work."""

    def __init__(self, error: Exception | None = None, *, active: bool = False) -> None:
        self._error = error
        self.status = {"isDataAvailable": False, "isTriggerActive": active}

    def exception(self) -> Exception | None:
        return self._error


def test_waiting_for_a_query() -> None:
    utils = KafkaUtils()
    utils.wait_for_query_alive(Query(active=True))
    with pytest.raises(AssertionError, match="did not become active"):
        utils.wait_for_query_alive(Query(), timeout=0.01, interval=0)
    with pytest.raises(OSError, match="lost"):
        utils.wait_for_query_alive(Query(OSError("lost")))


def test_without_kafka_python_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kafka", None)
    with KafkaUtils() as utils:
        utils.create_topics(["t"])
        for use in (lambda: utils.producer, lambda: utils.send_messages("t", [("k", "v")])):
            with pytest.raises(ImportError, match=r"pip install 'kafkalite\[spark\]'"):
                use()
