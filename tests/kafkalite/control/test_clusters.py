"""Clusters of one process: each has ports, data and faults of its own."""

from __future__ import annotations

import tarfile
import threading
from collections.abc import AsyncGenerator
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from random import randrange
from typing import Any

import pytest
import trio

from kafkalite.client.async_kit import AsyncKit
from kafkalite.cluster.topic_creation import NewTopic
from kafkalite.config import BrokerConfig, ConfigError
from kafkalite.control.archives import packed
from kafkalite.control.cluster import ControlledCluster
from kafkalite.control.clusters import Clusters
from kafkalite.control.problems import Problem
from kafkalite.control.questions import CreateCluster
from kafkalite.faults import drop
from kafkalite.requests.slices import at_once, in_slices_of_task
from kafkalite.server.listener import StartError, bind
from kafkalite.testing import broker
from tests.kafkalite.conftest import batch
from tests.kafkalite.control.clients import produced
from tests.kafkalite.until import until


def test_clusters_know_nothing_of_each_other(k: broker) -> None:
    with k.new_cluster(nodes=3) as a, k.new_cluster() as b:
        assert len(a.bootstrap.split(",")) == 3
        a.create_topic("t")
        a.produce("t", "v")
        a.clock.freeze()
        a.fault("Produce", times=None, optional=True, do=drop.before)
        assert (b.topics(), b.faults.list()) == ([], [])
        assert not b.clock.show().frozen
        b.create_topic("t")
        assert produced(b) == [None]
        assert [len(each.records("t")) for each in (a, b)] == [1, 1]


def clusters_of(broker: broker) -> Clusters:
    found = broker._clusters
    assert found is not None
    return found


async def test_a_cluster_is_like_the_default_one_but_for_its_addresses() -> None:
    async with broker({"log.retention.ms": 5_000_000, "num.partitions": 3}) as b:
        clusters = clusters_of(b)
        made = await clusters.create(CreateCluster(configs={"num.partitions": "4"}))
        assert made.name == "t-1"
        assert made.broker.bootstrap != b.bootstrap
        assert made.broker.services.cluster.cluster_id != b.cluster_id
        config = made.broker.services.config
        assert config.integer("log.retention.ms") == 5_000_000
        assert config.integer("num.partitions") == 4
        assert [each.name for each in clusters.all()] == ["default", "t-1"]
        assert clusters.get("t-1") is made
        assert clusters.get("default") is clusters.default


OTHER_CONTROLLERS = {
    "process.roles": "broker",
    "controller.quorum.bootstrap.servers": "127.0.0.1:1",
    "controller.listener.names": "CONTROLLER",
}


@pytest.mark.parametrize("name", ["", "two\nlines", "end\n", "a/b", "-a", "x" * 101, "\u00e9"])
async def test_a_name_that_would_not_do_in_a_path_or_a_line_is_refused(
    broker: broker, name: str
) -> None:
    with pytest.raises(Problem, match=r"name is .*: it is 1 to 100 letters") as caught:
        await broker.asynchronous.ask("clusters.create", name=name)
    assert caught.value.code == "invalid_request"


async def test_a_name_is_given_once(broker: broker) -> None:
    clusters = clusters_of(broker)
    await clusters.create(CreateCluster(name="t-1"))
    assert (await clusters.create(CreateCluster())).name == "t-2"
    for name in ("t-1", "default"):
        with pytest.raises(Problem) as caught:
            await clusters.create(CreateCluster(name=name))
        assert caught.value.code == "exists"


@pytest.mark.parametrize(
    ("request_", "code", "told"),
    [
        (CreateCluster(from_="none"), "not_found", "no snapshot 'none'"),
        (CreateCluster(configs={"num.partitions": "many"}), "invalid_config", "num.partitions"),
        (CreateCluster(configs={"log.dirs": "/tmp/a"}), "invalid_config", "log.dirs"),
        (CreateCluster(configs={"kafkalite.ui": "true"}), "invalid_config", "kafkalite.ui"),
        (CreateCluster(configs=OTHER_CONTROLLERS), "invalid_config", "process.roles"),
        (CreateCluster(configs={"process.roles": "controller"}), "invalid_config", "process.roles"),
    ],
)
async def test_what_cannot_be_made_is_refused(
    broker: broker, request_: CreateCluster, code: str, told: str
) -> None:
    clusters = clusters_of(broker)
    with pytest.raises(Problem, match=told) as caught:
        await clusters.create(request_)
    assert caught.value.code == code
    assert [each.name for each in clusters.all()] == ["default"]


async def test_a_name_is_free_again_after_a_refusal(broker: broker) -> None:
    clusters = clusters_of(broker)
    for refused in ({"num.partitions": "many"}, {"listeners": broker_listener(broker)}):
        with pytest.raises(Problem):
            await clusters.create(CreateCluster(name="mine", configs=refused))
    assert (await clusters.create(CreateCluster(name="mine"))).name == "mine"


def broker_listener(broker: broker) -> str:
    """An address that is taken."""
    return f"PLAINTEXT://{broker.bootstrap}"


async def test_one_of_two_gets_the_name(broker: broker) -> None:
    clusters = clusters_of(broker)
    codes: list[str] = []

    async def create() -> None:
        try:
            codes.append((await clusters.create(CreateCluster(name="mine"))).name)
        except Problem as problem:
            codes.append(problem.code)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(create)
        nursery.start_soon(create)
    assert sorted(codes) == ["exists", "mine"]


async def test_the_end_of_a_cluster_with_very_many_logs_does_not_hold_the_loop(
    broker: broker,
) -> None:
    """The watchdog of every test would tell: to close a log with a record takes 0.2 ms."""
    clusters = clusters_of(broker)
    made = await clusters.create(CreateCluster(name="mine"))
    topics = made.broker.services.topics
    await in_slices_of_task(topics.creating(NewTopic("t", 600, 1)))
    topic = topics.get("t")
    assert topic is not None
    for partition in topic.partitions:
        partition.append(batch(b"v"))
    await clusters.delete("mine")


async def test_a_deleted_cluster_leaves_nothing(broker: broker) -> None:
    clusters = clusters_of(broker)
    made = await clusters.create(CreateCluster(name="mine"))
    root = made.root
    assert any(root.iterdir())
    await clusters.delete("mine")
    assert not root.exists()
    for name, code in (("mine", "not_found"), ("default", "conflict")):
        with pytest.raises(Problem) as caught:
            await clusters.delete(name)
        assert caught.value.code == code
    assert (await clusters.create(CreateCluster(name="mine"))).name == "mine"


async def test_snapshots_belong_to_all_clusters(broker: broker) -> None:
    clusters = clusters_of(broker)
    k: Any = broker.asynchronous
    assert await clusters.snapshots() == []
    await k.create_topic("t")
    await k.produce("t", "v")
    saved = await clusters.save(clusters.default, "one")
    assert await clusters.snapshots() == [saved]
    made = await clusters.create(CreateCluster(from_="one"))
    other = await clusters.create(CreateCluster())
    before = other.broker.services.cluster.cluster_id
    await clusters.restore(other, "one")
    assert other.broker.services.cluster.cluster_id == before
    for each in (made, other):
        topic = each.broker.services.topics.get("t")
        assert topic.partitions[0].high_watermark == 1
    ids = {each.broker.services.cluster.cluster_id for each in clusters.all()}
    assert len(ids) == 3
    await clusters.delete_snapshot("one")
    assert await clusters.snapshots() == []
    for missing in (clusters.delete_snapshot("one"), clusters.restore(other, "one")):
        with pytest.raises(Problem, match="no snapshot 'one'"):
            await missing


def test_a_snapshot_is_made_of_an_archive(k: broker, tmp_path: Path) -> None:
    k.create_topic("t", partitions=2)
    k.produce("t", "v", partition=1, count=3)
    k.group("g").seek("t", 2, 1)
    exported = k.export(tmp_path / "data.tar")
    k.reset()
    made = k.import_snapshot("brought", exported)
    assert (made.snapshot, made.linked) == ("brought", 0)
    again = k.export_snapshot("brought", tmp_path / "again.tar")
    with tarfile.open(exported) as one, tarfile.open(again) as two:
        assert sorted(one.getnames()) == sorted(two.getnames())
    k.restore("brought")
    assert [each.value for each in k.records("t", partition=1)] == ["v"] * 3
    assert k.committed("g", "t", 1) == 2
    with k.new_cluster(from_="brought") as other:
        assert len(other.records("t")) == 3
    k.ask("snapshots.delete", snapshot="brought")


@pytest.mark.parametrize("harm", ["no archive", "metadata", "another layout"])
def test_an_archive_that_no_broker_opens_is_refused(k: broker, tmp_path: Path, harm: str) -> None:
    k.create_topic("t")
    k.export(tmp_path / "data.tar")
    with tarfile.open(tmp_path / "data.tar") as archive:
        archive.extractall(tmp_path / "data", filter="data")
    if harm == "metadata":
        (log,) = (tmp_path / "data" / "__cluster_metadata-0").glob("*.log")
        log.write_bytes(bytes(100))
    elif harm == "another layout":
        (tmp_path / "data" / "meta.properties").write_text("version=9\n")
    path = tmp_path / "bad.tar"
    path.write_bytes(b"x" if harm == "no archive" else packed(tmp_path / "data"))
    with pytest.raises(Problem, match=r"this is no snapshot|no snapshot was made"):
        k.import_snapshot("bad", path)
    assert k.snapshots() == []
    assert list(k._clusters.uploads.iterdir()) == [] if k._clusters else False
    assert [each.name for each in k.topics()] == ["t"]


async def test_a_cluster_is_ready_for_the_next_who_asks_for_one_like_it(broker: broker) -> None:
    clusters = clusters_of(broker)
    alike = {"nodes": 2, "configs": {"num.partitions": "5"}}
    await clusters.create(CreateCluster(name="first", **alike))
    await until(lambda: clusters._ready._there)
    ready = clusters._ready._there
    assert ready is not None
    made = await clusters.create(CreateCluster(name="second", **alike))
    assert made is ready
    assert (made.name, len(made.broker.bootstrap.split(","))) == ("second", 2)
    assert made.broker.config.integer("num.partitions") == 5
    assert clusters.get("second") is made
    k = AsyncKit(broker._async_verb, "second")
    await k.create_topic("t")
    assert len((await k.topic("t")).partitions) == 5
    root = made.root
    await clusters.delete("second")
    assert not root.exists()


async def test_one_that_was_on_its_way_is_for_its_own_request(broker: broker) -> None:
    clusters = clusters_of(broker)
    opening, begun, held = clusters._ready._opening, threading.Event(), threading.Event()

    def later() -> Any:
        open_it: Any = opening()
        return lambda: (begun.set(), held.wait(30), open_it())[2]

    clusters._ready._opening = later
    await clusters.create(CreateCluster(as_version="3.9"))
    await until(begun.is_set)  # another one is asked for while it is being opened
    await clusters.create(CreateCluster())
    held.set()
    await until(lambda: clusters._ready._there)
    config = (await clusters.create(CreateCluster())).broker.config
    assert config.string("kafkalite.as.version") != "3.9"


@pytest.mark.parametrize(
    "other",
    [
        CreateCluster(nodes=2),
        CreateCluster(seed=7),
        CreateCluster(configs={"num.partitions": "5"}),
        CreateCluster(as_version="3.9"),
        CreateCluster(from_="one"),
    ],
)
async def test_another_one_than_is_ready_is_made(broker: broker, other: CreateCluster) -> None:
    clusters = clusters_of(broker)
    await clusters.save(broker._default, "one")
    await clusters.create(CreateCluster())
    await until(lambda: clusters._ready._there)
    ready = clusters._ready._there
    assert ready is not None
    made = await clusters.create(other)
    assert made is not ready
    # A snapshot says nothing of what is wanted next; else the one that was ready is let go.
    assert ready.root.exists() == (other.from_ is not None)


@asynccontextmanager
async def running(tmp_path: Path, configs: dict[str, str]) -> AsyncGenerator[Clusters]:
    config = BrokerConfig(
        {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(tmp_path), **configs}
    )
    default = ControlledCluster("default", config, tmp_path)
    clusters = Clusters(default, tmp_path, config)
    default.open()
    async with trio.open_nursery() as nursery:
        await nursery.start(clusters.run)
        yield clusters
        clusters.stop()


async def test_there_are_as_many_clusters_as_there_may_be(tmp_path: Path) -> None:
    async with running(tmp_path, {"kafkalite.clusters.max": "2"}) as clusters:
        for _ in range(2):
            await clusters.create(CreateCluster())
        with pytest.raises(Problem, match="there are 2 clusters already") as caught:
            await clusters.create(CreateCluster())
        assert (caught.value.code, caught.value.hint) == (
            "too_many",
            "kafkalite.clusters.max says how many there may be",
        )
        await clusters.delete("t-1")
        await clusters.create(CreateCluster())


async def test_clusters_have_the_ports_of_a_range(tmp_path: Path) -> None:
    first = free_ports(4)
    text = f"{first}-{first + 3}"
    async with running(tmp_path, {"kafkalite.clusters.ports": text}) as clusters:
        two = await clusters.create(CreateCluster(nodes=2))
        assert two.broker.bootstrap == f"127.0.0.1:{first},127.0.0.1:{first + 1}"
        at_once(two.broker.nodes.stopping(2))  # its port is still its own
        # The one that is ready gives way, if there is no other port.
        await until(lambda: clusters._ready._there)
        one = await clusters.create(CreateCluster())
        assert one.broker.bootstrap == f"127.0.0.1:{first + 2}"
        taken = f"{first}, {first + 1}, {first + 2}"
        with pytest.raises(Problem, match=f"has no 2 free ports in a row: taken are {taken}"):
            await clusters.create(CreateCluster(nodes=2))
        at_once(two.broker.nodes.starting(2))
        await clusters.delete("t-1")
        again = await clusters.create(CreateCluster(nodes=2))
        assert again.broker.bootstrap == f"127.0.0.1:{first},127.0.0.1:{first + 1}"


def free_ports(count: int) -> int:
    """The first of some in a row, below those that the system gives to whoever asks for any."""
    while True:
        first = randrange(20_000, 32_000)
        with ExitStack() as stack, suppress(StartError):
            for step in range(count):
                stack.enter_context(bind("127.0.0.1", first + step))
            return first


async def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    left = tmp_path / "clusters" / "1" / "state-1"
    left.mkdir(parents=True)
    async with running(tmp_path, {}) as clusters:
        made = await clusters.create(CreateCluster())
        await until(lambda: not left.exists())
        assert made.broker.bootstrap


def test_a_wrong_range_of_ports_is_told_at_the_start(tmp_path: Path) -> None:
    config = BrokerConfig({"kafkalite.clusters.ports": "9100"})
    with pytest.raises(ConfigError, match=r"kafkalite\.clusters\.ports=9100: write the first"):
        Clusters(ControlledCluster("default", config, tmp_path), tmp_path, config)
