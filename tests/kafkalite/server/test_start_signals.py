"""Signals in the start: they unwind it, some have no effect, and all is restored."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from kafkalite.server.start_signals import start_given_up_on_signals, stop_on_signals, taken


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


def test_a_signal_that_has_no_effect_where_it_comes_is_looked_for() -> None:
    """Here somebody's code catches what it should not; Python drops exceptions in callbacks."""

    def start() -> None:
        with start_given_up_on_signals() as start:
            with suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGTERM)
            start.give_up_if_signaled()

    with pytest.raises(SystemExit) as ended:
        start()
    assert ended.value.code == 143


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_must_not_be_interrupted_is_not(number: signal.Signals) -> None:
    went_on: list[bool] = []

    def start() -> None:
        with start_given_up_on_signals() as start:
            start.give_up_if_signaled()
            start.interrupt_no_more()
            signal.raise_signal(number)
            went_on.append(True)
            start.give_up_if_signaled()

    with pytest.raises(SystemExit) as ended:
        start()
    assert (ended.value.code, went_on) == (128 + number, [True])


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


async def test_each_that_stops_stops(caplog: pytest.LogCaptureFixture) -> None:
    async def came() -> AsyncIterator[int]:
        yield signal.SIGHUP
        yield signal.SIGTERM

    stopped: list[bool] = []
    with caplog.at_level("INFO"):
        await stop_on_signals(came(), lambda: stopped.append(True))
    assert stopped == [True]
    assert caplog.messages == ["SIGHUP has no effect", "stopping on SIGTERM"]
