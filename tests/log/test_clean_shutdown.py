"""`.kafka_cleanshutdown`: there after a clean shutdown, and taken by the next start."""

from pathlib import Path

import pytest

from kafkalite.log.clean_shutdown import mark_clean_shutdown, take_clean_shutdown
from kafkalite.log.config import LogConfig
from kafkalite.log.files import FILES
from tests.log.directories import append, open_directory


def test_the_mark_is_kafka_s_and_is_taken_once(tmp_path: Path) -> None:
    mark_clean_shutdown(tmp_path, FILES, 17)
    path = tmp_path / ".kafka_cleanshutdown"
    assert path.read_text() == '{"version":0,"brokerEpoch":17}'
    assert take_clean_shutdown(tmp_path, FILES) == 17
    assert not path.exists()
    assert take_clean_shutdown(tmp_path, FILES) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"brokerEpoch":null}', "\xff"])
def test_a_mark_without_an_epoch_counts_as_clean(tmp_path: Path, text: str) -> None:
    (tmp_path / ".kafka_cleanshutdown").write_text(text, encoding="latin-1")
    assert take_clean_shutdown(tmp_path, FILES) == -1


def test_a_directory_that_was_not_closed_has_no_mark(tmp_path: Path) -> None:
    directory = open_directory(tmp_path)
    directory.broker_epoch = 5
    append(directory.open_log("t", 0, LogConfig()), b"x")
    directory.abandon()
    directory = open_directory(tmp_path)
    assert (directory.was_clean_shutdown, directory.previous_broker_epoch) == (False, -1)
    directory.broker_epoch = 6
    directory.close()
    directory = open_directory(tmp_path)
    assert (directory.was_clean_shutdown, directory.previous_broker_epoch) == (True, 6)
    directory.close()
