"""`kafkalite produce`."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import kafkalite.testing
from kafkalite.terminal import produce
from kafkalite.terminal.produce import lines
from tests.kafkalite.terminal.conftest import Run


def test_keys_headers_and_tombstones(run: Run, kafka: kafkalite.testing.broker, topic: str) -> None:
    ran = run(
        *("produce", topic, "-p", "1", "-K", ":", "-Z", "-H", "a=1", "-H", "b=", "--json"),
        given="k:v:w\nno key\ngone:\n",
    )
    assert ran.json == {
        "topic": topic,
        "records": 3,
        "partitions": [{"partition": 1, "first": 0, "last": 2, "records": 3}],
    }
    records = kafka.records(topic, 3)
    assert [(each.key, each.value) for each in records] == [
        ("k", "v:w"),
        (None, "no key"),
        ("gone", None),
    ]
    assert records[0].headers == {"a": "1", "b": ""}
    ran = run("produce", "-t", topic, "-p", "1", "-k", "mine", given="x")
    assert ran.lines == [
        ["PARTITION", "FIRST-OFFSET", "LAST-OFFSET", "RECORDS"],
        ["1", "3", "3", "1"],
    ]
    assert kafka.records(topic, 4)[-1].key == "mine"


def test_a_file_with_another_delimiter(
    run: Run, kafka: kafkalite.testing.broker, topic: str, tmp_path: Path
) -> None:
    path = tmp_path / "records"
    path.write_bytes(b"a\nb;c;\xff")
    ran = run("produce", topic, "-l", str(path), "-D", ";", "-z", "gzip", "-p", "0")
    assert ran.code == 0
    assert [each.value for each in kafka.records(topic, 3)] == ["a\nb", "c", "/w=="]


def test_without_lines_there_are_no_records(run: Run, topic: str) -> None:
    ran = run("produce", topic)
    assert (ran.code, ran.out) == (0, "")
    assert "there were no lines" in ran.error


def test_the_broker_creates_the_topic_if_it_may(
    run: Run, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("produce", f"{topic}-new", given="x\n").code == 0
    monkeypatch.setattr(produce, "_CREATED_WITHIN_SECONDS", 0.5)
    with kafkalite.testing.broker({"auto.create.topics.enable": "false"}) as broker:
        ran = run("produce", "none", "-b", broker.bootstrap, given="x\n")
    assert ran.code == 1
    assert ran.error == "kafkalite: there is no topic 'none', and the broker creates none\n"


def test_what_the_broker_refuses_is_told(
    run: Run, kafka: kafkalite.testing.broker, topic: str
) -> None:
    ran = run("produce", topic, "-p", "2", given="x\n")
    assert ran.code == 1
    assert ran.error == f"kafkalite: topic {topic!r} has no partition 2: it has 0 to 1\n"
    kafka.create_topic(f"{topic}-compacted", configs={"cleanup.policy": "compact"})
    ran = run("produce", f"{topic}-compacted", given="no key\n")
    assert ran.code == 1
    assert "INVALID_RECORD" in ran.error
    assert "after 0 records" in ran.error


def test_pieces_between_delimiters() -> None:
    def split(data: bytes, delimiter: bytes = b"\n") -> list[bytes]:
        return list(lines(io.BufferedReader(io.BytesIO(data)), delimiter))

    assert split(b"a\nb\n") == [b"a", b"b"]
    assert split(b"a\n\nb") == [b"a", b"", b"b"]
    assert split(b"") == []
    assert split(b"x" * 70_000 + b"||y", b"||") == [b"x" * 70_000, b"y"]
    assert split(b"x" * 65_535 + b"||y", b"||") == [b"x" * 65_535, b"y"], "across two reads"
