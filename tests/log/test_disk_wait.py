"""Waits for the disk: done once, whoever waits, and their errors are raised where they matter."""

from __future__ import annotations

import threading

import pytest

from kafkalite.log.disk_wait import DiskWait, Waits, without_threads


def test_the_work_is_done_once_and_all_wait_for_it() -> None:
    begun, go_on = threading.Event(), threading.Event()
    done: list[str] = []

    def work() -> None:
        begun.set()
        assert go_on.wait(20)
        done.append("work")

    wait = DiskWait(work)
    first = threading.Thread(target=wait)
    first.start()
    assert begun.wait(20)
    second = threading.Thread(target=lambda: (wait(), done.append("second")))
    second.start()
    assert (wait.is_done, done) == (False, [])
    go_on.set()
    first.join()
    second.join()
    assert (wait.is_done, done) == (True, ["work", "second"])


def test_an_error_is_kept_for_the_work_that_goes_on() -> None:
    def work() -> None:
        raise OSError("sick")

    wait = DiskWait(work)
    wait()
    assert str(wait.error) == "sick"
    with pytest.raises(OSError, match="sick"):
        wait.finish()


def test_without_threads_it_is_done_on_the_way() -> None:
    done: list[int] = []

    def steps() -> Waits[int]:
        for number in range(3):
            wait = DiskWait(lambda number=number: done.append(number))
            yield wait
            wait.finish()
        return len(done)

    assert without_threads(steps()) == 3
    assert done == [0, 1, 2]
