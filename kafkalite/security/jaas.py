"""JAAS lines: `org.apache.kafka...PlainLoginModule required user_alice="secret";`.

The line is cut into tokens as Java's StreamTokenizer does it, with the settings of Kafka's
JaasConfig: words, quoted strings with escapes, comments by `/`, `//` and `/*`; an unquoted number
is not a word, so it cannot be a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

PLAIN_MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTHBEARER_MODULE: Final = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"

_CONTROL_FLAGS: Final = frozenset({"REQUIRED", "REQUISITE", "SUFFICIENT", "OPTIONAL"})
_ESCAPES: Final = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}


class JaasError(ValueError):
    """A JAAS line is wrong; in Kafka's words, which hold no secret."""


@dataclass(frozen=True, slots=True)
class JaasEntry:
    """One login module and its options. The options may be secrets and are not shown."""

    login_module: str
    options: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Token:
    """A word or quoted string (`text`), or any other character (`kind`); a number has neither."""

    kind: str
    text: str | None = None


_WORD: Final = "word"
_NUMBER: Final = "number"


def parse_jaas(line: str) -> JaasEntry:
    """The one login module of a `sasl.jaas.config`. Raises JaasError."""
    entries = _parse_entries(line)
    if len(entries) != 1:
        raise JaasError(
            f"JAAS config property contains {len(entries)} login modules, should be 1 module"
        )
    return entries[0]


def parse_jaas_file(text: str) -> dict[str, list[JaasEntry]]:
    """A JAAS file (java.security.auth.login.config): the login modules of each context by name.

    Raises JaasError.
    """
    contexts: dict[str, list[JaasEntry]] = {}
    tokens = _tokens(text)
    for name in tokens:
        opening = next(tokens, None)
        if name.text is None or opening is None or opening.kind != "{":
            raise JaasError("a JAAS file has contexts: name { login modules };")
        entries: list[JaasEntry] = []
        for first in tokens:
            if first.kind == "}":
                break
            entries.append(_parse_entry(first, tokens))
        else:
            raise JaasError(f"the context {name.text} of the JAAS file is not closed")
        closing = next(tokens, None)
        if closing is None or closing.kind != ";":
            raise JaasError(
                f"the context {name.text} of the JAAS file does not end in a semi-colon"
            )
        contexts[name.text] = entries
    return contexts


def _parse_entries(line: str) -> list[JaasEntry]:
    tokens = _tokens(line)
    entries = [_parse_entry(first, tokens) for first in tokens]
    if not entries:
        raise JaasError("Login module not specified in JAAS config")
    return entries


def _parse_entry(first: _Token, tokens: Iterator[_Token]) -> JaasEntry:
    flag = next(tokens, None)
    if flag is None:
        raise JaasError("Login module control flag not specified in JAAS config")
    if flag.text is None:
        raise JaasError("Login module control flag is not available in the JAAS config")
    if flag.text.upper() not in _CONTROL_FLAGS:
        raise JaasError(f"Invalid login module control flag '{flag.text}' in JAAS config")
    options: dict[str, str] = {}
    for token in tokens:
        if token.kind == ";":
            if not first.text:
                raise JaasError("Login module not specified in JAAS config")
            return JaasEntry(first.text, options)
        equals, value = next(tokens, None), None
        if equals is not None and equals.kind == "=":
            value = next(tokens, None)
        if value is None or value.text is None:
            key = "null" if token.text is None else token.text
            raise JaasError(f"Value not specified for key '{key}' in JAAS config")
        if token.text is not None:
            options[token.text] = value.text
    raise JaasError("JAAS config entry not terminated by semi-colon")


def _tokens(line: str) -> Iterator[_Token]:
    position = 0
    while position < len(line):
        char = line[position]
        if char <= " ":
            position += 1
        elif char == "/":
            position = _after_comment(line, position)
        elif char in "\"'":
            text, position = _quoted(line, position)
            yield _Token(char, text)
        elif char.isascii() and (char.isdigit() or char in ".-"):
            token, position = _number(line, position)
            yield token
        elif _is_word_start(char):
            start = position
            while position < len(line) and _is_word_part(line[position]):
                position += 1
            yield _Token(_WORD, line[start:position])
        else:
            yield _Token(char)
            position += 1


def _is_word_start(char: str) -> bool:
    return char in "_$" or (char.isascii() and char.isalpha()) or ord(char) >= 160


def _is_word_part(char: str) -> bool:
    return _is_word_start(char) or char in "-." or (char.isascii() and char.isdigit())


def _after_comment(line: str, position: int) -> int:
    if line.startswith("/*", position):
        end = line.find("*/", position + 2)
        return len(line) if end < 0 else end + 2
    ends = (line.find(end, position) for end in "\r\n")
    return min((end for end in ends if end >= 0), default=len(line))


def _number(line: str, position: int) -> tuple[_Token, int]:
    """A number, or the character itself where none follows it."""
    start = position
    if line[position] == "-":
        position += 1
        if position == len(line) or not (line[position].isdigit() or line[position] == "."):
            return _Token("-"), position
    while position < len(line) and line[position] in "0123456789.":
        position += 1
    if line[start:position].strip("-.") == "" and line[start:position].count(".") == 1:
        return _Token("."), position
    return _Token(_NUMBER), position


def _quoted(line: str, position: int) -> tuple[str, int]:
    """The text behind a quote, to the next one or the end of the line."""
    quote = line[position]
    position += 1
    text: list[str] = []
    while position < len(line) and line[position] not in (quote, "\n", "\r"):
        char = line[position]
        position += 1
        if char == "\\" and position < len(line):
            octal = _octal(line, position)
            if octal:
                text.append(chr(int(octal, 8)))
                position += len(octal)
                continue
            char = _ESCAPES.get(line[position], line[position])
            position += 1
        text.append(char)
    is_closed = position < len(line) and line[position] == quote
    return "".join(text), position + is_closed


def _octal(line: str, position: int) -> str:
    """Up to three octal digits, no more than 377."""
    end = position
    most = 3 if line[position : position + 1] in ("0", "1", "2", "3") else 2
    while end < min(position + most, len(line)) and line[end] in "01234567":
        end += 1
    return line[position:end]
