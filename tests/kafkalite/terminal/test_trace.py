"""`kafkalite trace show`."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

import kafkalite.testing
from kafkalite.control.sightings import EventView
from kafkalite.faults import error
from kafkalite.terminal.trace import event_text
from tests.kafkalite.control.clients import produced
from tests.kafkalite.terminal.conftest import Run


@pytest.fixture(scope="module")
def saved(kafka: kafkalite.testing.broker, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The trace of a topic that came, a record that was refused and one that was taken."""
    path = tmp_path_factory.mktemp("trace") / "trace.zip"
    with kafka.new_cluster() as cluster:
        cluster.spy()
        cluster.create_topic("orders")
        cluster.fault("Produce", id="once", do=error("POLICY_VIOLATION"))
        produced(cluster, "orders", b"refused")
        produced(cluster, "orders", b"taken")
        cluster.trace(path)
    return path


def told(run: Run, *words: str) -> list[dict[str, Any]]:
    ran = run("trace", "show", *words, "--json")
    assert (ran.code, ran.error) == (0, "")
    return [json.loads(line) for line in ran.out.splitlines()]


def test_everything_in_the_order_of_time(run: Run, saved: Path) -> None:
    ran = run("trace", "show", str(saved))
    assert ran.code == 0
    names = [line.partition(" ")[0] for line in ran.out.splitlines()]
    assert names[:6] == ["cluster", "cluster_id", "bootstrap", "kafkalite", "spy", "faults"]
    assert "once: matched 2, applied 1" in ran.out
    lines = ran.out.splitlines()[6:]
    assert [line[:23] for line in lines] == sorted(line[:23] for line in lines)
    created = next(n for n, line in enumerate(lines) if "  topic.created  topic=orders" in line)
    refused = next(n for n, line in enumerate(lines) if "POLICY_VIOLATION  by fault once" in line)
    assert created < refused
    assert {name for each in told(run, str(saved)) for name in each} == {"request", "event"}


def test_a_choice(run: Run, saved: Path) -> None:
    sent = told(run, str(saved), "--api", "Produce")
    assert [each["request"]["error"] for each in sent] == ["POLICY_VIOLATION", None]
    assert told(run, str(saved), "--api", "Produce", "-n", "1") == sent[1:]
    assert told(run, str(saved), "--topic", "ord*", "--error", "*") == sent[:1]
    assert told(run, str(saved), "--client-id", "none") == []
    events = told(run, str(saved), "--kind", "topic.*")
    assert [each["event"]["kind"] for each in events] == ["topic.created"]
    assert len(told(run, str(saved), "--kind", "topic.*", "--api", "Produce")) == 3


def test_one_request_in_full(run: Run, saved: Path) -> None:
    [first, _] = told(run, str(saved), "--api", "Produce")
    number = str(first["request"]["seq"])
    whole = run("trace", "show", str(saved), "--request", number).json
    assert whole["seq"] == int(number)
    assert whole["request"]["topic_data"][0]["name"] == "orders"
    ran = run("trace", "show", str(saved), "--request", "99999")
    assert ran.code == 1
    assert "has no request 99999 (it has 1 to" in ran.error


def test_what_is_no_trace(run: Run, tmp_path: Path) -> None:
    """One sentence that names the file and what is wrong."""
    odd, other = tmp_path / "odd.zip", tmp_path / "other.zip"
    odd.write_text("no zip")
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("meta.json", "{}")
    for path, said in (
        (tmp_path / "gone.zip", "cannot be read: No such file or directory"),
        (odd, "is no trace of kafkalite: File is not a zip file"),
        (other, "is no trace of kafkalite: \"There is no item named 'requests.jsonl'"),
    ):
        ran = run("trace", "show", str(path))
        assert (ran.code, ran.out, ran.error.count("\n")) == (1, "", 1)
        assert f"{path} {said}" in ran.error


def test_a_choice_that_means_nothing(run: Run, saved: Path) -> None:
    ran = run("trace", "show", str(saved), "--api", "Produse")
    assert (ran.code, ran.out) == (2, "")
    assert "Produse" in ran.error


def test_an_event_cannot_steer_the_terminal() -> None:
    about: dict[str, str | int] = {"client": "a\x1b[2J", "node": 1}
    event = EventView(seq=1, at_ms=0, cluster_ms=0, kind="k", about=about, why="\x07")
    assert event_text(event).plain.endswith("  k  client=a\\x1b[2J  node=1  (\\x07)")
