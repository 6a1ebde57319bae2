"""Secrets are compared in constant time: `hmac.compare_digest`, never `==` or `in`.

Held by the source: a comparison whose side is called by a secret's name is refused.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3] / "kafkalite"
# The rooms and files that see secrets of others.
SOURCES = sorted(
    [
        *(ROOT / "security").rglob("*.py"),
        ROOT / "control" / "http.py",
        ROOT / "terminal" / "login.py",
        ROOT / "server" / "sasl_handler.py",
        *(ROOT / "apis").glob("*delegation_token.py"),
        *(ROOT / "apis").glob("sasl_*.py"),
    ]
)
SECRET = re.compile(
    r"(?:^|_)(?:password|passwords|secret|secrets|hmac|mac|digest|proof|signature|nonce"
    r"|stored_key|server_key|bearer|credential|credentials|salted)(?:$|_(?!type|expiry|count))"
)
# Files that have a secret of somebody else's in hand, and the comparisons there.
COMPARISONS = {
    "control/http.py": 1,
    "security/delegation_tokens.py": 1,
    "security/key_stores.py": 2,
    "security/sasl/client.py": 1,
    "security/sasl/plain.py": 1,
    "security/sasl/scram.py": 2,
}


def name_of(side: ast.expr) -> str:
    """The name by which a side of a comparison is called."""
    match side:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=ast.Attribute(attr="encode" | "decode" | "strip", value=value)):
            return name_of(value)
        case ast.Call(func=function):
            return name_of(function)
        case ast.Subscript(value=value, slice=ast.Constant(value=str(key))):
            return f"{name_of(value)}_{key}"
        case ast.Subscript(value=value):
            return name_of(value)
        case _:
            return ""


def is_public(side: ast.expr) -> bool:
    """True for what everybody may know: constants, and names of types, which begin large."""
    return isinstance(side, ast.Constant) or name_of(side)[:1].isupper()


def open_comparisons(source: str) -> Iterator[int]:
    """The lines in which secrets are compared so that the time tells."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Compare):
            continue
        sides = [node.left, *node.comparators]
        if all(isinstance(each, ast.Is | ast.IsNot) for each in node.ops):
            continue
        if any(SECRET.search(name_of(each)) for each in sides) and not any(map(is_public, sides)):
            yield node.lineno


@pytest.mark.parametrize("path", SOURCES, ids=[str(path.relative_to(ROOT)) for path in SOURCES])
def test_no_secret_is_compared_in_the_open(path: Path) -> None:
    assert list(open_comparisons(path.read_text())) == []


@pytest.mark.parametrize("file", COMPARISONS)
def test_secrets_are_compared_at_all(file: str) -> None:
    calls = [
        node
        for node in ast.walk(ast.parse((ROOT / file).read_text()))
        if isinstance(node, ast.Call) and name_of(node) == "compare_digest"
    ]
    assert len(calls) == COMPARISONS[file]


def test_other_files_compare_none() -> None:
    found = {
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*.py")
        if "compare_digest" in path.read_text()
    }
    assert found == set(COMPARISONS)


@pytest.mark.parametrize(
    "line",
    [
        "expected == password",
        "self._credential.stored_key != computed",
        "password.encode() == options.get(user)",
        "hmac_of(token) == given",
        "given in self._secrets",
        "match['nonce'] != self.first",
        "hmac.new(key, text, 'sha256').hexdigest() == digest",
    ],
)
def test_a_planted_comparison_is_found(line: str) -> None:
    assert list(open_comparisons(f"def check():\n    return {line}\n")) == [2]


@pytest.mark.parametrize(
    "line",
    ["password is None", "password == ''", "kind in ('password', 'text')", "token_id == other"],
)
def test_what_is_no_secret_is_left_alone(line: str) -> None:
    assert list(open_comparisons(f"def check():\n    return {line}\n")) == []
