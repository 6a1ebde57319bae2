"""The words of the command: the terminal's, told apart from the verbs of the control port.

A word that both have (`topics`) is the terminal's when it stands alone or with flags. Followed by
another word (`topics create`) it is a verb of the control port. `trace show` needs no broker.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Final

from kafkalite.config.flags import mistake

WORDS: Final = frozenset(
    {"topic", "tail", "produce", "group", "lag", "configs", "acls", "completion"}
)
# Words that the verbs have, too, with the second words that are the terminal's.
SHARED: Final[Mapping[str, str]] = {"topics": "", "groups": "", "requests": "", "trace": "show"}
# Words that take the rest of the line, and the modules whose `main` does them.
OTHERS: Final[Mapping[str, str]] = {
    "format": "kafkalite.config.storage_format",
    "grow": "kafkalite.config.growth",
    "pipeline": "kafkalite.spark.pipelines.command",
    "replay": "kafkalite.client.replay",
    "run": "kafkalite.client.run_command",
    "sweep": "kafkalite.client.sweep_command",
}
_LIBRARIES: Final = frozenset({"click", "confluent_kafka", "rich"})


def is_for_the_terminal(arguments: Sequence[str]) -> bool:
    """Tells whether these arguments of the command are words of the terminal."""
    word, *rest = arguments
    if word in SHARED:
        return not rest or rest[0].startswith("-") or rest[0] == SHARED[word]
    return word in WORDS


def run(arguments: Sequence[str]) -> int:
    """Do what the words say, or the verb of the control port; the exit code."""
    word, *rest = arguments
    if word in OTHERS:
        done: int = import_module(OTHERS[word]).main(rest)
        return done
    if not is_for_the_terminal(arguments):
        if (sentence := _unknown(word)) is not None:
            return mistake(sentence)
        from kafkalite.client.command import main as verb

        return verb(arguments)
    try:
        from kafkalite.terminal.command import main
    except ModuleNotFoundError as error:
        return _without(error, word)
    return main(arguments)


def complete(broker_help: str) -> int:
    """Answer the shell that completes a line; the exit code. `broker_help` has the flags."""
    try:
        from kafkalite.terminal.command import words
        from kafkalite.terminal.completion import VARIABLE, complete
    except ModuleNotFoundError as error:
        return _without(error, "completion")
    return complete(words, broker_help, os.environ[VARIABLE])


def _unknown(word: str) -> str | None:
    """The sentence for a word that is none."""
    from kafkalite.client.table import ROWS

    known = WORDS | SHARED.keys() | {name.partition(".")[0] for name in ROWS} | OTHERS.keys()
    if word in known:
        return None
    similar = difflib.get_close_matches(word, known, n=1)
    hint = f"did you mean {similar[0]!r}?" if similar else ", ".join(sorted(known))
    return f"there is no word {word!r} ({hint})"


def _without(error: ModuleNotFoundError, word: str) -> int:
    """Say what is to be installed; the exit code. Raises another module's absence."""
    missing = (error.name or "").partition(".")[0]
    if missing not in _LIBRARIES:
        raise error
    return mistake(f"{word} needs {missing}: pip install 'kafkalite[terminal]'")
