"""Clients that meet faults of coordinators: members of groups, and producers with transactions.

Each says of what it did "done", or which error it was.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from typing import Any, Protocol

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from conformance.kit.twice_clients import PATIENCE_SECONDS, REQUEST_SECONDS, JavaClients


class Member(Protocol):
    """A consumer in a group of its own. It commits what it has read."""

    values: list[str]

    def poll(self) -> None:
        """Read on."""

    def commit(self) -> str:
        """Commit what was read; what the client says."""
        ...

    def close(self) -> None:
        """Leave."""


Joining = Callable[[str, str], Member]


class Writer(Protocol):
    """A producer that has asked for a transactional id. Each transaction commits an offset, too."""

    began: str

    def transact(self, value: str, offset: int) -> str:
        """Write a value, in a transaction; what the client says, and of an abort."""
        ...


Beginning = Callable[[str, str], Writer]


class LibrdkafkaMember:
    """librdkafka's."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.values: list[str] = []
        self._last: Any = None
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": topic,
                "client.id": topic,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "heartbeat.interval.ms": 300,
                # A member that is told it is none leaves its old self behind for so long.
                "session.timeout.ms": 8000,
                "fetch.wait.max.ms": 100,
                "socket.timeout.ms": REQUEST_SECONDS * 1000,
            }
        )
        self._consumer.subscribe([topic])
        self.close = self._consumer.close

    def poll(self) -> None:
        """Read on."""
        message = self._consumer.poll(0.1)
        if message is not None and message.error() is None:
            self.values.append((message.value() or b"").decode())
            self._last = message

    def commit(self) -> str:
        """Commit what was read; what the client says."""
        return _said(lambda: self._consumer.commit(message=self._last, asynchronous=False))


class JavaMember:
    """Kafka's own."""

    def __init__(self, java: JavaClients, bootstrap: str, topic: str) -> None:
        self.values: list[str] = []
        self._ask = java.asking("member")
        self._ask("JOIN", bootstrap, topic)

    def poll(self) -> None:
        self.values = self._ask("POLL").split(",")

    def commit(self) -> str:
        return self._ask("COMMIT")

    def close(self) -> None:
        self._ask("LEAVE")


class LibrdkafkaWriter:
    """librdkafka's."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._bootstrap, self._topic = bootstrap, topic
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "transactional.id": topic,
                "client.id": topic,
                "linger.ms": 0,
                "socket.timeout.ms": REQUEST_SECONDS * 1000,
            }
        )
        self.began = _said(lambda: self._producer.init_transactions(PATIENCE_SECONDS))

    def transact(self, value: str, offset: int) -> str:
        said = _said(lambda: self._transact(value, offset))
        if "abort" in said:
            said += ", " + _said(lambda: self._producer.abort_transaction(PATIENCE_SECONDS))
        return said

    def _transact(self, value: str, offset: int) -> None:
        self._producer.begin_transaction()
        self._producer.produce(self._topic, value)
        self._producer.flush(PATIENCE_SECONDS)  # its partition is added before the offsets are sent
        with idle(self._bootstrap, self._topic) as reader:
            group = reader.consumer_group_metadata()
        offsets = [TopicPartition(self._topic, 0, offset)]
        self._producer.send_offsets_to_transaction(offsets, group, PATIENCE_SECONDS)
        self._producer.commit_transaction(PATIENCE_SECONDS)


class JavaWriter:
    """Kafka's own."""

    def __init__(self, java: JavaClients, bootstrap: str, topic: str) -> None:
        self._topic = topic
        self._ask = java.asking("writer")
        self.began = self._ask("INIT", bootstrap, topic)

    def transact(self, value: str, offset: int) -> str:
        return self._ask("TRANSACT", self._topic, value, str(offset))


@contextmanager
def idle(bootstrap: str, group: str) -> Generator[Consumer]:
    """A consumer that is no member."""
    with closing(Consumer({"bootstrap.servers": bootstrap, "group.id": group})) as consumer:
        yield consumer


def _said(doing: Callable[[], object]) -> str:
    """Do it; what the client says: "done", or the error with what is to be done about it."""
    try:
        doing()
    except KafkaException as failure:
        told = failure.args[0]
        ways = {
            "abort": told.txn_requires_abort(),
            "retry": told.retriable(),
            "fatal": told.fatal(),
        }
        return " ".join([told.name(), *(name for name, is_so in ways.items() if is_so)])
    return "done"
