"""The flag --set NAME=VALUE, and mistakes in flags as one sentence: for all commands."""

from __future__ import annotations

import argparse
from typing import Final, NoReturn

_MISTAKE: Final = 2


class Parser(argparse.ArgumentParser):
    """Says in one sentence on stderr what is wrong, and exits with 2."""

    def error(self, message: str) -> NoReturn:
        """Exit with the message."""
        self.exit(_MISTAKE, f"kafkalite: {message} ({self.prog} --help shows what there is)\n")


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


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name.strip(), value.strip()
