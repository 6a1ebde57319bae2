"""Snapshots are exported as data directories, and nothing is left of one that is not taken."""

from __future__ import annotations

import tarfile
import time
from pathlib import Path

import pytest
import trio

from kafkalite.control import kept_snapshots, snapshots
from kafkalite.control.kept_snapshots import KeptSnapshots
from kafkalite.control.problems import Problem
from kafkalite.control.snapshot_plan import Plan
from kafkalite.testing import broker


def test_an_export_is_a_data_directory_of_its_own(k: broker, tmp_path: Path) -> None:
    k.create_topic("t")
    k.produce("t", "v", count=3)
    archive = k.export(tmp_path / "data.tar")
    assert k.snapshots() == []
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path / "data", filter="data")
    with broker(data_dir=tmp_path / "data") as other:
        assert len(other.records("t", 3)) == 3


def test_an_export_that_is_too_large_is_refused(
    k: broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_snapshots, "MOST_EXPORTED_BYTES", 10)
    with pytest.raises(Problem, match="an export may have 0 MiB"):
        k.export(tmp_path / "data.tar")
    assert k.snapshots() == []


def test_a_snapshot_is_taken_again_where_a_topic_is_deleted_while_it_is_copied(
    k: broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("goes", "stays"):
        k.create_topic(name)
        k.produce(name, "v")
    carry_out = snapshots.carry_out
    plans: list[Plan] = []

    def copied_late(plan: Plan, made: Path) -> None:
        plans.append(plan)
        if len(plans) == 1:
            k.delete_topic("goes")
            while plan.cuts["goes", 0].directory.exists():  # the background moves it away
                time.sleep(0.01)
        carry_out(plan, made)

    monkeypatch.setattr(snapshots, "carry_out", copied_late)
    k.snapshot("s")
    assert [("goes", 0) in plan.cuts for plan in plans] == [True, False]
    k.reset(to="s")
    assert [each.name for each in k.topics()] == ["stays"]
    assert len(k.records("stays", 1)) == 1
    k.ask("snapshots.delete", snapshot="s")


def test_nothing_is_left_of_a_snapshot_that_cannot_be_taken(
    k: broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that go all the time end it after some tries."""
    k.create_topic("t")

    async def is_taken(self: KeptSnapshots, _: object, made: Path) -> bool:
        await trio.Path(made).mkdir(parents=True, exist_ok=True)
        return False

    monkeypatch.setattr(KeptSnapshots, "_is_taken", is_taken)
    with pytest.raises(Problem, match="no snapshot was taken: files are deleted, compacted"):
        k.snapshot("s")
    assert k.snapshots() == []
    assert k._clusters is not None
    assert list(k._clusters._taken.iterdir()) == []
