"""A snapshot is a data directory: closed segments are links, all else are copies."""

from __future__ import annotations

import os
import tarfile
from errno import EIO, ENOSPC
from hashlib import sha256
from pathlib import Path

import pytest

from kafkalite.control.problems import Problem
from kafkalite.control.snapshot_plan import Plan, planning
from kafkalite.control.snapshots import carry_out, closed_segments, put, unfold, view
from kafkalite.log.files import FILES
from kafkalite.log.log import Log
from kafkalite.log.meta_properties import (
    MetaProperties,
    read_meta_properties,
    write_meta_properties,
)
from kafkalite.log.segment import LogSegment
from kafkalite.requests.slices import at_once
from kafkalite.testing import broker
from tests.kafkalite.control.clients import produced

CLEAN = ".kafka_cleanshutdown"


def test_a_snapshot_is_gone_back_to(k: broker) -> None:
    k.create_topic("t", partitions=2, configs={"segment.bytes": 1 << 20})
    for value in range(20):
        k.produce("t", f"{value:0300000}", partition=value % 2)
    k.group("g").seek("t", 5)
    saved = k.snapshot("seeded")
    assert 0 < saved.linked < saved.files
    k.produce("t", "more")
    k.delete_topic("t")
    for _ in range(2):
        k.restore("seeded")
        assert sorted(int((record.value or "")[-3:]) for record in k.records("t")) == list(
            range(20)
        )
        assert k.committed("g", "t", 1) == 5
        k.produce("t", "lost again")
    with k.new_cluster(from_="seeded") as c:
        assert len(c.records("t")) == 20
        assert c.bootstrap != k.bootstrap
        assert produced(c, "t", b"of its own") == [None]
        assert len(c.records("t")) == 21
    assert len(k.records("t")) == 21
    with pytest.raises(Problem, match="no snapshot 'none'"):
        k.restore("none")


@pytest.mark.parametrize(("size", "linked"), [(100_000, 0), (600_000, 3)])
def test_many_bytes_are_linked_and_not_copied(k: broker, size: int, linked: int) -> None:
    """An active segment of more than 1 MiB is rolled first: its files are linked."""
    k.create_topic("t")
    for value in range(2):
        k.produce("t", f"{value:0{size}}")
    assert k.snapshot("s").linked == linked
    k.produce("t", "more")
    k.restore("s")
    assert [(record.value or "")[-1:] for record in k.records("t")] == ["0", "1"]
    assert produced(k) == [None]


def test_a_log_that_is_offline_is_left_as_it_is(k: broker) -> None:
    """Its files are taken along, and nothing is written beside them."""
    k.create_topic("t")
    for _ in range(2):
        k.produce("t", "v" * 600_000)
    log = log_of(k)
    log.storage_error(OSError(EIO, "broken"))
    before = sorted(path.name for path in log.directory.iterdir())
    k.snapshot("s")
    assert sorted(path.name for path in log.directory.iterdir()) == before


@pytest.mark.pure
@pytest.mark.parametrize("code", [EIO, ENOSPC])
def test_a_disk_that_fails_while_a_segment_is_rolled(
    k: broker, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """One sentence says why there is no snapshot. A full disk passes, a broken one does not."""
    k.create_topic("t")
    k.create_topic("u")
    for _ in range(2):
        k.produce("t", "v" * 600_000)
    log = log_of(k)

    def failing(path: Path, *_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code), str(path))

    with monkeypatch.context() as broken:
        broken.setattr(LogSegment, "create", failing)
        with pytest.raises(Problem, match=f"no snapshot was taken: .*t-0: {os.strerror(code)}"):
            k.snapshot(f"failed-{code}")
    assert f"failed-{code}" not in [view.snapshot for view in k.snapshots()]
    assert (log.offline_reason is None) == (code == ENOSPC)
    if code == ENOSPC:
        assert produced(k, "u", b"v") == [None]
        assert k.snapshot(f"failed-{code}").linked == 3
        assert len(k.records("t")) == 2


def log_of(k: broker) -> Log:
    topic = k._running.services.topics.get("t")
    assert topic is not None
    return topic.partitions[0].log


def test_the_time_of_a_snapshot_is_gone_back_to(k: broker, tmp_path: Path) -> None:
    k.create_topic("t")
    k.clock.advance("7d")
    saved = k.snapshot("then")
    assert saved.clock_ms is not None
    assert abs(saved.clock_ms - k.clock.now_ms) < 20_000
    k.clock.reset()
    real_ms = k.clock.now_ms
    k.restore("then")
    assert abs(k.clock.now_ms - real_ms) < 60_000
    k.restore("then", clock=True)
    assert 0 <= k.clock.now_ms - saved.clock_ms < 60_000
    (written,) = k.produce("t", "v").places
    assert 0 <= k.records("t")[written.offset].timestamp - saved.clock_ms < 60_000
    # A data directory that Apache Kafka wrote does not tell.
    k.export_snapshot("then", tmp_path / "then.tar")
    assert k.import_snapshot("again", tmp_path / "then.tar").clock_ms == saved.clock_ms
    with tarfile.open(tmp_path / "then.tar") as told, tarfile.open(tmp_path / "o.tar", "w") as out:
        for member in told.getmembers():
            if not member.name.endswith("kafkalite-snapshot-time"):
                out.addfile(member, told.extractfile(member))
    assert k.import_snapshot("theirs", tmp_path / "o.tar").clock_ms is None
    with pytest.raises(Problem, match="snapshot 'theirs' does not tell its time"):
        k.restore("theirs", clock=True)


def segments(directory: Path, *bases: int) -> None:
    directory.mkdir(parents=True)
    for base in bases:
        for suffix in (".log", ".index", ".timeindex"):
            (directory / f"{base:020}{suffix}").write_text(f"{base}{suffix}")


def test_only_a_segment_that_another_follows_is_closed(tmp_path: Path) -> None:
    segments(tmp_path / "t-0", 0, 10)
    (tmp_path / "t-0" / "leader-epoch-checkpoint").write_text("0")
    closed = closed_segments([path.name for path in (tmp_path / "t-0").iterdir()])
    assert closed == {f"{0:020}{suffix}" for suffix in (".log", ".index", ".timeindex")}


def test_a_snapshot_is_unfolded_without_touching_it(tmp_path: Path) -> None:
    snapshot, directory = tmp_path / "one", tmp_path / "data"
    segments(snapshot / "t-0", 0, 10)
    (snapshot / CLEAN).write_text("{}")
    write_meta_properties(snapshot, MetaProperties("theirs", 1, "d" * 22), FILES)
    unfold(snapshot, directory, "mine")
    names = {path.relative_to(snapshot) for path in snapshot.rglob("*")}
    assert {path.relative_to(directory) for path in directory.rglob("*")} == names
    linked = directory / "t-0" / f"{0:020}.log"
    copied = directory / "t-0" / f"{10:020}.log"
    assert linked.samefile(snapshot / "t-0" / linked.name)
    assert not copied.samefile(snapshot / "t-0" / copied.name)
    copied.write_text("more")
    assert (snapshot / "t-0" / copied.name).read_text() == "10.log"
    assert view(snapshot).linked == 3
    assert read_meta_properties(directory, FILES) == MetaProperties("mine", 1, "d" * 22)
    assert read_meta_properties(snapshot, FILES) == MetaProperties("theirs", 1, "d" * 22)


def planned(broker: broker) -> Plan:
    return at_once(planning(broker._running))


async def test_what_is_written_later_is_not_in_it(broker: broker, tmp_path: Path) -> None:
    """The plan says how many bytes of each file are taken: those at the moment of asking."""
    k = broker.asynchronous
    broker.create_topic("t", configs={"segment.bytes": 1 << 20})
    for value in range(12):
        await k.produce("t", f"{value:0300000}")
    plan = planned(broker)
    await k.produce("t", "later")
    target = tmp_path / "one"
    carry_out(plan, tmp_path / "made")
    saved = put(tmp_path / "made", target)
    assert saved == view(target)
    assert 0 < saved.linked < saved.files
    taken = sum(path.stat().st_size for path in (target / "t-0").glob("*.log"))
    there = sum(path.stat().st_size for path in (broker.data_dir / "t-0").glob("*.log"))
    assert 0 < there - taken < 1000
    assert (target / CLEAN).exists()
    assert not (target / ".lock").exists()


async def test_a_snapshot_takes_the_place_of_one_of_its_name(
    broker: broker, tmp_path: Path
) -> None:
    target = tmp_path / "one"
    (target / "old-0").mkdir(parents=True)
    (tmp_path / "made" / "torn").mkdir(parents=True)  # of a try that found files gone
    broker.create_topic("t")
    carry_out(planned(broker), tmp_path / "made")
    put(tmp_path / "made", target)
    assert (target / "t-0").is_dir()
    assert not (target / "old-0").exists()
    assert not (target / "torn").exists()


def digests(directory: Path) -> dict[str, str]:
    return {
        str(path.relative_to(directory)): sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


async def test_a_snapshot_outlives_what_is_done_to_its_copies(broker: broker) -> None:
    """Closed segments are links. Nothing writes into one that is cut, compacted or recovered."""
    k = broker.asynchronous
    policies = {"plain": "delete", "compacted": "compact"}
    for name, policy in policies.items():
        configs = {"segment.bytes": 1 << 20, "cleanup.policy": policy, "delete.retention.ms": 0}
        # The cleaner leaves it to k.clean(): a copy is read before it is compacted.
        configs["min.cleanable.dirty.ratio"] = 1
        broker.create_topic(name, configs=configs)
        for value in range(8):
            await k.produce(name, f"{value:0300000}", key="k")
    assert (await k.snapshot("one")).linked > 0
    assert broker._clusters is not None
    snapshot = broker._clusters._snapshots / "one"
    before = digests(snapshot)
    await k.restore("one")
    await k.gap("plain", 1, 3)
    await k.gap("plain", 4, 5)
    await k.lose("plain", to=2)
    await k.clean()
    assert len(await k.records("compacted")) == 1
    await k.produce("plain", "more")
    await k.restart(unclean=True)
    await k.restart()
    await k.produce("plain", "more")
    await k.delete_topic("compacted")
    assert digests(snapshot) == before
    await k.restore("one")
    assert [len(await k.records(name)) for name in policies] == [8, 8]
