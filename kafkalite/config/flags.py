"""The flag --set NAME=VALUE, and mistakes in flags as one sentence: for all commands."""

from __future__ import annotations

import argparse
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NoReturn

# The exit code after a mistake in what was asked.
MISTAKE: Final = 2


class Parser(argparse.ArgumentParser):
    """Says in one sentence on stderr what is wrong, and exits with 2.

    What begins with a minus and a digit is a value, and no flag: -5, and -1h, too.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._negative_number_matcher = re.compile(r"-\.?\d")

    def error(self, message: str) -> NoReturn:
        """Exit with the message."""
        self.exit(MISTAKE, f"kafkalite: {message} ({self.prog} --help shows what there is)\n")


def mistake(sentence: object, command: str = "kafkalite") -> int:
    """Say on stderr what is wrong, if that can be written; the exit code."""
    with suppress(OSError):
        print(f"{command}: {sentence}", file=sys.stderr)
    return MISTAKE


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add --set. `settings` is then a list of names and values, in the order of the flags."""
    parser.add_argument(
        "--set",
        metavar="NAME=VALUE",
        dest="settings",
        action="append",
        default=[],
        type=_setting,
        help="set a config (repeatable)",
    )


def a_path(text: str) -> Path:
    """A path of a flag. Raises ArgumentTypeError if it is empty: that would be this directory."""
    if not text:
        raise argparse.ArgumentTypeError("it names no path")
    return Path(text)


def a_host(text: str) -> str:
    """The host of a flag. An IPv6 address may stand in brackets, as it does before a port.

    Raises ArgumentTypeError if it is empty: that would be every interface.
    """
    if not text:
        raise argparse.ArgumentTypeError("it names no host")
    is_in_brackets = text.startswith("[") and text.endswith("]")
    return text[1:-1] if is_in_brackets else text


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name.strip(), value.strip()
