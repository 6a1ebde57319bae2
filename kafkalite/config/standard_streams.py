"""The standard streams of a command. They may be closed, full, or without a reader."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TextIO

_FAILED: Final = 1
_INTERRUPTED: Final = 130


def open_missing() -> None:
    """Open those that are closed, to nothing.

    Otherwise the next file has their number: what a library says to the standard error would be
    written into a log.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # it gets the lowest number that is free
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # It stays open as long as the process.
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def written(command: Callable[[], int]) -> int:
    """The exit code of a command, once all that it has printed is written.

    If that fails it is 1, with a sentence, or without one when the reader has gone. After Ctrl-C it
    is 130.
    """
    try:
        try:
            return command()
        finally:
            _end_errors()
            sys.stdout.flush()
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        _print_no_more()
        return _FAILED
    except OSError as error:
        _print_no_more()
        with suppress(OSError):
            print(f"kafkalite: {error}", file=sys.stderr)
        _end_errors()
        return _FAILED


def say(line: str) -> None:
    """Print a line at once, whether or not it is read."""
    try:
        print(line, flush=True)
    except OSError:
        _print_no_more()


def _end_errors() -> None:
    """A standard error that cannot be written to is no reason for another exit code."""
    try:
        sys.stderr.flush()
    except OSError:
        _print_no_more(sys.stderr)


def _print_no_more(stream: TextIO | None = None) -> None:
    """Python writes what is left when it ends, and would tell of that failure, too."""
    with suppress(OSError, ValueError):  # of a stream that is no file
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, (stream or sys.stdout).fileno())
        os.close(nothing)
