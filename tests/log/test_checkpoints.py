"""Checkpoint files: Kafka's text, replaced whole; damaged ones are told from missing ones."""

import uuid
from pathlib import Path

import pytest

from kafkalite.log.checkpoints import (
    CorruptCheckpoint,
    read_lines,
    read_offsets,
    read_topic_id,
    write_lines,
    write_offsets,
    write_topic_id,
)
from kafkalite.log.files import FILES


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "checkpoint"


def test_the_text_is_kafka_s(path: Path) -> None:
    offsets = {("orders", 0): 1234, ("a.b-c", 11): 0}
    write_offsets(FILES, path, offsets)
    assert path.read_text() == "0\n2\norders 0 1234\na.b-c 11 0\n"
    assert read_offsets(FILES, path) == offsets
    write_offsets(FILES, path, {})
    assert path.read_text() == "0\n0\n"
    assert read_offsets(FILES, path) == {}
    assert [each.name for each in path.parent.iterdir()] == ["checkpoint"]


def test_a_missing_or_empty_file_has_no_entries(path: Path) -> None:
    assert read_lines(FILES, path) == []
    path.write_text("")
    assert read_lines(FILES, path) == []


@pytest.mark.parametrize(
    "text",
    [
        "0\n",
        "1\n0\n",
        "0\nx\n",
        "0\n-1\n",
        "0\n2\norders 0 1234\n",
        "0\n1\norders 0 1234\norders 1 1\n",
        "0\n1\norders 0\n",
        "0\n1\norders 0 12 34\n",
        "0\n1\norders zero 1234\n",
        "0\n1\norders 0 many\n",
        "\0\0\0\0",
    ],
)
def test_a_damaged_offset_checkpoint_is_told(path: Path, text: str) -> None:
    path.write_text(text)
    with pytest.raises(CorruptCheckpoint, match="checkpoint"):
        read_offsets(FILES, path)


def test_what_is_below_zero_counts_as_zero(path: Path) -> None:
    """A negative recovery point kept every Produce waiting for a flush that never came."""
    path.write_text("0\n2\norders 0 -1\norders 1 7\n")
    assert read_offsets(FILES, path) == {("orders", 0): 0, ("orders", 1): 7}


def test_bytes_that_are_no_text_are_told(path: Path) -> None:
    path.write_bytes(b"0\n1\n\xff\xfe 0 1\n")
    with pytest.raises(CorruptCheckpoint):
        read_lines(FILES, path)


def test_lines_are_words(path: Path) -> None:
    write_lines(FILES, path, ["3 17", "5 20"])
    assert read_lines(FILES, path) == [["3", "17"], ["5", "20"]]


def test_a_topic_id_is_written_as_kafka_does(path: Path) -> None:
    topic_id = uuid.UUID("f47ac10b-58cc-4372-a567-0e02b2c3d479")
    assert read_topic_id(FILES, path) is None
    write_topic_id(FILES, path, topic_id)
    assert path.read_text() == "version: 0\ntopic_id: 9HrBC1jMQ3KlZw4CssPUeQ\n"
    assert read_topic_id(FILES, path) == topic_id


@pytest.mark.parametrize(
    "text",
    [
        "",
        "version: 0\n",
        "version: 1\ntopic_id: 9HrBC1jMQ3KlZw4CssPUeQ\n",
        "version: 0\nid: x\n",
        "version: 0\ntopic_id: short\n",
        "version: 0\ntopic_id: \n",
        "\0\0\0",
    ],
)
def test_a_damaged_topic_id_is_told(path: Path, text: str) -> None:
    path.write_text(text)
    with pytest.raises(CorruptCheckpoint):
        read_topic_id(FILES, path)
