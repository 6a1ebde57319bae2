"""The bans of the house's voice: each finds its offences in one Python file."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
MOST_COLUMNS = 100
MOST_LINES_IN_A_FILE = 400

_OPENINGS = re.compile(
    r"(What|Who|Whose|Whoever|Where|When|Which|Whichever|Why|Of|As|How|Whether"
    r"|Those|One (that|who|which))\b"
)
_WORDS = re.compile(r"\b([Ww]hoever|[Nn]obody)\b")
# "who" for "a follower that": the noun is missing. "behind" an offset: is that before or after it?
_PHRASES = re.compile(r"\b((of|for|to|on|out|than|[Rr]efuse|[Ww]ake) who|at or behind)\b")
# A file's name, perhaps with folders before it, and not a pattern such as `test_<name>.py`.
_FILE_NAME = re.compile(r"(?<![\w<>*/{}.-])((?:[\w-]+/)*[a-z_][\w-]*\.py)\b(?!\.)")
_COMMENTS = re.compile(r"(?m)^(?:[ ]*#.*\n)+")
_TRAILING = re.compile(r"(?m)\S  # (.*)$")
_SENTENCE_ENDS = re.compile(r"[.!?:](?=\s)|\n\s*\n|\n\s*(?=[-*|]\s)")


@functools.lru_cache(maxsize=1)  # all bans look at one file before the next is opened
def parsed(text: str) -> ast.Module:
    """A module's syntax tree."""
    return ast.parse(text)


@functools.lru_cache(maxsize=1)
def prose(text: str) -> tuple[str, ...]:
    """Docstrings and comments of a module's text."""
    return (*docstrings(text), *comments(text))


def docstrings(text: str) -> Iterator[str]:
    """Docstrings of modules, classes and functions, and strings that document an attribute."""
    return _documented(parsed(text).body)


def _documented(body: Iterable[ast.stmt]) -> Iterator[str]:
    for node in body:
        match node:
            case ast.Expr(value=ast.Constant(value=str() as text)):
                yield text
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from _documented(node.body)
            case ast.If():
                yield from _documented([*node.body, *node.orelse])
            case _:
                pass


def comments(text: str) -> Iterator[str]:
    """Comments, those on neighbouring lines as one."""
    for block in _COMMENTS.findall(text):
        yield re.sub(r"(?m)^\s*# ?", "", block)
    yield from _TRAILING.findall(text)


def openings(text: str) -> Iterator[str]:
    """Docstrings and comments that begin with a relative clause instead of the rule."""
    for piece in prose(text):
        if _OPENINGS.match(piece.lstrip()):
            yield piece.strip().splitlines()[0]


def semicolons(text: str) -> Iterator[str]:
    """Sentences with more than one semicolon."""
    for piece in prose(text):
        for sentence in _SENTENCE_ENDS.split(piece):
            if sentence.count(";") > 1:
                yield " ".join(sentence.split())


def banned_words(text: str) -> Iterator[str]:
    """Lines with "whoever" or "nobody", in prose and in messages."""
    for line in text.splitlines():
        if _WORDS.search(line):
            yield line.strip()


def banned_phrases(text: str) -> Iterator[str]:
    """Sentences with "of who", "refuse who" and the like, or "at or behind"."""
    for piece in prose(text):
        for sentence in _SENTENCE_ENDS.split(piece):
            if _PHRASES.search(sentence):
                yield " ".join(sentence.split())


def stale_file_names(text: str) -> Iterator[str]:
    """Names of Python files that are not in this repository."""
    for piece in prose(text):
        for name in _FILE_NAME.findall(piece):
            if name not in _names():
                yield name


def long_lines(text: str) -> Iterator[str]:
    """Lines of more columns than the formatter allows code."""
    return (line.strip() for line in text.splitlines() if len(line) > MOST_COLUMNS)


def long_files(text: str) -> Iterator[str]:
    """The file itself, if it has too many lines."""
    count = text.count("\n")
    if count > MOST_LINES_IN_A_FILE:
        yield f"{count} lines"


BANS: dict[str, Callable[[str], Iterator[str]]] = {
    "openings": openings,
    "semicolons": semicolons,
    "words": banned_words,
    "phrases": banned_phrases,
    "stale": stale_file_names,
    "columns": long_lines,
    "lines": long_files,
}

_SOURCES = (
    "kafkalite",
    "wire",
    "log",
    "group_coordinator",
    "conformance",
    "tests",
    "docs",
    "examples",
)


@functools.cache
def _names() -> frozenset[str]:
    """Every Python file's path, and all that is left of it without its first folders."""
    return frozenset(
        "/".join(path.relative_to(ROOT).parts[start:])
        for top in _SOURCES
        for path in (ROOT / top).rglob("*.py")
        for start in range(len(path.relative_to(ROOT).parts))
    )
