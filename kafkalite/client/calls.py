"""Calls from other threads into a broker's loop.

Each of them ends: with what it gives or raises, when its caller gives it up, or with the broker.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from threading import Lock, get_ident
from typing import Any, Final, TypeVar

import trio

T = TypeVar("T")

_ENDED: Final = "the broker has ended"


class Calls:
    """Calls into the loop that makes this, as tasks of a nursery. They are for any other thread."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self._token = trio.lowlevel.current_trio_token()
        self._nursery = nursery
        self._process, self._thread = os.getpid(), get_ident()
        self._lock = Lock()
        self._under_way: set[Future[Any]] = set()
        self._has_ended = False

    @property
    def are_here(self) -> bool:
        """False in a process that was forked from the broker's: the loop's thread is not there."""
        return os.getpid() == self._process

    @property
    def are_needed(self) -> bool:
        """False in the thread of the loop, which would wait for itself."""
        return get_ident() != self._thread

    def done(self, function: Callable[[], T]) -> T:
        """Call a function in the loop, and wait for it. Raises RuntimeError if there is no loop."""
        future: Future[T] = Future()

        def call() -> None:
            try:
                _settle(future, function())
            except BaseException as error:  # noqa: BLE001 - raised where it was called
                _fail(future, error)

        self._send(future, call)
        return future.result()

    def started(self, doing: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a task in the loop; the future is done when the task is, and ends it when it is
        cancelled. Raises RuntimeError if there is no loop.
        """
        future: Future[T] = Future()

        async def do() -> None:
            with trio.CancelScope() as scope:
                future.add_done_callback(lambda _: self._given_up(future, scope))
                try:
                    _settle(future, await doing)
                except trio.Cancelled:
                    _fail(future, RuntimeError(_ENDED))
                    raise
                except BaseException as error:  # noqa: BLE001 - raised where it was called
                    _fail(future, error)

        def start() -> None:
            try:
                self._nursery.start_soon(do)
            except RuntimeError:  # it is closed
                doing.close()
                _fail(future, RuntimeError(_ENDED))

        try:
            self._send(future, start)
        except RuntimeError:
            doing.close()
            raise
        return future

    def finished(self, doing: Coroutine[Any, Any, T]) -> T:
        """Do a task in the loop, and wait for it: when the waiting ends (^C), it does, too. Raises
        RuntimeError if there is no loop.
        """
        future = self.started(doing)
        try:
            return future.result()
        finally:
            future.cancel()

    def end(self) -> None:
        """The loop has ended, and so do the calls that it has not got to."""
        with self._lock:
            self._has_ended = True
            left = list(self._under_way)
        for future in left:
            _fail(future, RuntimeError(_ENDED))

    def _send(self, future: Future[Any], call: Callable[[], None]) -> None:
        if not self.are_here:
            raise RuntimeError("the broker runs in another process, from which this one was forked")
        with self._lock:
            if self._has_ended:
                raise RuntimeError(_ENDED)
            self._under_way.add(future)
        future.add_done_callback(self._under_way.discard)
        try:
            self._token.run_sync_soon(call)
        except trio.RunFinishedError:
            self._under_way.discard(future)
            raise RuntimeError(_ENDED) from None

    def _given_up(self, future: Future[Any], scope: trio.CancelScope) -> None:
        if future.cancelled():
            with suppress(trio.RunFinishedError):
                self._token.run_sync_soon(scope.cancel)


def _settle(future: Future[T], result: T) -> None:
    if future.set_running_or_notify_cancel():
        future.set_result(result)


def _fail(future: Future[Any], error: BaseException) -> None:
    if not future.done() and future.set_running_or_notify_cancel():
        future.set_exception(error)
