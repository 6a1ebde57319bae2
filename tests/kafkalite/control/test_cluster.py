"""A cluster is reset and restarted behind the same addresses."""

from __future__ import annotations

import os
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from kafkalite.client.connecting import Client
from kafkalite.control.cluster import ControlledCluster
from kafkalite.control.problems import Problem
from kafkalite.control.questions import Nothing
from kafkalite.control.verbs import VERBS, Verb
from kafkalite.faults import drop, errno
from kafkalite.log.files import Files
from kafkalite.testing import broker
from tests.kafkalite.control.clients import Polling, consumer, produced, producer
from tests.kafkalite.processes import started


def test_a_reset_leaves_nothing_and_the_same_address(k: broker) -> None:
    before = k.describe()
    k.create_topic("t")
    produced(k, "t", b"1", b"2")
    k.fault("EndTxn", optional=True, do=drop.after)
    k.clock.advance("1h")
    old = producer(k)
    old.produce("t", b"3")
    old.flush(10)
    was = k.reset()
    assert (was.topics, was.records) == (1, 3)
    after = k.describe()
    assert (after.bootstrap, after.cluster_id) == (before.bootstrap, before.cluster_id)
    assert (k.topics(), k.groups(), k.faults.list()) == ([], [], [])
    assert abs(k.clock.show().ahead_ms) < 100
    k.create_topic("t")
    assert k.records("t") == []
    assert produced(k) == [None]
    del old


def test_a_broker_comes_back_on_its_data(k: broker) -> None:
    k.create_topic("t")
    assert produced(k, "t", b"1", b"2") == [None, None]
    for unclean in (True, False):
        k.restart(unclean=unclean)
        assert [record.value for record in k.records("t")][:2] == ["1", "2"]
        assert produced(k) == [None]
    assert len(k.records("t")) == 4


@pytest.mark.parametrize("is_durable", [False, True])
def test_temporary_data_is_synced_where_that_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, is_durable: bool
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(Files, "sync", lambda self, descriptor: synced.append(descriptor))
    config = {"log.flush.interval.messages": 1, "kafkalite.durable": str(is_durable).lower()}
    with broker(config) as b:
        for turn in range(2):
            b.create_topic("t")
            synced.clear()
            b.produce("t", "v")
            deadline = time.monotonic() + (20 if is_durable else 0.2)
            while not synced and time.monotonic() < deadline:
                time.sleep(0.01)
            assert bool(synced) == is_durable, turn
            b.reset()


def test_the_metrics_keep_their_port() -> None:
    with broker({"kafkalite.metrics.port": 0}) as b:
        url = b.metrics_url
        assert url is not None
        for turn in range(3):
            b.create_topic("t")
            b.reset()
            assert b.metrics_url == url
            with urllib.request.urlopen(url, timeout=10) as answer:
                assert b"kafkalite_info" in answer.read(), turn
        b.restart()
        assert b.metrics_url == url


@pytest.mark.slow
def test_many_resets_leave_nothing_behind() -> None:
    with broker() as b:
        for _ in range(5):
            b.reset()
        before = len(os.listdir("/proc/self/fd"))
        address = b.bootstrap
        for generation in range(40):
            b.create_topic("t")
            b.produce("t", str(generation))
            assert [record.value for record in b.records("t")] == [str(generation)]
            b.reset()
        assert b.bootstrap == address
        deadline = time.monotonic() + 10
        while len(list(b.data_dir.parent.glob("state-*"))) > 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert len(list(b.data_dir.parent.glob("state-*"))) <= 2
        assert len(os.listdir("/proc/self/fd")) <= before + 5


def test_a_reset_to_a_snapshot_begins_with_it(k: broker) -> None:
    k.create_topic("t")
    k.produce("t", "seeded", count=2)
    k.snapshot("seeded")
    k.produce("t", "later")
    k.create_topic("other")
    k.fault("EndTxn", optional=True, do=drop.after)
    k.clock.advance("1h")
    address = k.bootstrap
    for turn in range(2):
        was = k.reset(to="seeded")
        assert (was.topics, was.records) == ((2, 3) if turn == 0 else (1, 3))
        assert (k.bootstrap, [each.name for each in k.topics()]) == (address, ["t"])
        assert [record.value for record in k.records("t")] == ["seeded", "seeded"]
        assert (k.faults.list(), k.clock.show().ahead_ms // 1000) == ([], 0)
        assert produced(k) == [None]
    assert k.describe().resets >= 2
    before = k.describe()
    with pytest.raises(Problem, match="no snapshot 'gone'"):
        k.reset(to="gone")
    assert k.describe() == before


def test_a_reset_keeps_connections(k: broker) -> None:
    """The client's socket is the same before and after; its topic is another one."""
    k.create_topic("t")
    app = producer(k)
    app.produce("t", b"1")
    assert app.flush(10) == 0
    before = {each.connection for each in k.connections()}
    assert before
    for turn in range(3):
        was = k.reset(connections="keep")
        assert was.connections == len(before), turn
        assert {each.connection for each in k.connections()} == before
        assert {each.client_id for each in k.connections()} == {"app"}
        assert all(each.software.startswith("confluent-kafka-python/") for each in k.connections())
        k.create_topic("t")
        assert k.records("t") == []
        app.produce("t", b"2")
        assert app.flush(10) == 0
        assert [record.value for record in k.records("t")] == ["2"]
    assert {each.connection for each in k.connections()} >= before


@pytest.mark.slow
def test_a_consumer_goes_on_over_the_connection_that_was_kept(k: broker) -> None:
    """Its Fetch is answered, and it hears that its group is gone."""
    k.create_topic("t")
    with Polling(consumer(k), "t") as reader:
        k.wait.group("g", members=1, assigned=True)
        k.wait.request("Fetch", topic="t")
        before = {each.connection for each in k.connections()}
        assert k.reset(connections="keep").connections > 0
        assert {each.connection for each in k.connections()} & before
        k.create_topic("t")
        k.wait.group("g", members=1, assigned=True, timeout="30s")
        k.produce("t", "after")
        deadline = time.monotonic() + 20
        while not reader.values and time.monotonic() < deadline:
            time.sleep(0.01)
        assert reader.values == [b"after"]


def test_those_who_reset_restart_and_restore_at_once_take_turns(k: broker) -> None:
    k.create_topic("t")
    k.snapshot("one")
    verbs = [
        k.reset,
        k.restart,
        partial(k.restart, unclean=True),
        partial(k.restore, "one"),
        partial(k.reset, to="one", connections="keep"),
        partial(k.snapshot, "two"),
    ]
    with ThreadPoolExecutor(12) as pool:
        done = [pool.submit(verb) for verb in verbs * 4]
        with suppress(Problem):  # it may have been reset meanwhile
            k.produce("t", "1")
        for each in done:
            each.result(30)
    k.restore("one")
    assert produced(k) == [None]
    assert len(k.records("t")) == 1


def test_nodes_that_go_and_come_back_amid_resets_keep_their_addresses() -> None:
    """Only "not up" and "not stopped" are answers to those who come too late."""
    with broker(nodes=3) as k:
        addresses = {each.node: each.address for each in k.nodes()}

        def changed(verb: Callable[[], object]) -> str:
            try:
                verb()
            except (KeyError, Problem) as error:
                return str(error)
            return ""

        verbs = [
            k.reset,
            partial(k.stop_node, 2),
            k.restart,
            partial(k.start_node, 2),
            partial(k.restart_node, 3, "5ms"),
            partial(k.ask, "nodes.stop", node=2),
            partial(k.ask, "nodes.start", node=2),
        ]
        with ThreadPoolExecutor(7) as pool:
            done = [pool.submit(changed, verb) for verb in verbs * 12]
            said = {each.result(30) for each in done}
        too_late = ("2", "node 2 is not up", "node 3 is not up", "node 2 was not stopped")
        assert not [each for each in said if each and not each.startswith(too_late)]
        k.reset()
        assert {each.node: each.address for each in k.nodes() if each.up} == addresses


@pytest.mark.parametrize(("is_reset", "expected"), [(False, KeyError), (True, Problem)])
async def test_a_verb_whose_broker_goes_says_so(
    k: broker, monkeypatch: pytest.MonkeyPatch, is_reset: bool, expected: type[Exception]
) -> None:
    async def fail(cluster: ControlledCluster, request: Nothing) -> Nothing:
        if is_reset:
            await k.asynchronous.reset()
        raise KeyError("gone")

    monkeypatch.setitem(VERBS, "doctor", Verb("doctor", "GET", "/{cluster}/x", fail))
    with pytest.raises(expected, match=r"gone|reset or restarted meanwhile"):
        await k.asynchronous.ask("doctor")


def test_a_process_that_is_told_to_end_ends_amid_resets(tmp_path: Path) -> None:
    ready = tmp_path / "ready.json"
    flags = (
        "--data-dir",
        str(tmp_path / "data"),
        "--control-port",
        "0",
        "--ready-file",
        str(ready),
    )
    with started(*flags) as process:
        client = Client.of_ready_file(ready)

        def reset_for_ever() -> None:
            with suppress(Problem, OSError):
                while True:
                    client.reset()

        with ThreadPoolExecutor(2) as pool:
            for _ in range(2):
                pool.submit(reset_for_ever)
            time.sleep(0.3)
            process.terminate()
            assert process.wait(20) == 0
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()


def test_a_broker_that_does_not_start_again_is_told_of(k: broker) -> None:
    """Verbs say so, too, and it may be tried again once its disk works."""
    k.create_topic("t")
    disk = k.fault(disk="open", times=None, do=errno("EIO"))
    for _ in range(2):
        with pytest.raises(Problem, match="cannot open the data directory"):
            k.restart()
    for verb in ("nodes.stop", "nodes.restart"):
        with pytest.raises(Problem, match="the broker has ended"):
            k.ask(verb, node=1)
    disk.remove()
    k.restart()
    assert [topic.name for topic in k.topics()] == ["t"]
    k.ask("nodes.stop", node=1)
    k.ask("nodes.start", node=1)
