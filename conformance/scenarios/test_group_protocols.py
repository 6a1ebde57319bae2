"""Groups of the consumer protocol (KIP-848), and groups that change between the two, with
librdkafka and the Java consumer: members come and go, restart one by one, and live through a killed
broker."""

import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from conformance.conftest import NewBroker
from conformance.harness.apache_kafka import java_command
from conformance.harness.broker import Broker
from conformance.harness.main_classes import MAIN_CLASSES
from conformance.harness.process import start_process
from conformance.harness.tools import run_tool
from conformance.scenarios.polling import poll_until

SECONDS = 40
# Members hear of changes with their next heartbeat, whose rhythm the broker sets: not five seconds.
QUICK = {
    "group.consumer.heartbeat.interval.ms": "200",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.assignment.interval.ms": "0",
}
GROUP = "group"
TOPIC = "topic"


@pytest.fixture
def broker(new_broker: NewBroker) -> Broker:
    started = new_broker(QUICK)
    admin = AdminClient({"bootstrap.servers": started.bootstrap})
    admin.create_topics([NewTopic(TOPIC, num_partitions=6, replication_factor=1)])[TOPIC].result()
    return started


@pytest.fixture
def join(broker: Broker) -> Iterator[Callable[..., Consumer]]:
    with ExitStack() as closing:

        def start(protocol: str, *topics: str, **options: Any) -> Consumer:
            config = {
                "bootstrap.servers": broker.bootstrap,
                "group.id": GROUP,
                "group.protocol": protocol,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "topic.metadata.refresh.interval.ms": 500,
                **{name.replace("_", "."): value for name, value in options.items()},
            }
            if protocol == "classic":
                # Not cooperative-sticky: librdkafka's keeps notes in the assignment, with which no
                # group can change to the consumer protocol.
                config["partition.assignment.strategy"] = "range"
                config["heartbeat.interval.ms"] = 200
            consumer = Consumer(config)
            closing.callback(leave, consumer)
            consumer.subscribe(list(topics) or [TOPIC])
            return consumer

        yield start


def shares(consumers: list[Consumer]) -> list[int]:
    return [len(consumer.assignment()) for consumer in consumers]


def fill(broker: Broker, count: int, first: int = 0) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for i in range(first, first + count):
        producer.produce(TOPIC, str(i))
    assert producer.flush(SECONDS) == 0


@pytest.mark.parametrize("assignor", ["uniform", "range"])
def test_members_share_the_partitions_and_inherit_them(join: Any, assignor: str) -> None:
    members = [join("consumer", group_remote_assignor=assignor)]
    poll_until(members, lambda: shares(members) == [6])
    members += [join("consumer", group_remote_assignor=assignor) for _ in range(2)]
    poll_until(members, lambda: shares(members) == [2, 2, 2])
    held = {p.partition for member in members for p in member.assignment()}
    assert held == set(range(6))
    members.pop().close()
    poll_until(members, lambda: shares(members) == [3, 3])


def test_a_group_goes_on_where_it_committed(join: Any, broker: Broker) -> None:
    fill(broker, 100)
    first = join("consumer")
    read: list[Any] = []
    while len(read) < 100:
        read += poll_until([first], lambda: bool(first.assignment()))
        if (message := first.poll(0.1)) is not None:
            read.append(message)
    first.commit(asynchronous=False)
    first.close()
    fill(broker, 5, first=100)
    second = join("consumer")
    seen = []
    deadline = time.monotonic() + SECONDS
    while len(seen) < 5 and time.monotonic() < deadline:
        if (message := second.poll(0.1)) is not None:
            seen.append(message.value())
    assert sorted(seen) == sorted(str(i).encode() for i in range(100, 105))


def test_a_pattern_is_matched_by_the_broker(join: Any, broker: Broker) -> None:
    member = join("consumer", f"^{TOPIC}.*")
    poll_until([member], lambda: shares([member]) == [6])
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    later = NewTopic(f"{TOPIC}-later", num_partitions=2, replication_factor=1)
    admin.create_topics([later])[later.topic].result()
    # Apache Kafka looks at its topics again when ten seconds have passed since it did so last.
    poll_until([member], lambda: shares([member]) == [8])


def test_a_static_member_keeps_its_partitions_over_a_restart(join: Any) -> None:
    members = [join("consumer", group_instance_id=name) for name in ("one", "two")]
    poll_until(members, lambda: shares(members) == [3, 3])
    kept = [sorted(p.partition for p in member.assignment()) for member in members]
    members[1].close()
    members[1] = join("consumer", group_instance_id="two")
    poll_until(members, lambda: shares(members) == [3, 3])
    assert [sorted(p.partition for p in member.assignment()) for member in members] == kept


def test_a_group_is_moved_to_the_other_protocol_and_back_member_by_member(
    join: Any, broker: Broker
) -> None:
    members = [join("classic"), join("classic"), join("classic")]
    poll_until(members, lambda: shares(members) == [2, 2, 2])
    for protocol, kinds in (
        ("consumer", ["consumer", "consumer", "consumer"]),
        ("classic", ["consumer", "consumer", "classic"]),
    ):
        for position, kind in enumerate(kinds):
            leave(members[position])
            members[position] = join(protocol)
            poll_until(members, lambda: shares(members) == [2, 2, 2])
            assert kind in kind_of_group(broker)


def leave(member: Consumer) -> None:
    """Close a member.

    Once in some sixty runs librdkafka's close stands still after its LeaveGroup was answered.
    """
    closing = threading.Thread(target=member.close, daemon=True)
    closing.start()
    closing.join(SECONDS)


def kind_of_group(broker: Broker) -> str:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    (group,) = (g for g in admin.list_consumer_groups().result().valid if g.group_id == GROUP)
    return str(group.type).lower()


@pytest.mark.parametrize(
    "protocols",
    [pytest.param(("consumer", "consumer"), marks=pytest.mark.long), ("consumer", "classic")],
)
def test_members_live_through_a_killed_broker(
    join: Any, broker: Broker, protocols: tuple[str, str]
) -> None:
    fill(broker, 60)
    members = [join(protocol) for protocol in protocols]
    poll_until(members, lambda: shares(members) == [3, 3])
    broker.kill()
    broker.start()
    fill(broker, 60, first=60)
    seen: set[bytes] = set()
    deadline = time.monotonic() + SECONDS
    while len(seen) < 60 and time.monotonic() < deadline:
        for member in members:
            message = member.poll(0.05)
            if message is not None and not message.error() and int(message.value()) >= 60:
                seen.add(message.value())
    assert len(seen) == 60
    assert sum(shares(members)) == 6


@pytest.mark.parametrize("protocol", [pytest.param("classic", marks=pytest.mark.long), "consumer"])
def test_java_consumers(broker: Broker, protocol: str) -> None:
    """The console consumer reads, and its group is seen from the outside."""
    arguments = [
        *("--bootstrap-server", broker.bootstrap, "--topic", TOPIC, "--group", GROUP),
        *("--from-beginning", "--command-property", f"group.protocol={protocol}"),
    ]
    if protocol == "classic":
        arguments += ["--command-property", "session.timeout.ms=6000"]
    command = java_command(MAIN_CLASSES["kafka-console-consumer"], *arguments)
    fill(broker, 30)
    with start_process(command, stdout=subprocess.PIPE, text=True) as first:
        try:
            assert first.stdout is not None
            read = sorted(int(first.stdout.readline()) for _ in range(30))
            assert read == list(range(30))
            described = run_tool(
                *("kafka-consumer-groups", "--bootstrap-server", broker.bootstrap),
                *("--describe", "--group", GROUP, "--state"),
            )
            assert "Stable" in described.output, described
        finally:
            first.terminate()
