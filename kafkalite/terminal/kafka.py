"""One Kafka, asked by librdkafka. Everything that it refuses is one sentence: `Refused`."""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Iterable
from concurrent.futures import Future
from functools import cached_property
from importlib import import_module
from typing import Any, Final, TypeVar

import click
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer

from kafkalite.terminal.target import Target

T = TypeVar("T")

# Its classes are not exported as type checkers want it, nor do they say what their fields hold.
library: Final[Any] = import_module("confluent_kafka.admin")

# A broker that is there says so sooner. Within the first time each address has been tried: none
# is waited for to which no connection leads.
_TRIED_SECONDS: Final = 1.0
_FIRST_ANSWER_SECONDS: Final = 4.0
_ANSWER_SECONDS: Final = 30.0
_DOWN: Final = KafkaError._ALL_BROKERS_DOWN  # pyright: ignore[reportPrivateUsage]
_WHERE: Final = re.compile(r"^(\[thrd:[^]]*\]: )?\S+?/(bootstrap|\d+): | \(after .*\)$")
# librdkafka says what goes wrong in its log, too.
_quiet: Final = logging.getLogger("kafkalite.terminal.librdkafka")


class Refused(click.ClickException):
    """Something does not exist, or Kafka refuses; the message says why."""

    exit_code = 1


class Kafka:
    """Clients of one Kafka, made when they are needed."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._problems: list[KafkaError] = []

    @cached_property
    def admin(self) -> Any:
        """The AdminClient, which has been answered once. Raises Refused."""
        client = self._made(library.AdminClient, {})
        for seconds in (_TRIED_SECONDS, _FIRST_ANSWER_SECONDS):
            try:
                client.list_topics(timeout=seconds)
                return client
            except KafkaException as error:
                unreachable = error
            client.poll(0)
            if any(each.code() == _DOWN for each in self._problems):
                break
        raise self._unreachable(unreachable) from None

    def metadata(self) -> Any:
        """Brokers and topics. No topic is created. Raises Refused."""
        try:
            return self.admin.list_topics(timeout=_ANSWER_SECONDS)
        except KafkaException as error:
            raise self._unreachable(error) from None

    def topic_names(self) -> list[str]:
        """The names of all topics. Raises Refused."""
        return sorted(self.metadata().topics)

    def partitions_of(self, topic: str) -> list[int]:
        """The partitions of a topic. Raises Refused if there is none of the name."""
        topics = self.metadata().topics
        if topic not in topics:
            raise not_there("topic", topic, topics, "kafkalite topics")
        return sorted(topics[topic].partitions)

    def consumer(self, **settings: Any) -> Consumer:
        """A consumer of partitions that it is told. Raises Refused if Kafka does not answer."""
        _ = self.admin
        own = {
            "group.id": "kafkalite-terminal",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 100,
        }
        consumer: Consumer = self._made(Consumer, own | settings)
        return consumer

    def producer(self, **settings: Any) -> Producer:
        """A producer. Raises Refused if Kafka does not answer."""
        _ = self.admin
        producer: Producer = self._made(Producer, {"enable.idempotence": True, **settings})
        return producer

    def _made(self, client: type[Any], own: dict[str, Any]) -> Any:
        settings: dict[str, Any] = {
            "client.id": "kafkalite-terminal",
            "error_cb": self._note,
            **own,
            **self.target.settings,
            "bootstrap.servers": self.target.bootstrap,
        }
        if "debug" not in settings:
            settings["logger"] = _quiet
            _quiet.propagate = False
            _quiet.addHandler(logging.NullHandler())
        try:
            return client(settings)
        except KafkaException as error:
            raise click.UsageError(f"-X or -F: {error.args[0].str()}") from None

    def _note(self, error: KafkaError) -> None:
        self._problems.append(error)

    def _unreachable(self, error: KafkaException) -> Refused:
        said = [each.str() for each in self._problems if each.code() != _DOWN]
        reason = _WHERE.sub("", said[-1] if said else error.args[0].str())
        return Refused(
            f"no Kafka answers at {self.target.bootstrap}: {_WHERE.sub('', reason)} "
            "(-b HOST:PORT names another)"
        )


def answered(future: Future[T], what: str) -> T:
    """The result of an answer that is under way. Raises Refused, which says `what` it is about."""
    try:
        return future.result(_ANSWER_SECONDS)
    except KafkaException as error:
        raise refused(error.args[0], what) from None
    except TimeoutError:
        raise Refused(f"{what}: no answer within {_ANSWER_SECONDS:g} s") from None


def refused(error: KafkaError, what: str) -> Refused:
    """The refusal that an error of Kafka's is."""
    name, text = error.name(), error.str().removeprefix("Broker: ")
    return Refused(f"{what}: {text} ({name})")


def not_there(kind: str, name: str, known: Iterable[str], lister: str) -> Refused:
    """There is nothing of this name; perhaps there is something of a similar one."""
    similar = difflib.get_close_matches(name, list(known), n=1)
    hint = f"did you mean {similar[0]!r}?" if similar else f"{lister} lists what there is"
    return Refused(f"there is no {kind} {name!r} ({hint})")
