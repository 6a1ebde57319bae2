"""Metrics: scraped over real HTTP, and compared with traffic that is known to the last record."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
import urllib.request
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
import trio
from confluent_kafka import Consumer, Producer, TopicPartition
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families

import kafkalite
from kafkalite.metrics.requests import error_codes
from kafkalite.metrics.table import METRICS
from kafkalite.server.listener import StartError
from kafkalite.testing import broker as test_broker
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from kafkalite.wire.record_batch import Record, build_batch

SECONDS = 20
ON = {"kafkalite.metrics.port": 0, "offsets.topic.num.partitions": 2}

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def scrape(b: test_broker) -> Samples:
    assert b.metrics_url is not None
    with urllib.request.urlopen(b.metrics_url, timeout=SECONDS) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=")
        text = answer.read().decode()
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples[f"kafkalite_{name}", tuple(sorted(labels.items()))]


def produce(b: test_broker, topic: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": b.bootstrap})
    for number in range(count):
        producer.produce(topic, f"{number:03}", partition=0)
    assert producer.flush(SECONDS) == 0


def test_topics_groups_and_logs() -> None:
    with test_broker(ON) as b:
        b.create_topic("t", 2)
        produce(b, "t", 10)
        consumer = Consumer(
            {"bootstrap.servers": b.bootstrap, "group.id": "g", "enable.auto.commit": False}
        )
        consumer.assign([TopicPartition("t", 0, 0)])
        seen = 0
        while seen < 10:
            message = consumer.poll(SECONDS)
            assert message is not None
            seen += message.error() is None
        consumer.commit(offsets=[TopicPartition("t", 0, 7)], asynchronous=False)
        samples = scrape(b)
        size = value(samples, "log_size_bytes", topic="t", partition="0")
        assert size > 0
        assert value(samples, "log_size_bytes", topic="t", partition="1") == 0
        assert value(samples, "log_end_offset", topic="t", partition="0") == 10
        assert value(samples, "topic_received_records_total", topic="t") == 10
        assert value(samples, "topic_received_bytes_total", topic="t") == size
        assert value(samples, "topic_sent_bytes_total", topic="t") == size
        assert value(samples, "group_lag_records", group="g", topic="t", partition="0") == 3
        committed = value(samples, "group_committed_offset", group="g", topic="t", partition="0")
        assert committed == 7
        assert value(samples, "groups", type="classic", state="Empty") == 1
        assert (value(samples, "topics"), value(samples, "partitions")) == (2, 4)
        assert value(samples, "nodes", state="alive") == 1
        assert value(samples, "connections") >= 1
        consumer.close()
        b.delete_topic("t")
        assert not [key for key in scrape(b) if ("topic", "t") in key[1]]


async def test_requests_errors_and_latency(connect: Any) -> None:
    async with test_broker(ON) as b:
        b.create_topic("t")
        client = await connect(b)
        batch = memoryview(build_batch([Record(value=b"x", timestamp=1), Record(value=b"y")]))
        data = [PartitionProduceData(index=index, records=batch) for index in (0, 1)]
        for version in (9, 13):
            topic = TopicProduceData(name="t", topic_id=b.topic_id("t"), partition_data=data)
            await client.ask(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[topic]), version)
        topic = TopicProduceData(name="t", partition_data=data[:1])
        await client.send(ProduceRequest(acks=0, timeout_ms=1000, topic_data=[topic]), 9)
        topic = TopicProduceData(name="t", partition_data=data)
        await client.send(ProduceRequest(acks=0, timeout_ms=1000, topic_data=[topic]), 9)
        assert await client.is_closed()
        samples = await trio.to_thread.run_sync(scrape, b)
        assert value(samples, "requests_total", api="Produce") == 3
        error = "UNKNOWN_TOPIC_OR_PARTITION"
        assert value(samples, "request_errors_total", api="Produce", error=error) == 2
        error = "CONNECTION_CLOSED"
        assert value(samples, "request_errors_total", api="Produce", error=error) == 1
        assert value(samples, "topic_received_records_total", topic="t") == 6
        assert value(samples, "topic_received_bytes_total", topic="t") == 3 * len(batch)
        assert value(samples, "request_duration_seconds_count", api="Produce") == 3
        assert 0 < value(samples, "request_duration_seconds_sum", api="Produce") < SECONDS


async def test_long_polls_count_their_waiting(connect: Any) -> None:
    from kafkalite.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic

    async with test_broker(ON) as b:
        b.create_topic("t")
        client = await connect(b)
        partition = FetchPartition(partition=0, partition_max_bytes=1000)
        topics = [FetchTopic(topic="t", partitions=[partition])]
        await client.ask(FetchRequest(max_wait_ms=300, min_bytes=1, topics=topics), 12)
        samples = await trio.to_thread.run_sync(scrape, b)
        assert 0.3 <= value(samples, "request_duration_seconds_sum", api="Fetch") < SECONDS
        buckets = {
            dict(labels)["le"]: count
            for (name, labels), count in samples.items()
            if name == "kafkalite_request_duration_seconds_bucket" and ("api", "Fetch") in labels
        }
        assert (buckets["0.25"], buckets["+Inf"]) == (0, 1)


def test_transactions() -> None:
    with test_broker({**ON, "transaction.state.log.num.partitions": 1}) as b:
        b.create_topic("t")
        producer = Producer({"bootstrap.servers": b.bootstrap, "transactional.id": "x"})
        producer.init_transactions(SECONDS)
        for commit in (True, True, False):
            producer.begin_transaction()
            producer.produce("t", b"x")
            producer.flush(SECONDS)
            assert value(scrape(b), "transactions", state="Ongoing") == 1
            if commit:
                producer.commit_transaction(SECONDS)
            else:
                producer.abort_transaction(SECONDS)
        samples = scrape(b)
        assert value(samples, "transactions", state="CompleteAbort") == 1
        assert value(samples, "transactions_ended_total", outcome="committed") == 2
        assert value(samples, "transactions_ended_total", outcome="aborted") == 1
        assert value(samples, "longest_transaction_seconds") == 0


def test_nodes_and_replicas() -> None:
    with test_broker(ON, nodes=3) as b:
        b.create_topic("t", 3, 2)
        samples = scrape(b)
        assert value(samples, "under_replicated_partitions") == 0
        b.stop_node(2)
        b.stop_node(3)
        samples = scrape(b)
        assert value(samples, "nodes", state="fenced") == 2
        assert value(samples, "under_replicated_partitions") == 3
        assert value(samples, "offline_partitions") == 1


async def test_the_event_loop_is_watched() -> None:
    async with test_broker(ON) as b:
        await trio.sleep(0.15)
        threading.Event().wait(0.4)  # what holds up everybody
        await trio.sleep(0.15)
        samples = await trio.to_thread.run_sync(scrape, b)
        assert value(samples, "event_loop_lag_seconds_sum") >= 0.25
        assert value(samples, "event_loop_lag_seconds_count") >= 2


def test_the_table_is_what_is_told() -> None:
    """Every metric has values where there is something to tell, and nothing else is told."""
    with test_broker({**ON, "transaction.state.log.num.partitions": 1}) as b:
        b.create_topic("t")
        produce(b, "t", 1)
        consumer = Consumer({"bootstrap.servers": b.bootstrap, "group.id": "g"})
        consumer.commit(offsets=[TopicPartition("t", 0, 1)], asynchronous=False)
        consumer.assign([TopicPartition("t", 0, 0)])
        assert consumer.poll(SECONDS) is not None
        producer = Producer({"bootstrap.servers": b.bootstrap, "transactional.id": "x"})
        producer.init_transactions(SECONDS)
        consumer.close()
        told = {name for name, _ in scrape(b) if name.startswith("kafkalite_")}
        suffixes = re.compile(r"_(bucket|sum|count)$")
        names = {name if name in METRICS else suffixes.sub("", name) for name in told}
        assert names | {"kafkalite_request_errors_total"} == set(METRICS)


def test_openmetrics_heads_and_what_is_not_there() -> None:
    with test_broker(ON) as b:
        assert b.metrics_url is not None
        accept = {"Accept": "application/openmetrics-text; version=1.0.0"}
        request = urllib.request.Request(b.metrics_url, headers=accept)
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
            names = {family.name for family in openmetrics(answer.read().decode())}
        assert {"kafkalite_requests", "process_resident_memory_bytes"} <= names
        host, _, port = b.metrics_url.split("/")[2].rpartition(":")
        connection = HTTPConnection(host, int(port), timeout=SECONDS)
        for method, path, status in (
            ("HEAD", "/metrics", 200),
            ("GET", "/metrics?x=1", 200),
            ("POST", "/metrics", 405),
            ("GET", "/", 404),
        ):
            connection.request(method, path, body=b"abc" if method == "POST" else None)
            response = connection.getresponse()
            body = response.read()
            assert (response.status, bool(body)) == (status, method != "HEAD")
        connection.close()


@pytest.mark.parametrize("sent", [b"\x00\x01\x02\r\n\r\n", b"GET /" + b"x" * 20_000, b"GET / HT"])
def test_bad_http_is_answered_and_harms_nobody(sent: bytes) -> None:
    with test_broker(ON) as b:
        assert b.metrics_url is not None
        host, _, port = b.metrics_url.split("/")[2].rpartition(":")
        with socket.create_connection((host, int(port)), timeout=SECONDS) as client:
            client.sendall(sent)
            client.shutdown(socket.SHUT_WR)
            answer = client.recv(1000)
        assert answer == b"" or answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 431"))
        assert scrape(b)


def test_a_port_in_use_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with (
            pytest.raises(StartError, match=f"127.0.0.1:{port}"),
            test_broker({"kafkalite.metrics.port": port}),
        ):
            pass


def test_error_codes_are_found_wherever_they_stand() -> None:
    partitions = [PartitionProduceResponse(index=0, error_code=code) for code in (0, 3, 6)]
    response = ProduceResponse(responses=[TopicProduceResponse(partition_responses=partitions)])
    assert error_codes(response) == {3: 1, 6: 1}


def run(tmp_path: Path, *arguments: str) -> tuple[dict[str, Any], set[str], str]:
    """Start the command and stop it: its ready file, the modules it imported, its stderr."""
    ready_file = tmp_path / "ready.json"
    code = (
        "import sys, threading, os, signal, time\n"
        "from pathlib import Path\n"
        "from kafkalite.__main__ import main\n"
        "ready = []\n"
        "def stop():\n"
        "    while not Path(sys.argv[1]).exists(): time.sleep(0.01)\n"
        "    ready.append(Path(sys.argv[1]).read_text().strip())\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "threading.Thread(target=stop, daemon=True).start()\n"
        "main(['--temporary', '--port', '0', '--ready-file', *sys.argv[1:]])\n"
        "print(ready[0])\n"
        "print(' '.join(sys.modules))\n"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(kafkalite.__file__).parent.parent)}
    done = subprocess.run(
        [sys.executable, "-c", code, str(ready_file), *arguments],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
        timeout=SECONDS,
    )
    _, ready, modules = done.stdout.splitlines()
    return json.loads(ready), set(modules.split()), done.stderr


OPTIONAL = {"prometheus_client", "h11", "pythonjsonlogger", "kafkalite.metrics"}


def test_who_asks_for_nothing_pays_nothing(tmp_path: Path) -> None:
    ready, modules, errors = run(tmp_path)
    assert "metrics" not in ready
    assert not OPTIONAL & modules
    assert re.fullmatch(r"\d{4}-\d\d-\d\d [\d:,]+ INFO stopping on SIGTERM\n", errors)


def test_flags_for_machines(tmp_path: Path) -> None:
    ready, modules, errors = run(tmp_path, "--metrics-port", "0", "--log-format", "json")
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/metrics", ready["metrics"])
    assert modules >= OPTIONAL
    (line,) = errors.splitlines()
    said = json.loads(line)
    assert said.pop("timestamp").endswith("+00:00")
    assert said == {
        "level": "INFO",
        "logger": "kafkalite.__main__",
        "message": "stopping on SIGTERM",
    }
