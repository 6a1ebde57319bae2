"""An error that comes again and again is logged once, and again after a minute without it."""

import logging
import time

import pytest

from kafkalite.log.said_once import SaidOnce
from kafkalite.wire.errors import ErrorCode, KafkaError


class Clock:
    """A monotonic clock that is set by hand."""

    seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "monotonic", clock)
    return clock


@pytest.fixture
def said(clock: Clock) -> SaidOnce:
    return SaidOnce("the cleaner", logging.getLogger("kafkalite.test"))


def test_an_error_is_said_when_it_begins(said: SaidOnce, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        said.failed(OSError(28, "No space left on device"))
        said.failed(OSError(5, "Input/output error"))
    assert [(each.levelname, each.getMessage()) for each in caplog.records] == [
        ("ERROR", "the cleaner: [Errno 28] No space left on device"),
        ("ERROR", "the cleaner: [Errno 5] Input/output error"),
    ]


def test_a_full_disk_is_said_once_for_all_files(
    said: SaidOnce, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("a.log", "b.log", "c.index"):
        said.failed(OSError(28, "No space left on device", name))
    assert caplog.messages == ["the cleaner: [Errno 28] No space left on device: 'a.log'"]
    for name in ("a.log", "b.log"):
        said.failed(FileNotFoundError(2, "No such file or directory", name))
    assert len(caplog.messages) == 3


def test_it_is_said_again_after_a_minute_without_it(
    said: SaidOnce, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    error = OSError(28, "full")
    for seconds, count in ((0, 1), (59, 1), (59, 1), (59, 1), (61, 2), (1, 2)):
        clock.seconds += seconds
        said.failed(error)
        assert len(caplog.records) == count


def test_what_is_tried_each_hour_is_not_said_each_hour(
    said: SaidOnce, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    error = OSError(28, "full")
    for seconds, count in ((0, 1), (3600, 1), (3601, 1), (7202, 1), (9001, 2)):
        clock.seconds += seconds
        said.failed(error, tried_every_seconds=3600)
        assert len(caplog.records) == count


def test_an_error_of_a_request_is_said_in_its_own_words(
    said: SaidOnce, caplog: pytest.LogCaptureFixture
) -> None:
    said.failed(KafkaError(ErrorCode.CORRUPT_MESSAGE, "no batch begins at position 7"))
    [record] = caplog.records
    assert record.getMessage() == "the cleaner: no batch begins at position 7"
    assert record.exc_info is None


def test_a_bug_is_said_with_its_traceback(said: SaidOnce, caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise IndexError("list index out of range")

    try:
        fail()
    except IndexError as error:
        said.failed(error)
    [record] = caplog.records
    assert record.getMessage() == "the cleaner: IndexError: list index out of range"
    assert "in fail" in caplog.text


def test_not_more_than_so_many_are_remembered(
    said: SaidOnce, caplog: pytest.LogCaptureFixture
) -> None:
    for i in range(1000):
        said.failed(OSError(i, "odd"))
    assert len(caplog.records) == 1000
    said.failed(OSError(999, "odd"))
    assert len(caplog.records) == 1000


def test_the_level_is_the_owner_s(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    said = SaidOnce("disk", logging.getLogger("kafkalite.test"), logging.WARNING)
    with caplog.at_level(logging.WARNING):
        said.failed(OSError(28, "full"))
    assert [each.levelname for each in caplog.records] == ["WARNING"]
