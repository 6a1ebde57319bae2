"""Each fault twice: by kafkalite's rule, and by a proxy in front of Apache Kafka. Clients see the
same.

A client produces a record before the fault, one into it, and one after it; or it reads three. Told
are each delivery (offset or error) and what the log has in the end. Members of groups and
transactional producers meet faults of their coordinators. Faults of disks, verbs at a request and
holds are no matter of the wire: a proxy cannot do them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from kafka import KafkaProducer

from conformance.harness.apache_kafka import ApacheKafka
from conformance.harness.broker import Broker
from conformance.harness.jars import JarsMissing
from conformance.harness.java import JavaMissing
from conformance.harness.kafkalite import Kafkalite
from conformance.kit.coordinator_clients import (
    Beginning,
    JavaMember,
    JavaWriter,
    Joining,
    LibrdkafkaMember,
    LibrdkafkaWriter,
)
from conformance.kit.coordinator_twins import (
    GROUP_ERRORS,
    OF_OLDER_PRODUCERS,
    TRANSACTION_ERRORS,
    in_a_group,
    in_transactions,
    twins_of,
)
from conformance.kit.faulting_proxy import WireFault
from conformance.kit.twice_clients import (
    AioKafkaClients,
    JavaClients,
    Outcome,
    Producing,
    Reading,
    delivered,
    kafka_python,
    librdkafka,
    read_by_kafka_python,
    read_by_librdkafka,
)
from conformance.kit.twins import ON_BOTH_WAYS, Place, Twin, both
from kafkalite.faults import (
    answer,
    corrupt,
    error,
    patch,
    repeat,
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


def damaged(body: Any) -> Any:
    """A Fetch's answer in which the last byte of the first batch is another."""
    for topic in body.responses:
        for partition in topic.partitions:
            if records := bytes(partition.records or b""):
                end = 12 + int.from_bytes(records[8:12], "big") - 1
                flipped = bytes((records[end] ^ 0xFF,))
                partition.records = records[:end] + flipped + records[end + 1 :]
    return body


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
        place.write("one", "two", "three")
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


PRODUCERS = (
    *("librdkafka", "librdkafka, idempotent", "kafka-python"),
    *("Java", "Java, idempotent", "aiokafka"),
)
READERS = ("librdkafka reader", "Java reader", "kafka-python reader", "aiokafka reader")


def writing_to_two(broker: Broker, twin: Twin) -> Outcome:
    """The deliveries and the logs of two partitions, which kafka-python asks for in one request."""
    with closing(Place(broker, twin, ApiKey.PRODUCE, partitions=2)) as place:
        place.arm(partition=1)
        producer = KafkaProducer(
            bootstrap_servers=place.bootstrap, enable_idempotence=False, linger_ms=500, retries=20
        )
        sent = [producer.send(place.topic, b"v", partition=each) for each in (0, 1)]
        told = [delivered(each) for each in sent]
        producer.close()
        assert place.was_done
        return {"deliveries": told, "logs": [place.log(partition) for partition in (0, 1)]}


def failing_second(code: ErrorCode) -> Callable[[ProduceResponse], ProduceResponse]:
    """Has the answer say an error of partition 1 alone."""

    def change(body: ProduceResponse) -> ProduceResponse:
        for topic in body.responses:
            topic.partition_responses = [
                replace(each, error_code=code, base_offset=-1) if each.index == 1 else each
                for each in topic.partition_responses
            ]
        return body

    return change


OF_ONE = tuple(
    Twin(
        code.name,
        error(code.name, apply=True),
        WireFault(change=failing_second(code)),
    )
    for code in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.INVALID_RECORD)
)


def test_an_error_of_one_partition_of_two(brokers: tuple[Broker, Broker]) -> None:
    ours, theirs = both(brokers, {twin.name: partial(writing_to_two, twin=twin) for twin in OF_ONE})
    assert ours == theirs
    assert ours["INVALID_RECORD"]["deliveries"] == [0, "InvalidRecordError"]
    assert ours["NOT_LEADER_OR_FOLLOWER"]["logs"] == [["v"], ["v", "v"]]


@pytest.mark.parametrize("client", PRODUCERS)
def test_a_producer_sees_the_same(
    brokers: tuple[Broker, Broker], named: Named, client: str
) -> None:
    is_idempotent = "idempotent" in client
    twins = PRODUCE if is_idempotent else (*PRODUCE, REPEAT)
    with_client = named(client)
    ours, theirs = both(
        brokers, {twin.name: partial(producing, twin=twin, client=with_client) for twin in twins}
    )
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
    ours, theirs = both(
        brokers, {twin.name: partial(reading, twin=twin, client=with_client) for twin in FETCH}
    )
    assert ours == theirs
    assert ours["drop after"]["values"] == ["one", "two", "three"]


def joining(request: pytest.FixtureRequest, client: str) -> Joining:
    if client == "Java":
        return partial(JavaMember, request.getfixturevalue("java"))
    return LibrdkafkaMember


def beginning(request: pytest.FixtureRequest, client: str) -> Beginning:
    if client == "Java":
        return partial(JavaWriter, request.getfixturevalue("java"))
    return LibrdkafkaWriter


@pytest.mark.parametrize("client", ["librdkafka", "Java"])
def test_a_member_of_a_group_sees_the_same(
    brokers: tuple[Broker, Broker], request: pytest.FixtureRequest, client: str
) -> None:
    join = joining(request, client)
    ours, theirs = both(
        brokers,
        {
            name: partial(in_a_group, api_key=api_key, twin=twin, join=join)
            for name, (api_key, twin) in twins_of(GROUP_ERRORS).items()
        },
    )
    assert ours == theirs
    assert all(each["values"] == ["one", "two", "three"] for each in ours.values())
    assert ours["OFFSET_COMMIT, OFFSET_METADATA_TOO_LARGE"]["told"][1] != "done"
    assert {each["committed"] for each in ours.values()} == {3}


@pytest.mark.parametrize("client", ["librdkafka", "Java"])
def test_a_transactional_producer_sees_the_same(
    brokers: tuple[Broker, Broker], request: pytest.FixtureRequest, client: str
) -> None:
    begin = beginning(request, client)
    ours, theirs = both(
        brokers,
        {
            name: partial(in_transactions, api_key=api_key, twin=twin, begin=begin)
            for name, (api_key, twin) in twins_of(TRANSACTION_ERRORS).items()
            if client != "Java" or api_key not in OF_OLDER_PRODUCERS
        },
    )
    assert ours == theirs
    assert ours["END_TXN, silence after"]["values"] == ["before", "into", "after"]
    assert "into" not in ours["TXN_OFFSET_COMMIT, UNKNOWN_MEMBER_ID"]["values"]
