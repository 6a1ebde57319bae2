"""The pytest fixtures that the package brings."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import kafkalite

TESTS = """
import asyncio
from urllib.request import urlopen
import pytest
import trio
from kafkalite.faults import drop
from kafkalite.testing import broker


def test_a_cluster_of_its_own(kafkalite):
    assert kafkalite.topics() == []
    kafkalite.create_topic("t")
    kafkalite.produce("t", "v")
    assert [record.value for record in kafkalite.records("t", 1)] == ["v"]


def test_and_another_one(kafkalite, kafkalite_session):
    assert kafkalite.topics() == []
    assert b"kafkalite" in urlopen(kafkalite_session.ui_url).read()


@pytest.mark.kafkalite(nodes=3, config={"num.partitions": 7}, clock="frozen",
                       seed={"topics": [{"name": "orders", "records": [{"value": "1"}]}]})
def test_the_marker(kafkalite):
    assert len(kafkalite.nodes()) == 3
    assert kafkalite.clock.show().frozen
    assert len(kafkalite.topic("orders").partitions) == 7


def test_several(kafkalite_factory):
    a, b = kafkalite_factory(nodes=2), kafkalite_factory()
    assert a.bootstrap != b.bootstrap
    assert len(a.nodes()) == 2


ADDRESSES = set()


@pytest.mark.parametrize("turn", [1, 2, 3])
def test_reset(kafkalite_reset, turn):
    assert kafkalite_reset.topics() == []
    kafkalite_reset.create_topic("t")
    ADDRESSES.add(kafkalite_reset.bootstrap)
    assert len(ADDRESSES) == 1


def test_never_applied(kafkalite):
    kafkalite.fault("EndTxn", transactional_id="billing-*", do=drop.after)


def test_in_trio(kafkalite_broker, kafkalite):
    async def main():
        kafkalite_broker.create_topic("t")
        await kafkalite.asynchronous.create_topic("t")
        with trio.fail_after(10):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(kafkalite.asynchronous.wait.records, "t")
                await trio.sleep(0.05)
                await kafkalite.asynchronous.produce("t", "v")
        async with broker() as own:
            own.create_topic("t")
            assert (await own.asynchronous.topic("t")).name == "t"
            assert own.topic("t").name == "t"
            with pytest.raises(RuntimeError, match="asynchronous"):
                own.wait.records("t", timeout="1s")

    trio.run(main)


def test_in_asyncio(kafkalite):
    async def main():
        kafkalite.create_topic("t")
        waiting = asyncio.create_task(kafkalite.asynchronous.wait.records("t"))
        await kafkalite.asynchronous.produce("t", "v")
        assert (await waiting).met
        async with broker() as own:
            own.create_topic("t")
            assert (await own.asynchronous.topic("t")).name == "t"

    asyncio.run(main())


def test_entered_twice():
    twice = broker()
    for _ in range(2):
        with twice as b:
            assert b.topics() == []
            b.create_topic("t")
            directory = b.data_dir
        assert not directory.exists()
"""


def outcome(tmp_path: Path, tests: str, *options: str) -> subprocess.CompletedProcess[str]:
    """A run of pytest of its own over these tests."""
    (tmp_path / "test_it.py").write_text(tests)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error"]
    environment = os.environ | {"PYTHONPATH": str(Path(kafkalite.__file__).parent.parent)}
    return subprocess.run(
        [*command, *options, str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
        check=False,
    )


@pytest.mark.slow
def test_what_they_do(tmp_path: Path) -> None:
    """The address of each broker's page is printed once, past the capture of output."""
    done = outcome(tmp_path, TESTS, "--kafkalite-ui")
    addresses = re.findall(r"(?m)^kafkalite: see it at (http://127.0.0.1:\S+)$", done.stdout)
    assert len(set(addresses)) == len(addresses) == 2
    assert "11 passed, 1 error" in done.stdout, done.stdout + done.stderr
    assert "fault fault-1 was never applied: no request of its API came" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("fixture", ["kafkalite", "kafkalite_broker"])
@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ("node=3", "node"),
        ("3, {'num.partitions': 7}", "kafkalite(3, {'num.partitions': 7}): the marker takes names"),
    ],
)
def test_a_marker_that_says_nothing_is_a_mistake(
    tmp_path: Path, fixture: str, fields: str, told: str
) -> None:
    tests = f"import pytest\n\n@pytest.mark.kafkalite({fields})\ndef test_it({fixture}): pass\n"
    done = outcome(tmp_path, tests)
    assert told in done.stdout
    if fixture == "kafkalite" and "=" in fields:
        assert "the marker has nodes, config" in done.stdout
    assert done.returncode != 0


@pytest.mark.slow
def test_the_fixtures_of_the_package(tmp_path: Path) -> None:
    """In a pytest of its own, as a user would run it: the entry point alone brings the plugin."""
    (tmp_path / "test_it.py").write_text(
        "import socket\n"
        "def test_one(kafkalite_broker, kafkalite_broker_session):\n"
        "    kafkalite_broker.create_topic('words')\n"
        "    assert kafkalite_broker.bootstrap != kafkalite_broker_session.bootstrap\n"
        "    host, _, port = kafkalite_broker_session.bootstrap.rpartition(':')\n"
        "    socket.create_connection((host, int(port))).close()\n"
        "def test_two(kafkalite_broker):\n"
        "    kafkalite_broker.create_topic('words')\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error"]
    environment = os.environ | {"PYTHONPATH": str(Path(kafkalite.__file__).parent.parent)}
    done = subprocess.run(
        [*command, str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
        check=False,
    )
    assert "2 passed" in done.stdout, done.stdout + done.stderr
    assert "see it at" not in done.stdout


def test_importing_the_plugin_is_cheap() -> None:
    code = "import sys, kafkalite.pytest_plugin; print('trio' in sys.modules)"
    environment = os.environ | {"PYTHONPATH": str(Path(kafkalite.__file__).parent.parent)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stdout.strip() == "False"


FAILING = """
import pytest
from kafkalite.faults import drop


def test_that_fails(kafkalite):
    kafkalite.create_topic("orders")
    kafkalite.fault("EndTxn", id="never", do=drop.after)
    kafkalite.produce("orders", "kept")
    assert False


@pytest.mark.kafkalite(spy="off")
def test_another(kafkalite, kafkalite_factory):
    kafkalite_factory().create_topic("elsewhere")
    assert kafkalite.ask("spy.show").mode == "off"
    assert False


def test_a_fault_that_never_came(kafkalite_broker):
    kafkalite_broker.fault("EndTxn", id="idle", do=drop.after)


def test_reset(kafkalite_reset):
    kafkalite_reset.create_topic("gone")
    assert False


def test_well(kafkalite):
    kafkalite.create_topic("quiet")
    assert kafkalite.ask("spy.show").mode == "on"
"""


@pytest.mark.slow
def test_a_failure_tells_what_happened_and_keeps_it(tmp_path: Path) -> None:
    """Section, trace and data for each cluster of a test that failed, and for no other."""
    done = outcome(tmp_path, FAILING, "--kafkalite-traces", "kept")
    assert "3 failed, 2 passed, 2 errors" in done.stdout.replace("\n", " ")
    section = done.stdout.partition("kafkalite, the last of it:")[2]
    assert "topic.created topic=orders" in section
    assert "fault never was never applied" in section
    assert "topic.created topic=elsewhere" in done.stdout
    assert "fault idle was never applied" in done.stdout
    assert "topic.created topic=gone" in done.stdout
    assert "quiet" not in done.stdout
    kept = sorted(path.name for path in (tmp_path / "kept").iterdir())
    assert [name.partition("test_it.py_")[2] for name in kept] == [
        "test_a_fault_that_never_came-kafkalite_broker",
        "test_another-kafkalite",
        "test_another-t-3",
        "test_reset-kafkalite_reset",
        "test_that_fails-kafkalite",
    ]
    for directory in (tmp_path / "kept").iterdir():
        assert zipfile.is_zipfile(directory / "trace.zip")
        assert tarfile.is_tarfile(directory / "data.tar")


STRICT = """
def test_idle(kafkalite):
    kafkalite.create_topic("orders", configs={"preallocate": True})


def test_plain(kafkalite):
    kafkalite.create_topic("orders", configs={"retention.ms": 5000})
"""


@pytest.mark.slow
def test_strict_means_no_config_without_effect(tmp_path: Path) -> None:
    assert "2 passed" in outcome(tmp_path, STRICT).stdout
    done = outcome(tmp_path, STRICT, "--kafkalite-strict")
    assert "2 passed, 1 error" in done.stdout.replace("\n", " ")
    assert "preallocate=true of topic orders: it is kept and shown" in done.stdout


SEEDED = """
import pytest


@pytest.mark.parametrize("turn", [1, 2])
def test_ids(kafkalite, kafkalite_factory, kafkalite_reset, kafkalite_broker, turn):
    a, b = kafkalite_factory(), kafkalite_factory(config={"num.partitions": 2})
    all_of_them = (kafkalite, a, b, kafkalite_reset, kafkalite_broker)
    for each in all_of_them:
        each.create_topic("t")
    ids = [each.ask("topics.show", topic="t").topic_id for each in all_of_them]
    assert len(set(ids)) == 5
    print("ids", *ids)
"""


@pytest.mark.slow
def test_a_seed_makes_the_ids_of_a_run_come_again(tmp_path: Path) -> None:
    """Each cluster of each test has ids of its own."""
    seeds = (("--kafkalite-seed", "7"), ("--kafkalite-seed", "7"), ("--kafkalite-seed", "8"), ())
    runs = [outcome(tmp_path, SEEDED, "-s", *flags).stdout for flags in seeds]
    first, again, other, of_chance = (re.findall(r"ids (.*)", said) for said in runs)
    assert len(first) == 2, runs[0]
    assert first == again
    assert not {*" ".join(first).split()} & {*" ".join([*other, *of_chance]).split()}
    # The reset cluster begins with the same ids again; all others differ from test to test.
    assert len({*" ".join(first).split()}) == 9
