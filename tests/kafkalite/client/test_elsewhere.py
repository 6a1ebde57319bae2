"""Clusters for a run of tests in a broker elsewhere: pytest --kafkalite-url."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalite.client.connecting import Client, read_ready_file
from kafkalite.client.elsewhere import address
from tests.kafkalite.control_port import ready
from tests.kafkalite.test_pytest_plugin import outcome

__all__ = ["ready"]

TESTS = """
import asyncio
import pytest
from kafkalite.faults import drop

SEEN = set()


@pytest.mark.parametrize("turn", [1, 2])
def test_a_cluster_of_its_own(kafkalite, kafkalite_factory, turn):
    assert kafkalite.topics() == []
    kafkalite.create_topic("t")
    kafkalite.produce("t", "v")
    assert [record.value for record in kafkalite.records("t", 1)] == ["v"]
    assert kafkalite.bootstrap not in SEEN
    other = kafkalite_factory(nodes=2, config={"num.partitions": 3})
    other.create_topic("t")
    assert (len(other.nodes()), len(other.topic("t").partitions)) == (2, 3)


@pytest.mark.parametrize("turn", [1, 2])
def test_reset(kafkalite_reset, kafkalite_session, turn):
    assert kafkalite_reset.cluster != "default"
    assert kafkalite_reset.topics() == []
    kafkalite_reset.create_topic("t")
    SEEN.add(kafkalite_reset.bootstrap)
    assert len(SEEN) == 1


@pytest.mark.kafkalite(clock="frozen", seed={"topics": [{"name": "orders"}]})
def test_the_marker(kafkalite):
    assert kafkalite.clock.show().frozen
    assert [topic.name for topic in kafkalite.topics()] == ["orders"]


def test_awaited(kafkalite):
    async def main():
        await kafkalite.asynchronous.create_topic("t")
        assert (await kafkalite.asynchronous.topic("t")).name == "t"

    asyncio.run(main())


def test_never_applied(kafkalite):
    kafkalite.fault("EndTxn", do=drop.after)


def test_that_fails(kafkalite):
    kafkalite.create_topic("shown")
    assert False
"""


@pytest.mark.slow
def test_the_fixtures_are_there(ready: Path, tmp_path: Path) -> None:
    """All clusters are in the process that runs, and gone in the end; its own is as it was."""
    url, token = read_ready_file(ready)
    client = Client(url, token)
    client.create_topic("own")
    done = outcome(tmp_path, TESTS, "--kafkalite-url", f"{url}#token={token}")
    assert "1 failed, 7 passed, 1 error" in done.stdout.replace("\n", " "), (
        done.stdout + done.stderr
    )
    assert "fault fault-1 was never applied" in done.stdout
    assert "topic.created topic=shown" in done.stdout
    assert [each.name for each in client.ask("clusters.list")] == ["default"]
    assert [each.name for each in client.topics()] == ["own"]


@pytest.mark.slow
def test_where_no_broker_answers(ready: Path, tmp_path: Path) -> None:
    here, _ = read_ready_file(ready)
    tests = "def test_it(kafkalite): pass\n"
    for url, why in (
        (here, "its token is missing: set KAFKALITE_TOKEN"),
        (f"{here}#token=wrong", "token"),
        ("http://127.0.0.1:1#token=t", "Connection refused"),
        ("127.0.0.1#token=t", "is not http://HOST:PORT"),
    ):
        done = outcome(tmp_path, tests, "--kafkalite-url", url)
        [line] = [each for each in done.stdout.splitlines() if each.startswith("--kafkalite-url")]
        assert line.startswith(f"--kafkalite-url {url}: no cluster there: ")
        assert why in line


def test_the_environment_has_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKALITE_TOKEN", "t")
    assert address("http://h:1/") == ("http://h:1", "t")
    assert address("http://h:1/#token=u") == ("http://h:1", "u")
    monkeypatch.delenv("KAFKALITE_TOKEN")
    with pytest.raises(ValueError, match="token is missing"):
        address("http://h:1")
