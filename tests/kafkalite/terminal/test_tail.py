"""`kafkalite tail`."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import click
import pytest
from confluent_kafka import Producer

import kafkalite.testing
from kafkalite.terminal.tail import moment_ms
from tests.kafkalite.terminal.conftest import Ran, Run
from tests.kafkalite.terminal.interruptible import INTERRUPTIBLE


def values(ran: Ran) -> list[str]:
    """The values of the records, of `--json`."""
    assert ran.code == 0, ran.error
    return [json.loads(line)["value"] for line in ran.out.splitlines()]


@pytest.fixture
def now_ms() -> int:
    return round(time.time() * 1000)


def test_the_last_records_of_all_partitions_in_the_order_of_time(
    run: Run, kafka: kafkalite.testing.broker, topic: str, now_ms: int
) -> None:
    for each in range(20):
        partition = 1 if each % 5 == 0 else 0
        kafka.produce(topic, str(each), partition=partition, timestamp=now_ms - 20 + each)
    wanted = [str(each) for each in range(20)]
    assert values(run("tail", topic, "--json")) == wanted[-10:]
    assert values(run("tail", topic, "-n", "3", "--json")) == wanted[-3:]
    assert values(run("tail", topic, "-n", "0", "--json")) == []
    assert values(run("tail", topic, "-n", "all", "--json")) == wanted
    assert values(run("tail", topic, "-p", "1", "--json")) == ["0", "5", "10", "15"]
    assert values(run("tail", topic, "-p", "1", "-o", "2", "--json")) == ["10", "15"]
    assert values(run("tail", topic, "-o", "beginning", "-n", "2", "--json")) == wanted[-2:]
    line = run("tail", "-t", topic, "-n", "1").out
    assert line.startswith(str(datetime.now().year))
    assert line.endswith("  0@15  null  19\n")


def test_since_a_time(run: Run, kafka: kafkalite.testing.broker, topic: str, now_ms: int) -> None:
    for minutes in (90, 50, 10):
        kafka.produce(topic, str(minutes), timestamp=now_ms - minutes * 60_000)
    assert values(run("tail", topic, "--since", "1h", "--json")) == ["50", "10"]
    assert values(run("tail", topic, "--since", "1h", "-n", "1", "--json")) == ["10"]
    assert values(run("tail", topic, "--since", "1m", "--json")) == []
    then = datetime.fromtimestamp(now_ms / 1000 - 1800).isoformat()
    assert values(run("tail", topic, "--since", then, "--json")) == ["10"]


def test_the_words_of_kcat_kafkas_own_tools_and_rpk(
    run: Run, kafka: kafkalite.testing.broker, topic: str, now_ms: int
) -> None:
    for each in range(6):
        kafka.produce(topic, str(each), timestamp=now_ms - 60_000 * (10 - each))
    everything = [str(each) for each in range(6)]
    for word in ("beginning", "earliest", "start", "0", "-100"):
        assert values(run("tail", topic, "-J", "-o", word)) == everything
    for word in ("end", "latest", "6", "100"):
        assert values(run("tail", topic, "-J", "-o", word)) == []
    assert values(run("tail", topic, "-J", "--from-beginning")) == everything
    assert values(run("tail", topic, "-J", "-o", "-2")) == ["4", "5"]
    for word in (f"s@{now_ms - 450_000}", f"@{now_ms - 450_000}", "@450s"):
        assert values(run("tail", topic, "-J", "-o", word)) == ["3", "4", "5"]
    assert values(run("tail", topic, "-J", "--from-beginning", "-c", "2")) == ["0", "1"]
    assert values(run("tail", topic, "-J", "-n", "3", "--max-messages", "2")) == ["3", "4"]


def test_following_ends_after_so_many(
    run: Run, kafka: kafkalite.testing.broker, topic: str
) -> None:
    kafka.produce(topic, "before", count=2)
    with ThreadPoolExecutor(1) as pool:
        tail = pool.submit(run, "tail", topic, "-f", "-c", "3", "--json")
        while not tail.done():
            kafka.produce(topic, "after")
            time.sleep(0.05)
    assert values(tail.result()) == ["before", "before", "after"]


def test_offsets_without_records_are_not_counted(
    run: Run, kafka: kafkalite.testing.broker, topic: str
) -> None:
    """Markers of transactions, aborted records and gaps have offsets."""
    settings = {"bootstrap.servers": kafka.bootstrap, "transactional.id": topic}
    producer = Producer(settings)
    producer.init_transactions()
    for value, ends in (
        ("first", producer.commit_transaction),
        ("no", producer.abort_transaction),
        ("second", producer.commit_transaction),
    ):
        producer.begin_transaction()
        producer.produce(topic, value, partition=0)
        producer.flush()
        ends()
    for _ in range(20):
        producer.begin_transaction()
        producer.produce(topic, "no", partition=0)
        producer.flush()
        producer.abort_transaction()
    assert values(run("tail", topic, "-n", "2", "--json")) == ["first", "second"]
    assert values(run("tail", topic, "-n", "2", "-p", "0", "--json")) == ["first", "second"]
    uncommitted = ("-X", "isolation.level=read_uncommitted")
    assert values(run("tail", topic, "-n", "2", "--json", *uncommitted)) == ["no", "no"]


def test_a_partition_that_is_not_there(run: Run, topic: str) -> None:
    ran = run("tail", topic, "-p", "2")
    assert ran.code == 1
    assert ran.error == f"kafkalite: topic {topic!r} has no partition 2: it has 0 to 1\n"


def test_following(kafka: kafkalite.testing.broker, topic: str) -> None:
    kafka.produce(topic, "before", count=2)
    with subprocess.Popen(
        [*INTERRUPTIBLE, "tail", topic, "-n", "1", "-f", "--json", "-b", kafka.bootstrap],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as tail:
        try:
            assert tail.stdout is not None
            assert json.loads(tail.stdout.readline())["value"] == "before"
            kafka.produce(topic, "after", partition=1)
            assert json.loads(tail.stdout.readline())["value"] == "after"
            tail.send_signal(signal.SIGINT)
            assert tail.wait(30) == 0
            assert tail.stderr is not None
            assert tail.stderr.read() == b""
        finally:
            tail.kill()


def test_a_time_is_a_duration_or_a_date() -> None:
    now_ms = time.time() * 1000
    for text in ("5m", "-5m"):  # the second as the page has it
        assert moment_ms(text, "--since") == pytest.approx(now_ms - 300_000, abs=10_000)
    assert moment_ms("2026-11-22T14:05:00+00:00", "--since") == 1_795_356_300_000
    assert moment_ms("1795356300000", "--since") == 1_795_356_300_000
    with pytest.raises(click.UsageError, match="--since soon"):
        moment_ms("soon", "--since")
