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
from collections.abc import AsyncIterator, Callable, Generator
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


class Start:
    """A start that signals give up, at whatever it does.

    An exception has no effect everywhere: Python drops one that comes in a callback of a weak
    reference, or while C code looks something up. So the signal is kept, too, and looked for.
    """

    def __init__(self) -> None:
        self._came: int | None = None
        self._interrupts = True

    def signaled(self, number: int, frame: FrameType | None) -> None:
        """A handler of signals."""
        self._came = number
        if self._interrupts:
            raise KeyboardInterrupt

    def interrupt_no_more(self) -> None:
        """Only keep signals from now on, as for trio, which must not be interrupted."""
        self._interrupts = False

    def give_up_if_signaled(self) -> None:
        """Raise KeyboardInterrupt if a signal came."""
        if self._came is not None:
            raise KeyboardInterrupt

    @property
    def came(self) -> int:
        """The last signal."""
        return signal.SIGINT if self._came is None else self._came


@contextmanager
def start_given_up_on_signals() -> Generator[Start]:
    """Signals unwind what is within, and exit with 128 and their number; some have no effect.

    SIGQUIT writes to stderr where each thread is, as it does in Java, from here to the end.
    """
    start = Start()
    before = [(each, signal.getsignal(each)) for each in taken()]
    for each, _ in before:
        signal.signal(each, signal.SIG_IGN if each in WITHOUT_EFFECT else start.signaled)
    faulthandler.register(signal.SIGQUIT, file=sys.__stderr__ or 2)
    try:
        yield start
    except KeyboardInterrupt:
        start.interrupt_no_more()
        logger.info("stopping on %s", name_of(start.came))
        raise SystemExit(_ENDED_BY_SIGNAL + start.came) from None
    finally:
        faulthandler.unregister(signal.SIGQUIT)
        for number, handler in before:
            signal.signal(number, handler)


async def stop_on_signals(signals: AsyncIterator[int], stop: Callable[[], None]) -> None:
    """Call `stop` for each signal that stops, and say what came."""
    async for number in signals:
        stops = number in STOPPING
        logger.info("stopping on %s" if stops else "%s has no effect", name_of(number))
        if stops:
            stop()
