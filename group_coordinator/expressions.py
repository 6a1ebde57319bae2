"""Regular expressions in RE2's syntax that choose topics or transactional ids by their names.

Such an expression takes linear time, and that may still be half a millisecond a name, or a tenth of
a second until it is compiled. So a thread looks at many names, and the results are kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from kafkalite.wire.errors import ErrorCode, KafkaError

_MOST_EXPRESSIONS: Final = 1024
# Results of one expression, and of all.
_MOST_NAMES: Final = 100_000
_MOST_RESULTS: Final = 1_000_000
# Names that are looked at without a thread: those of topics that were created since.
_FEW: Final = 32

# A quotation, an escape, a class, the beginning of a group with a name, or any character.
_PARTS: Final = re.compile(
    r"\\Q.*?(?:\\E|\Z)|\\.|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]|\(\?P?<[^>]*>|.", re.DOTALL
)
_NAME: Final = re.compile(r"\(\?P?<([^>]*)>")
_ESCAPED_LETTER: Final = re.compile(r"\\([^\x00-\x7f])")


class Expression:
    """A compiled expression. Called with a name, it tells whether the whole of it matches."""

    def __init__(self, matches: Callable[[str], bool]) -> None:
        self._matches = matches
        self._results: dict[str, bool] = {}

    def __call__(self, name: str) -> bool:
        result = self._results.get(name)
        if result is None:
            if len(self._results) >= _MOST_NAMES:
                self._results = {}
            result = self._results[name] = self._matches(name)
        return result

    @property
    def result_count(self) -> int:
        """The number of names that it has looked at."""
        return len(self._results)

    def knows(self, names: Iterable[str]) -> bool:
        """True if it has looked at nearly all of these names."""
        results = self._results
        return sum(name not in results for name in names) <= _FEW


# Expressions, or what is wrong with them.
_kept: Final[dict[str, Expression | KafkaError]] = {}


def compile_expression(expression: str) -> Expression:
    """The compiled expression; "" matches nothing.

    Raises KafkaError(INVALID_REGULAR_EXPRESSION).
    """
    found = _kept.get(expression)
    if found is None:
        found = _compiled(expression)
        if len(_kept) >= _MOST_EXPRESSIONS:
            _kept.clear()
        _kept[expression] = found
    if isinstance(found, KafkaError):
        raise KafkaError(found.code, found.message)
    return found


def look_at(expression: str, names: Iterable[str]) -> None:
    """Compile an expression and ask it about all names. A thread may do it."""
    try:
        matches = compile_expression(expression)
    except KafkaError:
        return  # it is kept, too
    for name in names:
        matches(name)
    kept = [each for each in list(_kept.values()) if isinstance(each, Expression)]
    if sum(each.result_count for each in kept) > _MOST_RESULTS:
        _kept.clear()
        _kept[expression] = matches


def has_looked_at(expression: str, names: Iterable[str]) -> bool:
    """True if the expression answers for these names at once."""
    found = _kept.get(expression)
    return isinstance(found, KafkaError) or (found is not None and found.knows(names))


def as_in_java(expression: str) -> str:
    """The text for RE2 that means what Kafka's RE2/J makes of the expression.

    There is no ``\\C`` there, a group's name stands once, and a letter that is not ASCII may be
    escaped. Raises ValueError for what is refused.
    """
    made: list[str] = []
    names: set[str] = set()
    for part in _PARTS.findall(expression):
        name = _NAME.match(part)
        if part == "\\C":
            raise ValueError("invalid escape sequence: `\\C`")
        if name is not None and name[1] in names:
            raise ValueError(f"duplicate capture group name: `{name[1]}`")
        if name is not None:
            names.add(name[1])
        made.append(part if part.startswith("\\Q") else _ESCAPED_LETTER.sub(r"\1", part))
    return "".join(made)


def _compiled(expression: str) -> Expression | KafkaError:
    if not expression:
        return Expression(lambda name: False)
    import re2  # rarely needed

    options = re2.Options()
    options.log_errors = False
    try:
        pattern = re2.compile(as_in_java(expression), options)
    except (re2.error, ValueError) as error:
        (reason,) = error.args
        reason = reason.decode() if isinstance(reason, bytes) else reason
        return KafkaError(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex `{expression}` is not a valid regular expression: {reason}.",
        )
    return Expression(lambda name: pattern.fullmatch(name) is not None)
