"""`.lock`: one broker at a time has a data directory, in this process or in another."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kafkalite.log.directory_lock import DirectoryLock, is_locked_here
from kafkalite.log.errors import DataDirectoryInUse

TAKE = (
    "import sys; from pathlib import Path\n"
    "from kafkalite.log.directory_lock import DirectoryLock\n"
    "DirectoryLock.take(Path(sys.argv[1]))\n"
)


def taken_by_another_process(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", TAKE, str(path)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )


def test_a_living_broker_keeps_others_out(tmp_path: Path) -> None:
    lock = DirectoryLock.take(tmp_path)
    with pytest.raises(DataDirectoryInUse, match="in this process"):
        DirectoryLock.take(tmp_path)
    refused = taken_by_another_process(tmp_path)
    assert refused.returncode == 1
    assert "DataDirectoryInUse" in refused.stderr
    lock.release()
    assert taken_by_another_process(tmp_path).returncode == 0
    DirectoryLock.take(tmp_path).release()


def test_this_process_knows_its_own_locks(tmp_path: Path) -> None:
    assert not is_locked_here(tmp_path)
    lock = DirectoryLock.take(tmp_path)
    assert is_locked_here(tmp_path)
    assert is_locked_here(tmp_path / "x" / "..")
    assert taken_by_another_process(tmp_path).returncode == 1  # asking did not give it up
    lock.release()
    assert not is_locked_here(tmp_path)


@pytest.mark.slow
def test_a_second_release_does_not_take_the_next_owner_s_lock(tmp_path: Path) -> None:
    first = DirectoryLock.take(tmp_path)
    first.release()
    second = DirectoryLock.take(tmp_path)
    first.release()
    assert is_locked_here(tmp_path)
    assert taken_by_another_process(tmp_path).returncode == 1
    second.release()
