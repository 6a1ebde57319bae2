"""A recording of real clients, told again: the same, and not the same where something differs."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkalite.client.replay import main, replay
from kafkalite.control.problems import Problem
from kafkalite.testing import broker
from tests.kafkalite.control.clients import consumer, produced, producer


def message_of(reader: Any) -> bytes:
    """The next record that a consumer gets."""
    while (message := reader.poll(1)) is None or message.error():
        pass
    value: bytes = message.value()
    return value


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A topic that was there and one that is new, a group, an idempotent and a transactional
    producer."""
    path = tmp_path_factory.mktemp("recorded") / "app.zip"
    with broker(profile="test") as k:
        k.create_topic("t", partitions=2)
        k.produce("t", "before")
        with k.recording(path):
            reader = consumer(k)
            reader.subscribe(["t"])
            read = [message_of(reader)]
            produced(k, "t", b"1", b"2", **{"enable.idempotence": True})
            transactional = producer(k, **{"transactional.id": "billing"})
            transactional.init_transactions(10)
            transactional.begin_transaction()
            transactional.produce("new", b"3")
            transactional.commit_transaction(10)
            read += [message_of(reader), message_of(reader)]
            reader.commit(asynchronous=False)
            reader.close()
            k.clock.advance("1h")
            produced(k, "t", b"4")
        yield path


def test_all_answers_are_as_they_were(recorded: Path) -> None:
    told = replay(recorded)
    assert told.differences == []
    assert told.requests > 30
    assert told.answers >= told.requests - 3  # long polls that were not over


def changed(recorded: Path, into: Path) -> Path:
    """The recording as of another broker: its records begin with other data."""
    with zipfile.ZipFile(recorded) as source, zipfile.ZipFile(into, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            if name == "meta.json":
                meta = json.loads(data)
                meta["configs"]["kafkalite.as.version"] = "3.9"
                data = json.dumps(meta).encode()
            target.writestr(name, data)
    return into


@pytest.mark.slow
def test_what_differs_is_told(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = changed(recorded, tmp_path / "other.zip")
    assert main([str(other)]) == 1
    said = capsys.readouterr().out
    assert "ApiVersions api_keys" in said
    assert main([str(recorded)]) == 0
    assert capsys.readouterr().out.endswith(", 0 differ\n")
    assert main([str(recorded), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["differences"] == []


def test_another_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "odd").write_bytes(b"odd")
    with pytest.raises(Problem, match="this is no recording"):
        replay(tmp_path / "odd")
    assert main([str(tmp_path / "odd")]) == 2
    assert main([str(tmp_path / "none")]) == 2
    assert "this is no recording" in capsys.readouterr().err
