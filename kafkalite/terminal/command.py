"""The words put together. A mistake, and all that is refused, is one sentence on stderr."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

import click

from kafkalite.terminal.acls import acls
from kafkalite.terminal.completion import completion
from kafkalite.terminal.configs import configs
from kafkalite.terminal.groups import group, list_groups
from kafkalite.terminal.kafka import Refused
from kafkalite.terminal.lag import lag
from kafkalite.terminal.produce import produce
from kafkalite.terminal.requests import requests
from kafkalite.terminal.tail import tail
from kafkalite.terminal.topics import list_topics, topic
from kafkalite.terminal.trace import trace

_INTERRUPTED: Final = 130


@click.group(
    "kafkalite",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
def words() -> None:
    """A look into any Kafka: docs/terminal.md."""


for _word in (list_topics, topic, tail, produce, list_groups, group, lag, configs, acls):
    words.add_command(_word)
for _word in (requests, trace, completion):
    words.add_command(_word)


def main(arguments: Sequence[str]) -> int:
    """Do what the words say; the exit code."""
    try:
        code: int | None = words.main(list(arguments), "kafkalite", standalone_mode=False)
        return code or 0
    except Refused as refused:
        print(f"kafkalite: {refused.message}", file=sys.stderr)
        return refused.exit_code
    except click.exceptions.NoArgsIsHelpError as incomplete:
        print(incomplete.format_message(), file=sys.stderr)
        return incomplete.exit_code
    except click.UsageError as mistake:
        where = "kafkalite" if mistake.ctx is None else mistake.ctx.command_path
        message = " ".join(mistake.format_message().split()).rstrip(".")
        print(f"{where}: {message} (--help shows what there is)", file=sys.stderr)
        return mistake.exit_code
    except click.Abort:
        return _INTERRUPTED
