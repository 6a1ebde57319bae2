"""The flags that every word takes: which Kafka, how to get in, and JSON."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from kafkalite.terminal.kafka import Kafka, Refused
from kafkalite.terminal.output import Output
from kafkalite.terminal.settings import parsed, read_file
from kafkalite.terminal.target import find

_FLAGS = (
    click.option(
        "-b",
        "--bootstrap-server",
        "bootstrap",
        metavar="HOST:PORT",
        help="The Kafka to ask; else the kafkalite that runs here.",
    ),
    click.option(
        "-X",
        "settings",
        multiple=True,
        metavar="NAME=VALUE",
        help="A setting of librdkafka, such as security.protocol=SASL_SSL. May be repeated.",
    ),
    click.option(
        "-F",
        "--command-config",
        "config_file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Settings in a file of properties, in the words of librdkafka or Java.",
    ),
    click.option(
        "--ready-file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="The ready file of the kafkalite to ask.",
    ),
)
_JSON = click.option("-J", "--json", "as_json", is_flag=True, help="Print JSON.")

Command = Callable[..., None]


if TYPE_CHECKING:
    _ParamType = click.ParamType[frozenset[str]]
else:  # click 8.2 takes no arguments here
    _ParamType = click.ParamType


class Words(_ParamType):
    """Some of a few words, with commas between, in any case: a set of them in lower case."""

    name = "words"

    def __init__(self, known: Sequence[str]) -> None:
        self._known = known

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> frozenset[str]:
        words = frozenset(word.strip().lower() for word in str(value).split(","))
        for word in sorted(words - {*self._known}):
            self.fail(f"{word!r} is none of {', '.join(self._known)}", param, ctx)
        return words

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        before, comma, last = incomplete.rpartition(",")
        begun = (word for word in self._known if word.startswith(last.lower()))
        return [CompletionItem(f"{before}{comma}{word}") for word in begun]


def asks_kafka(function: Command) -> Command:
    """A command with the flags, whose function is given `kafka` and `out` in their place."""

    @functools.wraps(function)
    def command(as_json: bool, **given: Any) -> None:
        function(kafka_of(given), Output(as_json=as_json), **given)

    flagged: Command = _JSON(command)
    for flag in reversed(_FLAGS):
        flagged = flag(flagged)
    return flagged


def kafka_of(given: dict[str, Any]) -> Kafka:
    """The Kafka that flags name; takes them out of `given`. Raises click.UsageError."""
    config_file: Path | None = given.pop("config_file", None)
    settings = {} if config_file is None else read_file(config_file)
    settings |= parsed(given.pop("settings", ()))
    return Kafka(
        find(given.pop("bootstrap", None), settings, given.pop("ready_file", None), os.environ)
    )


def topic_argument(function: Command) -> Command:
    """The topic, as an argument or, as kcat has it, by -t."""

    @click.argument("topic", required=False, shell_complete=topic_names)
    @click.option("-t", "--topic", "topic_by_flag", metavar="TOPIC", shell_complete=topic_names)
    @functools.wraps(function)
    def command(topic: str | None, topic_by_flag: str | None, **given: Any) -> None:
        if (topic is None) == (topic_by_flag is None):
            word = click.get_current_context().command_path
            raise click.UsageError(f"name one topic, as in: {word} orders")
        function(topic=topic or topic_by_flag, **given)

    return command


def topic_names(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The topics whose names begin so; none if Kafka does not answer."""
    return names_from(Kafka.topic_names, context, incomplete)


def names_from(
    known: Callable[[Kafka], list[str]], context: click.Context, incomplete: str
) -> list[CompletionItem]:
    """Completions: the names that begin so; none if Kafka does not answer."""
    try:
        names = known(kafka_of(dict(context.params)))
    except (Refused, click.UsageError):
        return []
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]
