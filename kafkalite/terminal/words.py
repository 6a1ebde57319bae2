"""The words of the terminal, told apart from the verbs of the control port.

A word that both have (`topics`) is the terminal's when it stands alone or with flags. Followed by
another word (`topics create`) it is a verb of the control port.
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Sequence
from typing import Final

WORDS: Final = frozenset(
    {"topic", "tail", "produce", "group", "lag", "configs", "acls", "completion"}
)
SHARED: Final = frozenset({"topics", "groups", "requests"})
# Words of the command itself.
_OTHERS: Final = frozenset({"format", "pipeline"})
_LIBRARIES: Final = frozenset({"click", "confluent_kafka", "rich"})
_MISTAKE: Final = 2


def is_for_the_terminal(arguments: Sequence[str]) -> bool:
    """Tells whether these arguments of the command are words of the terminal."""
    word, *rest = arguments
    return word in WORDS or (word in SHARED and (not rest or rest[0].startswith("-")))


def run(arguments: Sequence[str]) -> int:
    """Do what the words say, or the verb of the control port; the exit code."""
    if not is_for_the_terminal(arguments):
        if (mistake := _unknown(arguments[0])) is not None:
            print(f"kafkalite: {mistake}", file=sys.stderr)
            return _MISTAKE
        from kafkalite.client.command import main as verb

        return verb(arguments)
    try:
        from kafkalite.terminal.command import main
    except ModuleNotFoundError as error:
        return _without(error, arguments[0])
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

    known = WORDS | SHARED | {name.partition(".")[0] for name in ROWS} | _OTHERS
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
    print(f"kafkalite: {word} needs {missing}: pip install 'kafkalite[terminal]'", file=sys.stderr)
    return _MISTAKE
