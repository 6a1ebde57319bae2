"""`kafkalite grow` gives the metadata to controllers, and leaves the rest where it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalite.config.growth import METADATA, main
from kafkalite.log.files import FILES
from kafkalite.log.meta_properties import read_meta_properties
from kafkalite.server.listener import StartError
from kafkalite.testing import broker as a_broker


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The data directory of a broker that has stopped, with a topic."""
    directory = tmp_path / "data"
    with a_broker(data_dir=directory) as running:
        running.create_topic("t")
    return directory


def grown(data: Path, *controllers: Path, node_id: int = 1) -> int:
    settings = ["--set", f"log.dirs={data}", "--set", f"node.id={node_id}"]
    return main([*settings, "--controllers", *map(str, controllers)])


def contents(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


def test_each_controller_has_all_metadata_and_the_broker_the_rest(
    tmp_path: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    metadata = contents(data / METADATA)
    before = contents(data)
    controllers = [tmp_path / name for name in ("one", "two", "three")]
    assert grown(data, *controllers) == 0
    known = read_meta_properties(data, FILES)
    assert known is not None
    for node_id, path in enumerate(controllers, start=3000):
        assert contents(path / METADATA) == metadata
        properties = read_meta_properties(path, FILES)
        assert properties is not None
        assert properties[:2] == (known.cluster_id, node_id)
        assert f"node.id={node_id}, log.dirs={path}" in capsys.readouterr().out or node_id > 3000
    kept = {name: found for name, found in before.items() if not name.startswith(METADATA)}
    assert contents(data) == kept


def test_one_process_does_not_take_it_for_a_directory_of_strays(tmp_path: Path, data: Path) -> None:
    assert grown(data, tmp_path / "one") == 0
    before = contents(data)
    with pytest.raises(StartError, match="under controllers"), a_broker(data_dir=data):
        pass
    assert contents(data) == before


def refusal(capsys: pytest.CaptureFixture[str]) -> str:
    said = capsys.readouterr().err
    assert said.startswith("kafkalite grow: ")
    return said


def test_what_is_refused_leaves_everything_as_it_was(
    tmp_path: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = tmp_path / "one"
    before = contents(data)
    assert grown(tmp_path / "none", one) == 2
    assert "no meta.properties" in refusal(capsys)
    assert grown(data, one, node_id=7) == 2
    assert "belongs to node 1, not to node 7" in refusal(capsys)
    one.mkdir()
    (one / "other").touch()
    assert grown(data, one) == 2
    assert "is not empty" in refusal(capsys)
    with a_broker(data_dir=data):
        assert grown(data, tmp_path / "two") == 2
        assert "in use" in refusal(capsys)
    assert set(contents(data)) >= set(before)
    assert grown(data, tmp_path / "two") == 0
    assert grown(data, tmp_path / "three") == 2
    assert "grown already" in refusal(capsys)
