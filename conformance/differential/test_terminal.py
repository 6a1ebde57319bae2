"""The words of kafkalite's terminal, against Apache Kafka and against kafkalite.

Each word is said to both, as text and as JSON. The output and the exit code must be the same, but
for ids, ports and times.
"""

from __future__ import annotations

import io
import json
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from subprocess import PIPE
from typing import IO, Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from conformance.differential import share_requests, streams_requests
from conformance.differential.broker_side import Side
from conformance.differential.comparison import Pair, wait_for_topic
from conformance.differential.streams_requests import source
from conformance.differential.test_consumer_groups import beat, joining
from conformance.harness.process import start_process
from kafkalite.terminal.words import run
from tests.kafkalite.terminal.interruptible import INTERRUPTIBLE

__all__ = ["source"]  # the fixture

SECONDS = 60
Compare = Callable[..., str]


def plain(side: Side, printed: str) -> str:
    """Names for what differs between any two brokers."""
    port = side.broker.bootstrap.rpartition(":")[2]
    text = printed.replace(port, "PORT")
    text = re.sub(r'("topic_id": "|id        )[\w-]{22}', r"\1ID", text)
    text = re.sub(r"\b(app|rdkafka)-[0-9a-f-]{36}", r"\1-UUID", text)
    text = re.sub(r'("member": ")[\w+/-]{22}', r"\1UUID", text)
    text = re.sub(r"(127\.0\.0\.1  )[\w+/-]{22}\n", r"\1UUID\n", text)
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}", "TIME", text)
    text = re.sub(r'("timestamp": )\d{13}', r"\1TIME", text)
    return "\n".join(line.rstrip() for line in text.splitlines())


@pytest.fixture
def compare(
    pair: Pair, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Compare:
    """`compare("tail", topic)`: said to both; both printed the same, which is returned.

    `of` is the only group or topic that is compared in a list of all: sessions of other tests'
    members and transactions end at any time.
    """

    def said(side: Side, words: tuple[str, ...], given: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        capsys.readouterr()
        code = run([*words, "-b", side.broker.bootstrap])
        captured = capsys.readouterr()
        return code, plain(side, captured.out), plain(side, captured.err)

    def compare(*words: str, given: str = "", code: int = 0, of: str = "") -> str:
        seen = [said(side, words, given) for side in (pair.reference, pair.tested)]
        if of:
            seen = [(code, rows_of(of, printed), "") for code, printed, _ in seen]
        assert seen[1] == seen[0], words
        assert seen[0][0] == code, seen[0]
        return seen[0][1] or seen[0][2]

    return compare


@pytest.fixture
def ready(pair: Pair, topic: str) -> str:
    """A topic of two partitions on both."""
    pair.create_topic(topic, 2)
    for side in (pair.reference, pair.tested):
        wait_for_topic(side, topic, 2)
    return topic


def both_ways(compare: Compare, *words: str, of: str = "") -> str:
    """The text; JSON is compared, too."""
    compare(*words, "--json", of=of)
    return compare(*words, of=of)


def rows_of(name: str, printed: str) -> str:
    """The rows of a group or topic in a list of all, below the head; widths are those of the
    longest."""
    if printed.startswith("["):
        rows = json.loads(printed)
        return json.dumps([row for row in rows if name in (row.get("group"), row.get("topic"))])
    head, *lines = ([*line.split()] for line in printed.splitlines())
    return "\n".join(map(" ".join, [head, *(words for words in lines if words[0] == name)]))


def test_records(compare: Compare, ready: str) -> None:
    told = compare("produce", ready, "-p", "1", "-K", ":", "-H", "a=1", "--json", given="k:v\nx\n")
    assert '"last": 1' in told
    compare("produce", ready, "-p", "0", "-k", "key", "-Z", "-z", "gzip", given="\na\nb\n")
    assert both_ways(compare, "tail", ready, "-n", "all").count("\n") == 4
    assert "null" in both_ways(compare, "tail", ready, "-p", "0", "-n", "3")
    both_ways(compare, "tail", ready, "-p", "1", "-o", "1")
    both_ways(compare, "tail", ready, "--since", "1h")
    both_ways(compare, "tail", ready, "-o", "@1h", "-c", "2")
    assert both_ways(compare, "tail", ready, "-o", "-1").count("\n") == 1
    assert both_ways(compare, "tail", ready, "-o", "end") == ""
    assert both_ways(compare, "tail", ready, "--since", "2100-01-01") == ""
    compare("tail", ready, "-p", "7", code=1)
    compare("tail", f"{ready}x", code=1)
    compare("produce", ready, "-p", "7", given="x\n", code=1)
    assert ready in both_ways(compare, "topics", of=ready)
    assert "records   5" in both_ways(compare, "topic", "show", ready)
    compare("topic", "show", f"{ready}x", code=1)


def test_transactions_that_are_aborted_are_not_shown(
    pair: Pair, compare: Compare, ready: str
) -> None:
    for side in pair.sides:
        settings = {"bootstrap.servers": side.broker.bootstrap, "transactional.id": ready}
        producer = Producer(settings)
        producer.init_transactions(SECONDS)
        for value, is_committed in (("yes", True), ("no", False), ("no", False), ("also", True)):
            producer.begin_transaction()
            producer.produce(ready, value, partition=0)
            producer.flush()
            if is_committed:
                producer.commit_transaction(SECONDS)
            else:
                producer.abort_transaction(SECONDS)
    shown = both_ways(compare, "tail", ready, "-n", "2", "-p", "0")
    assert [line.split()[-1] for line in shown.splitlines()] == ["yes", "also"]
    uncommitted = ("-X", "isolation.level=read_uncommitted")
    assert both_ways(compare, "tail", ready, *uncommitted).count("no") == 2


@contextmanager
def running(side: Side, *words: str) -> Iterator[IO[str]]:
    """The output of a word that goes on until Ctrl-C, which ends it with 0 and not a word."""
    command = [*INTERRUPTIBLE, *words, "-b", side.broker.bootstrap]
    process = start_process(command, stdout=PIPE, stderr=PIPE, text=True)
    with process, ExitStack() as stack:
        stack.callback(process.kill)
        assert process.stdout is not None
        yield process.stdout
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_what_comes_is_followed(pair: Pair, compare: Compare, ready: str) -> None:
    compare("produce", ready, "-p", "0", given="before\n")
    seen: list[list[str]] = []
    for side in pair.sides:
        with running(side, "tail", ready, "-f", "--json") as printed:
            lines = [printed.readline()]
            producer = Producer({"bootstrap.servers": side.broker.bootstrap})
            for partition, value in ((0, "after"), (1, "last")):
                producer.produce(ready, value, partition=partition)
                producer.flush(SECONDS)
                lines.append(printed.readline())
        seen.append([plain(side, line) for line in lines])
    assert seen[1] == seen[0]
    assert [json.loads(line.replace("TIME", "0"))["value"] for line in seen[0]] == [
        *("before", "after", "last")
    ]


def test_lag_is_watched(pair: Pair, compare: Compare, ready: str, group: str) -> None:
    compare("produce", ready, "-p", "0", given="1\n2\n3\n")
    seen: list[tuple[Any, Any]] = []
    for side in pair.sides:
        committed = TopicPartition(ready, 0, 1)
        consumer = Consumer({"bootstrap.servers": side.broker.bootstrap, "group.id": group})
        consumer.commit(offsets=[committed], asynchronous=False)
        consumer.close()
        with running(side, "lag", group, "-w", "--interval", "50ms", "--json") as printed:
            first = json.loads(printed.readline())
            producer = Producer({"bootstrap.servers": side.broker.bootstrap})
            producer.produce(ready, "4", partition=0)
            producer.flush(SECONDS)
            while (later := json.loads(printed.readline())) == first:
                pass
        seen.append((first, later))
    assert seen[1] == seen[0]
    assert [each[0]["lag"] for each in seen[0]] == [2, 3]


def test_configs(compare: Compare, ready: str) -> None:
    of_topic = ("configs", "--topic", ready)
    both_ways(compare, *of_topic)
    added = "retention.ms=5000,cleanup.policy=[compact,delete]"
    assert "compact,delete" in both_ways(compare, *of_topic, "--add-config", added)
    both_ways(compare, "topic", "show", ready)
    both_ways(compare, *of_topic, "--delete-config", "retention.ms")
    both_ways(compare, *of_topic, "--all")
    compare(*of_topic, "--add-config", "retention.ms=soon", code=1)
    compare(*of_topic, "--add-config", "no.such=1", code=1)
    both_ways(compare, *of_topic, "--delete-config", "no.such")
    compare("configs", "--topic", f"{ready}x", code=1)
    interval = "consumer.heartbeat.interval.ms"
    both_ways(compare, "configs", "--group", ready, "--add-config", f"{interval}=6000")
    compare("configs", "--broker", "1", "--add-config", "log.retention.ms=soon", code=1)
    compare("configs", "--broker", "9", code=1)
    of_logger = ("configs", "--broker-logger")
    compare(*of_logger, "1", "--add-config", "no.such=DEBUG", code=1)
    compare(*of_logger, "9", code=1)


def test_acls_without_an_authorizer(compare: Compare) -> None:
    assert "has no authorizer" in compare("acls", code=1)


@pytest.fixture
def closing() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_groups(
    pair: Pair, compare: Compare, ready: str, group: str, protocol: str, closing: ExitStack
) -> None:
    compare("produce", ready, "-p", "0", given="1\n2\n3\n")
    consumers: list[Consumer] = []
    for side in pair.sides:
        consumer = Consumer(
            {
                "bootstrap.servers": side.broker.bootstrap,
                "group.id": group,
                "client.id": "app",
                "group.protocol": protocol,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        closing.callback(consumer.close)
        consumers.append(consumer)
        consumer.subscribe([ready])
        deadline = time.monotonic() + SECONDS
        while (message := consumer.poll(0.2)) is None:
            assert time.monotonic() < deadline
        assert message.error() is None
        consumer.commit(message, asynchronous=False)
    shown = both_ways(compare, "group", "show", group)
    assert "state        Stable" in shown
    assert "app" in shown
    both_ways(compare, "lag", group)
    closing.close()
    assert both_ways(compare, "lag", group).splitlines()[1].split()[2:5] == ["1", "3", "2"]
    shown = both_ways(compare, "group", "show", group)
    assert "state        Empty" in shown
    lines = [line.split() for line in both_ways(compare, "groups", of=group).splitlines()]
    assert [group, protocol, "Empty", "0", "1"] in lines
    compare("group", "show", f"{group}x", code=1)
    compare("lag", f"{group}x", code=1)


def test_a_state_that_librdkafka_has_no_name_for(
    pair: Pair, compare: Compare, ready: str, group: str
) -> None:
    for member_id in ("m-1", "m-2"):
        beat(pair, group, **joining(ready, member_id=member_id))
    assert re.search(r"(?m)^state +Reconciling$", both_ways(compare, "group", "show", group))
    shown = both_ways(compare, "groups", "--state", "reconciling", of=group)
    assert [group, "consumer", "Reconciling", "2", "1"] in map(str.split, shown.splitlines())
    for member_id in ("m-1", "m-2"):
        beat(pair, group, member_id=member_id, member_epoch=-1)


def test_share_groups(pair: Pair, compare: Compare, ready: str, group: str) -> None:
    share_requests.produce(pair, ready, 3)
    share_requests.configure(pair, group, **{"share.auto.offset.reset": "earliest"})
    share_requests.beat(pair, group, subscribed_topic_names=[ready])
    share_requests.until_ready(pair, group, ready, 2)
    share_requests.beat(pair, group, subscribed_topic_names=[ready])
    member = share_requests.Member(pair, group, ready)
    member.fetch()
    member.fetch((0, 0, share_requests.ACCEPT))
    shown = both_ways(compare, "group", "show", group)
    assert "type         share" in shown
    assert f"{ready}-0,{ready}-1" in shown
    lines = [line.split() for line in both_ways(compare, "groups", of=group).splitlines()]
    assert [group, "share", "Stable", "1", "1"] in lines
    assert both_ways(compare, "lag", group).splitlines()[1].split() == [ready, "0", "0", "3", "2"]
    lines = [line.split() for line in both_ways(compare, "lag", of=group).splitlines()]
    assert [group, "Stable", "1", "2", "2"] in lines
    share_requests.beat(pair, group, member_epoch=-1)
    assert "state        Empty" in both_ways(compare, "group", "show", group)
    compare("group", "show", f"{group}x", code=1)


def test_groups_of_kafka_streams(pair: Pair, compare: Compare, source: str, group: str) -> None:
    topology = streams_requests.topology(streams_requests.stateless(source))
    streams_requests.join(pair, group, "m-1", topology)
    streams_requests.beat(pair, group, member_epoch=2, **streams_requests.owning(_0=[0, 1, 2, 3]))
    compare("produce", source, "-p", "0", given="".join(map("{}\n".format, range(9))))
    streams_requests.commit(pair, group, source, 2, "m-1", version=9)
    shown = both_ways(compare, "group", "show", group)
    assert "type         streams" in shown
    assert len(re.findall(f"(?m)^{source} .* m-1$", shown)) == 4
    lines = [line.split() for line in both_ways(compare, "groups", of=group).splitlines()]
    assert [group, "streams", "Stable", "1", "1"] in lines
    assert both_ways(compare, "lag", group).splitlines()[1].split()[:5] == [
        *(source, "0", "5", "9", "4")
    ]
    assert [group, "Stable", "1", "4", "4"] in [
        line.split() for line in both_ways(compare, "lag", of=group).splitlines()
    ]
