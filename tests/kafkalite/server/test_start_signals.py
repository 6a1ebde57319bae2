"""Signals in the start: they unwind it, some have no effect, and all is restored."""

from __future__ import annotations

import signal

import pytest

from kafkalite.server.start_signals import start_given_up_on_signals, taken


def handlers() -> list[object]:
    return [signal.getsignal(number) for number in sorted(signal.valid_signals())]


@pytest.mark.parametrize(
    ("number", "status"),
    [
        (signal.SIGINT, 130),
        (signal.SIGTERM, 143),
        (signal.SIGALRM, 142),
        (signal.SIGXCPU, 152),
        (signal.SIGRTMIN + 1, 163),
    ],
)
def test_a_start_is_given_up(number: int, status: int) -> None:
    before = handlers()
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
    assert handlers() == before


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2])
def test_some_have_no_effect(number: signal.Signals) -> None:
    before = handlers()
    with start_given_up_on_signals():
        signal.raise_signal(number)
    assert handlers() == before


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGALRM])
def test_a_signal_that_the_program_around_handles_is_left_to_it(number: signal.Signals) -> None:
    came: list[int] = []
    before = signal.signal(number, lambda number, _: came.append(number))
    try:
        with start_given_up_on_signals():
            signal.raise_signal(number)
            assert number not in taken()
    finally:
        signal.signal(number, before)
    assert came == [number]


def test_those_of_the_start_are_taken_on() -> None:
    with start_given_up_on_signals():
        assert taken() >= {signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGUSR1}
