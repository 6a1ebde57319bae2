"""The flag --set NAME=VALUE, for all commands that have configs."""

from __future__ import annotations

import argparse


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
