"""Each fault twice: by kafkalite's rule, and by a proxy in front of Apache Kafka. Clients see the
same.

A client produces a record before the fault, one into it, and one after it; or it reads three. Told
are each delivery (offset or error) and what the log has in the end. Faults of disks, verbs at a
request and holds are no matter of the wire: a proxy cannot do them.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaProducer
from kafka.errors import KafkaError as KafkaPythonError

from conformance.harness.apache_kafka import ApacheKafka
from conformance.harness.broker import Broker
from conformance.harness.kafkalite import Kafkalite
from conformance.kit.faulting_proxy import FaultingProxy, WireFault
from kafkalite.client.connecting import Client
from kafkalite.control.faults.rule import Action
from kafkalite.faults import (
    answer,
    corrupt,
    cut,
    delay,
    dribble,
    drop,
    error,
    patch,
    repeat,
    silence,
    throttle,
)
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.fetch import FetchResponse
from kafkalite.wire.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)

# An unanswered request is given up after so long; everything takes place at the same time.
REQUEST_SECONDS = 5
PATIENCE_SECONDS = 100
ODD_OFFSET = 77
AT_ONCE = 24


@dataclass(frozen=True)
class Twin:
    """One fault as kafkalite has it, and as it is on the wire."""

    name: str
    rule: Action
    wire: WireFault


def refused(code: ErrorCode) -> Callable[[ProduceRequest], ProduceResponse]:
    """The answer of a broker that takes none of a Produce."""
    return lambda request: produced(request, code, -1)


def produced(request: ProduceRequest, code: ErrorCode, offset: int) -> ProduceResponse:
    return ProduceResponse(
        [
            TopicProduceResponse(
                topic.name,
                topic.topic_id,
                [
                    PartitionProduceResponse(each.index, code, offset)
                    for each in topic.partition_data
                ],
            )
            for topic in request.topic_data
        ]
    )


def with_partitions(**fields: Any) -> Callable[[ProduceResponse], ProduceResponse]:
    """Changes fields of every partition's answer."""

    def change(body: ProduceResponse) -> ProduceResponse:
        for topic in body.responses:
            topic.partition_responses = [
                replace(each, **fields) for each in topic.partition_responses
            ]
        return body

    return change


def throttled(body: Any) -> Any:
    return replace(body, throttle_time_ms=300)


def damaged(body: Any) -> Any:
    """A Fetch's answer in which the last byte of the first batch is another."""
    for topic in body.responses:
        for partition in topic.partitions:
            if records := bytes(partition.records or b""):
                end = 12 + int.from_bytes(records[8:12], "big") - 1
                flipped = bytes((records[end] ^ 0xFF,))
                partition.records = records[:end] + flipped + records[end + 1 :]
    return body


ON_BOTH_WAYS = (
    Twin("drop before", drop.before, WireFault(drop="before")),
    Twin("drop after", drop.after, WireFault(drop="after")),
    Twin("silence before", silence.before, WireFault(silence="before")),
    Twin("silence after", silence.after, WireFault(silence="after")),
    Twin("cut", cut(7), WireFault(cut_bytes=7)),
    Twin("delay", delay("300ms"), WireFault(delay_seconds=0.3)),
    Twin("dribble", dribble(5, "10ms"), WireFault(piece_bytes=5)),
    Twin("throttle", throttle("300ms"), WireFault(change=throttled)),
)
AFTER_APPEND = ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
# An idempotent producer's own numbers would be in the second copy on the wire.
REPEAT = Twin("repeat", repeat(2), WireFault(twice=True))
PRODUCE = (
    *ON_BOTH_WAYS,
    *(
        Twin(code.name, error(code.name), WireFault(answer=refused(code)))
        for code in (
            ErrorCode.NOT_LEADER_OR_FOLLOWER,
            ErrorCode.INVALID_RECORD,
            ErrorCode.KAFKA_STORAGE_ERROR,
        )
    ),
    Twin(
        AFTER_APPEND.name,
        error(AFTER_APPEND.name, apply=True),
        WireFault(change=with_partitions(error_code=AFTER_APPEND, base_offset=-1)),
    ),
    Twin(
        "patch",
        patch({"responses.*.partition_responses.*.base_offset": ODD_OFFSET}),
        WireFault(change=with_partitions(base_offset=ODD_OFFSET)),
    ),
)
FETCH = (
    *ON_BOTH_WAYS,
    Twin("answer", answer({"session_id": 0}), WireFault(answer=lambda _: FetchResponse())),
    Twin("corrupt", corrupt("crc"), WireFault(change=damaged)),
)

Outcome = dict[str, Any]
Deliver = Callable[[str], object]


class Place:
    """A topic of one fault at one broker, and the way to it."""

    def __init__(self, broker: Broker, twin: Twin, api_key: ApiKey) -> None:
        self._broker, self._twin, self._api_key = broker, twin, api_key
        self.topic = f"twice-{uuid.uuid4().hex[:8]}"
        self._proxy: FaultingProxy | None = None
        self.bootstrap = broker.bootstrap
        if isinstance(broker, ApacheKafka):
            self._proxy = FaultingProxy(broker.bootstrap, api_key, twin.wire)
            self.bootstrap = self._proxy.bootstrap
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.create_topics([NewTopic(self.topic, 1, 1)])[self.topic].result(PATIENCE_SECONDS)

    def close(self) -> None:
        """The way to it is closed."""
        if self._proxy is not None:
            self._proxy.close()

    def arm(self) -> None:
        """The next request of the API has the fault."""
        if self._proxy is not None:
            self._proxy.arm()
            return
        ready = json.loads((Path(self._broker.directory) / "ready.json").read_text())["control"]
        client = Client(ready["url"], ready["token"])
        api = "Produce" if self._api_key is ApiKey.PRODUCE else "Fetch"
        self._fault = client.fault(api, topic=self.topic, do=self._twin.rule)

    @property
    def was_done(self) -> bool:
        """Tells whether the fault came to pass, once."""
        if self._proxy is not None:
            return self._proxy.done == 1
        return self._fault.show().applied == 1

    def log(self) -> list[str]:
        """The values in the log."""
        return read_by_librdkafka(self._broker.bootstrap, self.topic)["values"]


def read_by_librdkafka(bootstrap: str, topic: str, wanted: int | None = None) -> Outcome:
    """The values of a topic, up to its end or to the `wanted` number of them, and the errors."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "none",
            "enable.partition.eof": wanted is None,
            "check.crcs": True,
            "fetch.wait.max.ms": 100,
            "socket.timeout.ms": REQUEST_SECONDS * 1000,
        }
    )
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    values: list[str] = []
    errors: set[str] = set()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len(values) != wanted and time.monotonic() < deadline:
        message = consumer.poll(0.1)
        if message is None:
            continue
        told = message.error()
        if told is None:
            values.append((message.value() or b"").decode())
        elif told.code() == KafkaError._PARTITION_EOF:
            break
        else:
            errors.add(told.name())
    consumer.close()
    return {"values": values, "errors": errors}


@contextmanager
def librdkafka(place: Place, *, idempotent: bool) -> Generator[Deliver]:
    producer = Producer(
        {
            "bootstrap.servers": place.bootstrap,
            "enable.idempotence": idempotent,
            "linger.ms": 0,
            "socket.timeout.ms": REQUEST_SECONDS * 1000,
            "request.timeout.ms": REQUEST_SECONDS * 1000,
            "message.timeout.ms": PATIENCE_SECONDS * 1000,
        }
    )

    def deliver(value: str) -> object:
        told: list[object] = []

        def delivered(failure: KafkaError | None, message: Any) -> None:
            told.append(message.offset() if failure is None else failure.name())

        producer.produce(place.topic, value, on_delivery=delivered)
        producer.flush(PATIENCE_SECONDS)
        return told

    yield deliver


@contextmanager
def kafka_python(place: Place) -> Generator[Deliver]:
    producer = KafkaProducer(
        bootstrap_servers=place.bootstrap,
        enable_idempotence=False,
        acks="all",
        retries=20,
        request_timeout_ms=REQUEST_SECONDS * 1000,
        delivery_timeout_ms=PATIENCE_SECONDS * 1000,
    )

    def deliver(value: str) -> object:
        try:
            return producer.send(place.topic, value.encode()).get(PATIENCE_SECONDS).offset
        except KafkaPythonError as failure:
            return type(failure).__name__

    yield deliver
    producer.close()


CLIENTS: dict[str, Callable[[Place], AbstractContextManager[Deliver]]] = {
    "librdkafka": lambda place: librdkafka(place, idempotent=False),
    "librdkafka, idempotent": lambda place: librdkafka(place, idempotent=True),
    "kafka-python": kafka_python,
}


def producing(broker: Broker, twin: Twin, client: str) -> Outcome:
    """The deliveries, and the log."""
    with closing(Place(broker, twin, ApiKey.PRODUCE)) as place:
        with CLIENTS[client](place) as deliver:
            before = deliver("before")
            place.arm()
            told = [before, deliver("into it"), deliver("after")]
        assert place.was_done
        return {"deliveries": told, "log": place.log()}


def reading(broker: Broker, twin: Twin) -> Outcome:
    """The values and errors of a reader."""
    with closing(Place(broker, twin, ApiKey.FETCH)) as place:
        producer = Producer({"bootstrap.servers": broker.bootstrap})
        for value in ("one", "two", "three"):
            producer.produce(place.topic, value)
            producer.flush(PATIENCE_SECONDS)
        place.arm()
        seen = read_by_librdkafka(place.bootstrap, place.topic, 3)
        assert place.was_done
        return seen


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Broker, Broker]]:
    """Kafkalite, and Apache Kafka."""
    with ExitStack() as stack:
        ours = Kafkalite(tmp_path_factory.mktemp("ours"), {"kafkalite.control.port": "0"})
        stack.callback(ours.stop)
        theirs = ApacheKafka(tmp_path_factory.mktemp("theirs"))
        stack.callback(theirs.stop)
        yield ours, theirs


def both(
    brokers: tuple[Broker, Broker], twins: tuple[Twin, ...], tell: Callable[[Broker, Twin], Outcome]
) -> tuple[dict[str, Outcome], ...]:
    """The outcomes of every fault at either broker, all at the same time."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        told = [
            {twin.name: pool.submit(tell, broker, twin) for twin in twins} for broker in brokers
        ]
        return tuple({name: each.result() for name, each in side.items()} for side in told)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_producer_sees_the_same(brokers: tuple[Broker, Broker], client: str) -> None:
    is_idempotent = "idempotent" in client
    twins = PRODUCE if is_idempotent else (*PRODUCE, REPEAT)
    ours, theirs = both(brokers, twins, lambda broker, twin: producing(broker, twin, client))
    assert ours == theirs
    # The faults did something: these are the differences that applications meet.
    lost = ours["drop after"]["log"]
    assert lost == ["before", *["into it"] * (1 if is_idempotent else 2), "after"]
    assert ours["drop before"]["log"] == ["before", "into it", "after"]
    assert ours["INVALID_RECORD"]["log"] == ["before", "after"]


def test_a_consumer_sees_the_same(brokers: tuple[Broker, Broker]) -> None:
    ours, theirs = both(brokers, FETCH, reading)
    assert ours == theirs
    assert ours["drop after"]["values"] == ["one", "two", "three"]
