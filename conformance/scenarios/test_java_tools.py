"""Apache Kafka's own command line tools, and with them the Java clients."""

import json
import re
from typing import Any

from confluent_kafka import Producer

from conformance.conftest import NewBroker
from conformance.harness.broker import Broker, Reached
from conformance.harness.tools import Ran, run_tool
from conformance.scenarios.conftest import CreateTopic


def ran(tool: str, broker: Reached, *arguments: str, given: str = "") -> Ran:
    """Run the tool; it must succeed."""
    result = run_tool(tool, "--bootstrap-server", broker.bootstrap, *arguments, given=given)
    assert result.status == 0, result
    assert "Exception" not in result.output + result.errors, result
    return result


def test_the_life_of_a_topic(broker: Broker, topic: str) -> None:
    topics = ("kafka-topics", broker)
    ran(*topics, "--create", "--topic", topic, "--partitions", "3", "--config", "segment.ms=60000")
    assert topic in ran(*topics, "--list").lines
    ran(*topics, "--alter", "--topic", topic, "--partitions", "5")
    described = ran(*topics, "--describe", "--topic", topic).lines
    head = dict(field.split(": ", 1) for field in described[0].split("\t") if ": " in field)
    assert (head["Topic"], head["PartitionCount"], head["ReplicationFactor"]) == (topic, "5", "1")
    assert "segment.ms=60000" in head["Configs"]
    assert len(described) == 6
    assert all("Leader: 1\tReplicas: 1\tIsr: 1" in line for line in described[1:])
    ran(*topics, "--delete", "--topic", topic)
    assert topic not in ran(*topics, "--list").lines


def test_what_kafka_topics_says_of_mistakes(broker: Broker, create_topic: CreateTopic) -> None:
    topic = create_topic()
    create = ("kafka-topics", "--bootstrap-server", broker.bootstrap, "--create", "--topic")
    again = run_tool(*create, topic)
    assert again.status == 1
    assert f"Topic '{topic}' already exists" in again.output + again.errors
    too_many = run_tool(*create, f"{topic}-2", "--replication-factor", "3")
    assert too_many.status == 1
    assert "InvalidReplicationFactorException" in too_many.output + too_many.errors


def test_console_producer_to_console_consumer(broker: Broker, create_topic: CreateTopic) -> None:
    topic = create_topic(partitions=2)
    lines = [f"h{i}:x,h:y\tkey-{i % 3}\tvalue {i} äöü" for i in range(50)]
    ran(
        *("kafka-console-producer", broker, "--topic", topic, "--compression-codec", "zstd"),
        *("--reader-property", "parse.key=true", "--reader-property", "parse.headers=true"),
        given="\n".join(lines) + "\n",
    )
    printed = ran(
        *("kafka-console-consumer", broker, "--topic", topic, "--from-beginning"),
        *("--max-messages", "50", "--timeout-ms", "20000"),
        *("--formatter-property", "print.key=true", "--formatter-property", "print.headers=true"),
    )
    assert sorted(printed.lines) == sorted(lines)


def test_offsets_are_listed(broker: Broker, create_topic: CreateTopic) -> None:
    topic = create_topic()
    ran("kafka-console-producer", broker, "--topic", topic, given="a\nb\nc\n")

    def offsets(when: str) -> list[str]:
        return ran("kafka-get-offsets", broker, "--topic", topic, "--time", when).lines

    assert offsets("latest") == [f"{topic}:0:3"]
    assert offsets("earliest") == [f"{topic}:0:0"]
    assert offsets("max-timestamp")[0] in {f"{topic}:0:{offset}" for offset in range(3)}


def test_a_group_described_reset_and_deleted(
    broker: Broker, create_topic: CreateTopic, unique: Any
) -> None:
    topic, group = create_topic(), unique("group")
    ran("kafka-console-producer", broker, "--topic", topic, given="a\nb\nc\nd\n")
    ran(
        *("kafka-console-consumer", broker, "--topic", topic, "--group", group),
        *("--from-beginning", "--max-messages", "3", "--timeout-ms", "20000"),
    )
    groups = ("kafka-consumer-groups", broker)
    assert group in ran(*groups, "--list").lines
    row = rows(ran(*groups, "--describe", "--group", group).lines)[0]
    assert (row["TOPIC"], row["CURRENT-OFFSET"], row["LOG-END-OFFSET"], row["LAG"]) == (
        *(topic, "3", "4", "1"),
    )
    state = rows(ran(*groups, "--describe", "--state", "--group", group).lines)[0]
    assert (state["STATE"], state["#MEMBERS"]) == ("Empty", "0")
    reset = ("--reset-offsets", "--to-earliest", "--all-topics", "--execute", "--group", group)
    assert rows(ran(*groups, *reset).lines)[0]["NEW-OFFSET"] == "0"
    again = ran(
        *("kafka-console-consumer", broker, "--topic", topic, "--group", group),
        *("--max-messages", "4", "--timeout-ms", "20000"),
    )
    assert again.lines == ["a", "b", "c", "d"]
    ran(*groups, "--delete", "--group", group)
    assert group not in ran(*groups, "--list").lines


def rows(lines: list[str]) -> list[dict[str, str]]:
    """A table as the tools print it, without the columns that hold spaces."""
    start = next(i for i, line in enumerate(lines) if line.startswith("GROUP"))
    names = re.sub(r"COORDINATOR \(ID\)", "COORDINATOR", lines[start]).split()
    return [
        dict(zip(names, line.replace(" (1)", "").split(), strict=False))
        for line in lines[start + 1 :]
    ]


def test_producer_and_consumer_perf_test(broker: Broker, create_topic: CreateTopic) -> None:
    topic = create_topic(partitions=3)
    produced = run_tool(
        *("kafka-producer-perf-test", "--topic", topic, "--num-records", "50000"),
        *("--record-size", "100", "--throughput", "-1", "--bootstrap-server", broker.bootstrap),
        *("--command-property", "acks=all", "--command-property", "compression.type=lz4"),
    )
    assert produced.status == 0, produced
    assert "50000 records sent" in produced.lines[-1]
    consumed = ran(
        *("kafka-consumer-perf-test", broker, "--topic", topic, "--num-records", "50000"),
        *("--timeout", "20000"),
    )
    names, values = (line.split(", ") for line in consumed.lines[-2:])
    assert dict(zip(names, values, strict=True))["data.consumed.in.nMsg"] == "50000"


def test_verifiable_producer_and_consumer(
    broker: Broker, create_topic: CreateTopic, unique: Any
) -> None:
    topic = create_topic(partitions=2)
    produced = ran("kafka-verifiable-producer", broker, "--topic", topic, "--max-messages", "1000")
    events = [json.loads(line) for line in produced.lines]
    assert sum(event["name"] == "producer_send_success" for event in events) == 1000
    consumed = ran(
        *("kafka-verifiable-consumer", broker, "--topic", topic, "--group-id", unique("group")),
        *("--max-messages", "1000", "--reset-policy", "earliest"),
    )
    events = [json.loads(line) for line in consumed.lines]
    assert sum(event["count"] for event in events if event["name"] == "records_consumed") == 1000
    assert {
        "startup_complete",
        "partitions_assigned",
        "offsets_committed",
        "shutdown_complete",
    } <= {event["name"] for event in events}


def test_configs_are_described(broker: Broker, create_topic: CreateTopic) -> None:
    topic = create_topic(**{"retention.ms": "12345"})
    described = ran("kafka-configs", broker, "--describe", "--topic", topic, "--all").output
    assert "retention.ms=12345 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:" in described
    assert "segment.bytes=1073741824 sensitive=false" in described
    own = ran("kafka-configs", broker, "--describe", "--topic", topic).output
    assert "segment.bytes" not in own


def test_the_broker_says_which_versions_it_speaks(broker: Broker) -> None:
    printed = ran("kafka-broker-api-versions", broker).output
    assert f"{broker.bootstrap} (id: 1 rack: null" in printed
    assert "Produce(0): 0 to 13 [usable: 13]" in printed
    assert "Fetch(1): 4 to 18 [usable: 18]" in printed


def test_the_files_are_apache_kafkas(new_broker: NewBroker, topic: str) -> None:
    """Its dump tool reads the segment of a running broker, and finds sound indexes when it is
    stopped."""
    broker = new_broker({"num.partitions": "1"})
    values = [letter * 3000 for letter in "abcdef"]
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for value in values:  # a batch each, so that there is something to index
        producer.produce(topic, value)
        assert producer.flush(10) == 0
    segment = broker.data_dir / f"{topic}-0" / f"{0:020d}.log"
    dumped = run_tool(
        *("kafka-dump-log", "--deep-iteration", "--print-data-log", "--files", str(segment))
    )
    assert dumped.status == 0, dumped
    assert re.findall(r"payload: (\w+)", dumped.output) == values
    assert "isvalid: true" in dumped.output
    assert "isvalid: false" not in dumped.output
    broker.stop()  # an active segment's index is only complete on disk when it is closed
    index = run_tool(
        *("kafka-dump-log", "--index-sanity-check"),
        *("--files", f"{segment.with_suffix('.index')},{segment.with_suffix('.timeindex')}"),
    )
    assert index.status == 0, index
    assert index.output.count("passed sanity check") == 2
