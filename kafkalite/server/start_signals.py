"""The meaning of signals. The broker's start is given up as a whole by one that comes during it.

Python's own answers are a traceback for SIGINT, and for the others an end at once that leaves
temporary directories behind. In a container SIGTERM would not even end process 1. The broker
that serves takes signals itself.
"""

from __future__ import annotations

import faulthandler
import logging
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import Final

logger = logging.getLogger(__name__)

# Other programs take these as a word to read their configs or open their logs again, so that
# scripts send them to whatever they look after.
WITHOUT_EFFECT: Final = frozenset({signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2})
# The system's, those of a process that is broken, those that pause or tell and end nothing, and
# those that Python ignores. Each system has some of them.
_LEFT_ALONE: Final = frozenset(
    getattr(signal, name)
    for name in (
        *("SIGKILL", "SIGSTOP"),
        *("SIGABRT", "SIGBUS", "SIGEMT", "SIGFPE", "SIGILL", "SIGSEGV", "SIGSYS", "SIGTRAP"),
        *("SIGCHLD", "SIGCONT", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG", "SIGWINCH", "SIGINFO"),
        *("SIGPIPE", "SIGXFSZ"),
    )
    if hasattr(signal, name)
)
# All others that would end the process, those without a name too.
STOPPING: Final = frozenset(
    signal.valid_signals() - WITHOUT_EFFECT - _LEFT_ALONE - {signal.SIGQUIT}
)
# The broker takes these from any program around it.
_ALWAYS_TAKEN: Final = frozenset({signal.SIGINT, signal.SIGTERM})
# Shells add this to the number of the signal that ended a process.
_ENDED_BY_SIGNAL = 128


def name_of(number: int) -> str:
    """The name of a signal. Some have none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def taken() -> frozenset[int]:
    """The signals that the broker takes: not those that the program around it handles."""
    return frozenset(
        each for each in STOPPING | WITHOUT_EFFECT if each in _ALWAYS_TAKEN or not _is_handled(each)
    )


def _is_handled(number: int) -> bool:
    handler = signal.getsignal(number)
    return callable(handler) and getattr(handler, "__module__", "") != __name__


@contextmanager
def start_given_up_on_signals() -> Generator[None]:
    """Signals unwind what is within, and exit with 128 and their number; some have no effect.

    SIGQUIT writes to stderr where each thread is, as it does in Java, from here to the end. The
    others come as the SIGINT of this moment, as trio knows when that one may interrupt it.
    """
    came: int = signal.SIGINT

    def as_interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = number
        signal.raise_signal(signal.SIGINT)

    before = [(each, signal.getsignal(each)) for each in taken() - {signal.SIGINT}]
    for each, _ in before:
        signal.signal(each, signal.SIG_IGN if each in WITHOUT_EFFECT else as_interrupt)
    faulthandler.register(signal.SIGQUIT, file=sys.__stderr__ or 2)
    try:
        yield
    except KeyboardInterrupt:
        logger.info("stopping on %s", name_of(came))
        raise SystemExit(_ENDED_BY_SIGNAL + came) from None
    finally:
        faulthandler.unregister(signal.SIGQUIT)
        for number, handler in before:
            signal.signal(number, handler)
