"""Each fault twice: by kafkalite's rule, and by a proxy in front of Apache Kafka. Clients see the
same.

A client produces a record before the fault, one into it, and one after it; or it reads three. Told
are each delivery (offset or error) and what the log has in the end. Faults of disks, verbs at a
request and holds are no matter of the wire: a proxy cannot do them.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from conformance.harness.apache_kafka import ApacheKafka
from conformance.harness.broker import Broker
from conformance.harness.jars import JarsMissing
from conformance.harness.java import JavaMissing
from conformance.harness.kafkalite import Kafkalite
from conformance.kit.faulting_proxy import FaultingProxy, WireFault
from conformance.kit.twice_clients import (
    PATIENCE_SECONDS,
    AioKafkaClients,
    JavaClients,
    Outcome,
    Producing,
    Reading,
    kafka_python,
    librdkafka,
    read_by_kafka_python,
    read_by_librdkafka,
)
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


@pytest.fixture(scope="module")
def java() -> Iterator[JavaClients]:
    try:
        clients = JavaClients()
    except (JarsMissing, JavaMissing) as missing:
        pytest.skip(f"left out: {missing}")
    yield clients
    clients.close()


@pytest.fixture(scope="module")
def aiokafka() -> Iterator[AioKafkaClients]:
    clients = AioKafkaClients()
    yield clients
    clients.close()


Named = Callable[[str], Any]


@pytest.fixture
def named(request: pytest.FixtureRequest) -> Named:
    """Clients by their names; those of the JVM and of asyncio share a process, and a loop."""

    def find(name: str) -> Any:
        idempotent = name.endswith(", idempotent")
        match name.removesuffix(", idempotent"):
            case "librdkafka":
                return partial(librdkafka, idempotent=idempotent)
            case "Java":
                return partial(request.getfixturevalue("java").producer, idempotent=idempotent)
            case "kafka-python":
                return kafka_python
            case "aiokafka":
                return request.getfixturevalue("aiokafka").producer
            case "librdkafka reader":
                return read_by_librdkafka
            case "kafka-python reader":
                return read_by_kafka_python
            case "aiokafka reader":
                return request.getfixturevalue("aiokafka").read
            case _:
                return request.getfixturevalue("java").read

    return find


def producing(broker: Broker, twin: Twin, client: Producing) -> Outcome:
    """The deliveries, and the log."""
    with closing(Place(broker, twin, ApiKey.PRODUCE)) as place:
        with client(place.bootstrap, place.topic) as deliver:
            before = deliver("before")
            place.arm()
            told = [before, deliver("into"), deliver("after")]
        assert place.was_done
        return {"deliveries": told, "log": place.log()}


def reading(broker: Broker, twin: Twin, client: Reading) -> Outcome:
    """The values and errors of a reader."""
    with closing(Place(broker, twin, ApiKey.FETCH)) as place:
        producer = Producer({"bootstrap.servers": broker.bootstrap})
        for value in ("one", "two", "three"):
            producer.produce(place.topic, value)
            producer.flush(PATIENCE_SECONDS)
        place.arm()
        seen = client(place.bootstrap, place.topic, 3)
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


PRODUCERS = (
    *("librdkafka", "librdkafka, idempotent", "kafka-python"),
    *("Java", "Java, idempotent", "aiokafka"),
)
READERS = ("librdkafka reader", "Java reader", "kafka-python reader", "aiokafka reader")


@pytest.mark.parametrize("client", PRODUCERS)
def test_a_producer_sees_the_same(
    brokers: tuple[Broker, Broker], named: Named, client: str
) -> None:
    is_idempotent = "idempotent" in client
    twins = PRODUCE if is_idempotent else (*PRODUCE, REPEAT)
    with_client = named(client)
    ours, theirs = both(brokers, twins, lambda broker, twin: producing(broker, twin, with_client))
    assert ours == theirs
    # The faults did something: these are the differences that applications meet.
    lost = ours["drop after"]["log"]
    assert lost == ["before", *["into"] * (1 if is_idempotent else 2), "after"]
    assert ours["drop before"]["log"] == ["before", "into", "after"]
    assert ours["INVALID_RECORD"]["log"] == ["before", "after"]


@pytest.mark.parametrize("client", READERS)
def test_a_consumer_sees_the_same(
    brokers: tuple[Broker, Broker], named: Named, client: str
) -> None:
    with_client = named(client)
    ours, theirs = both(brokers, FETCH, lambda broker, twin: reading(broker, twin, with_client))
    assert ours == theirs
    assert ours["drop after"]["values"] == ["one", "two", "three"]
