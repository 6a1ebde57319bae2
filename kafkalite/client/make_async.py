"""Makes async_kit.py of kit.py: the same verbs, awaited. Run by `make client`."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Final

_HERE: Final = Path(__file__).parent
_CLASSES: Final = ("Kit", "Faults", "Fault", "Group", "Transaction", "Clock", "Wait", "Call")


def make_async(source: str) -> str:
    """The text of async_kit.py for the text of kit.py."""
    lines = source.splitlines()
    tree = ast.parse(source)
    last_of_classes = max(
        node.end_lineno or 0 for node in tree.body if isinstance(node, ast.ClassDef)
    )
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name in _CLASSES:
            for method in node.body:
                if isinstance(method, ast.FunctionDef):
                    _make_method(method, lines)
    text = "\n".join(lines[:last_of_classes]) + "\n"
    for name in _CLASSES:
        text = re.sub(rf"\b{name}\b(?!\()", f"Async{name}", text)
        text = re.sub(rf"\b{name}\((self|Protocol)", rf"Async{name}(\1", text)
    start = text.index('"""', 3) + 3
    head = '"""The verbs as Python, for `await`. Made from kit.py by make_async.py; not to be edited."""'
    text = head + text[start:]
    helpers = "from kafkalite.client.kit import Do, fields_of, new_record, read_seed, text_of\n"
    text = text.replace(
        "from kafkalite.control.faults.presets", helpers + "from kafkalite.control.faults.presets"
    )
    text = text.replace("@contextmanager", "@asynccontextmanager")
    text = text.replace("import contextmanager", "import asynccontextmanager")
    text = text.replace("def frozen(self) -> Iterator", "def frozen(self) -> AsyncIterator")
    text = text.replace("import Iterator, Mapping", "import AsyncIterator, Mapping")
    text = text.replace("async def __exit__", "async def __aexit__")
    text = text.replace("def __enter__", "async def __aenter__")
    text = re.sub(r"^Do = .*\n", "", text, flags=re.MULTILINE)
    return text


def _make_method(method: ast.FunctionDef, lines: list[str]) -> None:
    """Make a method async if it asks for a verb."""
    body = range(method.lineno - 1, method.end_lineno or method.lineno)
    asks = any(
        re.search(
            r"self\.(_kit\.)?_ask\(|self\._do\(|self\._for\(|self\.(until|show|freeze|run|remove|_add)\(",
            lines[i],
        )
        for i in body
    )
    if not asks and method.name != "__ask__":
        return
    first = method.lineno - 1
    lines[first] = lines[first].replace("def ", "async def ", 1)
    for i in body:
        lines[i] = re.sub(
            r"self\.(_kit\._ask|_ask|_do|_for|until|show|freeze|run|remove|_add)\(",
            r"await self.\1(",
            lines[i],
        )


def main() -> None:
    """Write async_kit.py."""
    (_HERE / "async_kit.py").write_text(make_async((_HERE / "kit.py").read_text()))


if __name__ == "__main__":
    main()
