"""`kafkalite completion bash|zsh|fish`: the shell completes words, flags, topics and groups.

The shell asks by calling kafkalite with `_KAFKALITE_COMPLETE` set. Then the tree of words has all
of the command in it: the terminal's words, the verbs of the control port, the broker's flags.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import click
import msgspec
from click.shell_completion import get_completion_class, shell_complete

from kafkalite.client.table import ROWS, Row
from kafkalite.terminal.words import OTHERS

VARIABLE: Final = "_KAFKALITE_COMPLETE"
_FLAG: Final = re.compile(r"(?m)^  (?:-\w, )?(--[\w-]+)")
_CONNECTING: Final = ("url", "token", "ready-file", "cluster", "json")


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print what makes a shell complete: source <(kafkalite completion bash)."""
    made = get_completion_class(shell)
    assert made is not None
    print(made(click.Command("kafkalite"), {}, "kafkalite", VARIABLE).source())


def complete(words: click.Group, broker_help: str, instruction: str) -> int:
    """Answer the shell, whose question is in the environment; the exit code.

    `broker_help` is the help of the command without a word, `instruction` the variable's value.
    """
    tree = whole_tree(words, _FLAG.findall(broker_help))
    return shell_complete(tree, {}, "kafkalite", VARIABLE, instruction)


def whole_tree(words: click.Group, flags: Iterable[str]) -> click.Group:
    """All words of the command with their flags, as far as completion needs them."""
    tree = click.Group("kafkalite", params=_options(flags))
    for command in (*words.commands.values(), *map(click.Command, OTHERS)):
        tree.add_command(command)
    for name, row in ROWS.items():
        first, _, second = name.partition(".")
        if not second:
            tree.add_command(_verb(first, row))
            continue
        group = tree.commands.get(first)
        if not isinstance(group, click.Group):
            params = [] if group is None else group.params
            group = click.Group(first, params=params, invoke_without_command=True)
            tree.add_command(group)
        group.add_command(_verb(second, row))
    return tree


def _verb(name: str, row: Row) -> click.Command:
    fields = msgspec.structs.fields(row.request)
    flags = [each.encode_name.replace("_", "-") for each in fields if not each.required]
    return click.Command(name, params=_options(f"--{each}" for each in (*flags, *_CONNECTING)))


def _options(flags: Iterable[str]) -> list[click.Parameter]:
    return [click.Option([flag]) for flag in dict.fromkeys(flags)]
