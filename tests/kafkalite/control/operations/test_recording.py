"""Recordings begin and end by verbs, and can be told again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafkalite.control.problems import Problem
from kafkalite.control.recording import ASKED, read
from kafkalite.testing import broker
from tests.kafkalite.control.clients import produced


def test_what_comes_meanwhile_is_recorded(k: broker, tmp_path: Path) -> None:
    k.create_topic("t")
    k.produce("t", "before")
    produced(k)
    path = tmp_path / "r.zip"
    with k.recording(path):
        assert k.snapshots() == []
        produced(k)
    produced(k)
    assert len(k.records("t")) == 4
    recording = read(path.read_bytes())
    produces = [each for each in recording.tape if each.kind == ASKED and each.frame[:2] == b"\0\0"]
    assert len(produces) == 1
    assert recording.nodes == 1
    assert not any("listeners" in name and "9092" in name for name in recording.configs)


def test_a_recording_has_a_beginning(k: broker) -> None:
    with pytest.raises(Problem, match="nothing is recorded"):
        k.ask("recording.save")
    k.ask("recording.start")
    k.reset()
    with pytest.raises(Problem, match="reset or restarted"):
        k.ask("recording.save")


async def test_what_is_secured_is_not_recorded() -> None:
    async with broker(sasl="plain:alice:secret") as secured:
        k: Any = secured.asynchronous
        with pytest.raises(Problem, match="SASL_PLAINTEXT cannot be replayed"):
            await k.ask("recording.start")
