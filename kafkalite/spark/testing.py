"""`KafkaUtils`: the methods of PySpark's own Kafka test helper, without Docker.

    class MyTest(ReusedSQLTestCase):
        @classmethod
        def setUpClass(cls):
            super().setUpClass()
            cls.kafka_utils = KafkaUtils()
            cls.kafka_utils.setup()

PySpark tests its Kafka connector with a class of this name
(`pyspark.sql.tests.streaming.kafka_utils`, SPARK-55306), which starts a container. Names, arguments
and behaviour here are the same, so a change of the import is all it takes; the broker is kafkalite
in a thread. What a container cannot do is added: `force_data_loss`, `make_gap` and `clean_now`.

`producer`, `admin_client` and `send_messages` need kafka-python, as there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from kafkalite.control.problems import Problem
from kafkalite.testing import broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ANSWER_SECONDS = 10
_CLIENT_MILLISECONDS = 1000 * _ANSWER_SECONDS


class KafkaUtils:
    """A broker for Spark tests. `setup` and `teardown`, or a `with` statement, start and stop it.

    Attributes:
        broker: the bootstrap address while it runs, else None.
        initialized: whether it runs.
    """

    def __init__(
        self, kafka_version: str | None = None, config: Mapping[str, object] | None = None
    ) -> None:
        """
        Args:
            kafka_version: of PySpark's helper, where it chooses an image; means nothing here.
            config: the broker's configs, by Kafka's names.
        """
        self.broker: str | None = None
        self._config = dict(config or {})
        self._running: broker | None = None
        self._producer: Any = None
        self._admin_client: Any = None

    @property
    def initialized(self) -> bool:
        return self._running is not None

    def setup(self) -> None:
        """Start the broker, unless it runs. Raises StartError, ConfigError."""
        if self._running is None:
            self._running = broker(self._config).__enter__()
            self.broker = self._running.bootstrap

    def teardown(self) -> None:
        """Stop the broker and its clients; may be called again."""
        clients, self._producer, self._admin_client = (
            (self._producer, self._admin_client),
            None,
            None,
        )
        running, self._running = self._running, None
        self.broker = None
        try:
            for client in clients:
                if client is not None:
                    client.close()
        finally:
            if running is not None:
                running.__exit__(None, None, None)

    def __enter__(self) -> Self:
        self.setup()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.teardown()

    def _assert_initialized(self) -> broker:
        if self._running is None:
            raise RuntimeError("KafkaUtils has not been initialized. Call setup() first.")
        return self._running

    # -- topics and records

    def create_topics(
        self,
        topic_names: Sequence[str],
        num_partitions: int = 1,
        replication_factor: int = 1,
        configs: Mapping[str, object] | None = None,
    ) -> None:
        """Create topics; one that exists is left as it is. Raises Problem."""
        running = self._assert_initialized()
        for name in topic_names:
            try:
                running.create_topic(name, num_partitions, replication_factor, configs)
            except Problem as problem:
                if problem.code != "exists":
                    raise

    def delete_topics(self, topic_names: Sequence[str]) -> None:
        """Delete topics; one that does not exist is none to delete."""
        running = self._assert_initialized()
        for name in topic_names:
            try:
                running.delete_topic(name)
            except Problem as problem:
                if problem.code != "not_found":
                    raise

    def send_messages(self, topic: str, messages: Sequence[tuple[Any, Any]]) -> None:
        """Send (key, value) pairs, as text (None stays null), and wait until all are
        acknowledged."""
        producer = self.producer
        futures = [producer.send(topic, key=key, value=value) for key, value in messages]
        producer.flush()
        for future in futures:
            future.get(timeout=_ANSWER_SECONDS)

    def get_all_records(
        self,
        spark: SparkSession,
        topic: str,
        key_deserializer: str = "STRING",
        value_deserializer: str = "STRING",
    ) -> list[tuple[Any, Any]]:
        """All (key, value) pairs of a topic, sorted, read by Spark's Kafka connector.

        The deserializers are SQL types that key and value are cast to.
        """
        self._assert_initialized()
        rows = (
            spark.read.format("kafka")
            .option("kafka.bootstrap.servers", str(self.broker))
            .option("subscribe", topic)
            .option("startingOffsets", "earliest")
            .option("endingOffsets", "latest")
            .load()
            .selectExpr(
                f"CAST(key AS {key_deserializer}) AS key",
                f"CAST(value AS {value_deserializer}) AS value",
            )
            .collect()
        )
        # PySpark's helper fails on nulls beside other values; here they come first.
        pairs = [(row["key"], row["value"]) for row in rows]
        return sorted(pairs, key=lambda pair: [(cell is not None, cell) for cell in pair])

    # -- waiting

    def assert_eventually(
        self,
        result_func: Callable[[], Any],
        expected: Any,
        timeout: float = 60,
        interval: float = 1.0,
    ) -> None:
        """Ask until `result_func()` equals `expected`; AssertionError after `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while (result := result_func()) != expected:
            if time.monotonic() >= deadline:
                raise AssertionError(
                    f"Condition not met within {timeout}s. Expected: {expected}, Got: {result}"
                )
            time.sleep(interval)

    def wait_for_query_alive(self, query: Any, timeout: float = 60, interval: float = 1.0) -> None:
        """Wait until a streaming query is at work; raises its exception, or AssertionError."""
        deadline = time.monotonic() + timeout
        while True:
            error = query.exception()
            if error is not None:
                raise error
            status = query.status
            if status["isDataAvailable"] or status["isTriggerActive"]:
                return
            if time.monotonic() >= deadline:
                raise AssertionError(f"Query did not become active within {timeout}s.")
            time.sleep(interval)

    # -- clients

    @property
    def producer(self) -> Any:
        """A `kafka.KafkaProducer` that sends anything as text."""
        self._assert_initialized()
        if self._producer is None:
            serializer = _text_serializer()
            self._producer = _kafka_python("kafka").KafkaProducer(
                bootstrap_servers=self.broker,
                key_serializer=serializer,
                value_serializer=serializer,
                request_timeout_ms=_CLIENT_MILLISECONDS,
                max_block_ms=_CLIENT_MILLISECONDS,
                # kafka-python waits this long for a batch to fill up: a test sends few.
                linger_ms=0,
            )
        return self._producer

    @property
    def admin_client(self) -> Any:
        """A `kafka.admin.KafkaAdminClient`."""
        self._assert_initialized()
        if self._admin_client is None:
            self._admin_client = _kafka_python("kafka.admin").KafkaAdminClient(
                bootstrap_servers=self.broker, request_timeout_ms=_CLIENT_MILLISECONDS
            )
        return self._admin_client

    # -- what a container cannot do

    def force_data_loss(self, topic: str, partition: int, to_offset: int) -> None:
        """Lose the records before `to_offset` (-1: all there are), as retention would, at once.

        A query whose checkpoint lies before `to_offset` meets data loss in its next batch.
        Raises KeyError for a partition that does not exist, KafkaError beyond its end.
        """
        self._assert_initialized().force_data_loss(topic, partition, to_offset)

    def make_gap(self, topic: str, partition: int, first_offset: int, end_offset: int) -> None:
        """Take the records [first_offset, end_offset) out, as compaction would: offsets stay.

        Raises KeyError for a partition that does not exist, KafkaError where it has no such
        records.
        """
        self._assert_initialized().make_gap(topic, partition, first_offset, end_offset)

    def clean_now(self) -> None:
        """Apply retention and compaction to all that is written so far, without waiting."""
        self._assert_initialized().clean_now()


def _kafka_python(module: str) -> Any:
    """A module of kafka-python. Raises ImportError with the extra that brings it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise ImportError(
            "KafkaUtils needs kafka-python for this: pip install 'kafkalite[spark]'"
        ) from error


def _text_serializer() -> Any:
    """Anything as text, null as null."""

    def serialize(_: object, *arguments: object) -> bytes | None:
        value = arguments[-1]  # behind the topic and, since kafka-python 3, the headers
        return None if value is None else str(value).encode()

    base = _kafka_python("kafka.serializer").Serializer
    return type("TextSerializer", (base,), {"serialize": serialize})()
