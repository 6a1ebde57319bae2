"""Signals in the start: SIGINT and SIGTERM unwind it, SIGHUP has no effect, and all is restored."""

from __future__ import annotations

import signal

import pytest

from kafkalite.server.start_signals import start_given_up_on_signals


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_start_is_given_up(number: signal.Signals, status: int) -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGHUP)
    unwound: list[bool] = []

    def start() -> None:
        with start_given_up_on_signals():
            try:
                signal.raise_signal(number)
            finally:
                unwound.append(True)

    with pytest.raises(SystemExit) as ended:
        start()
    assert (ended.value.code, unwound) == (status, [True])
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGHUP)) == before


def test_a_hang_up_has_no_effect() -> None:
    with start_given_up_on_signals():
        signal.raise_signal(signal.SIGHUP)
