"""Makes the files of verbs that are awaited of those that are not. Run by `make client`."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Final

_HERE: Final = Path(__file__).parent
FILES: Final = ("kit", "looking", "parts", "waiting")
_CLASSES: Final = (
    "Kit",
    "Call",
    "Asks",
    "Faults",
    "Fault",
    "Group",
    "Looking",
    "Recording",
    "Transaction",
    "Clock",
    "Wait",
)
_ALWAYS: Final = frozenset({"__call__", "ask"})
_ASKS: Final = re.compile(r"self\.(_kit\.ask|ask|_do|_for|until|show|freeze|run|remove|_add)\(")


def make_async(source: str, name: str) -> str:
    """The text of async_<name>.py for the text of <name>.py."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, ast.FunctionDef):
                    _make_method(method, lines)
    text = "\n".join(lines) + "\n"
    docstring_end = text.index('"""', 3) + 3
    head = f'"""The verbs of {name}.py, awaited. Made by make_async.py, not to be edited."""'
    text = head + text[docstring_end:]
    for class_ in _CLASSES:
        text = re.sub(rf"\b{class_}\b", f"Async{class_}", text)
    for file in ("looking", "parts", "waiting"):
        text = text.replace(f"kafkalite.client.{file} ", f"kafkalite.client.async_{file} ")
    text = text.replace("contextmanager", "asynccontextmanager")
    text = text.replace("Generator", "AsyncGenerator")
    text = text.replace("async def __exit__", "async def __aexit__")
    text = re.sub(r"(async )?def __enter__", "async def __aenter__", text)
    if name == "kit":
        text = re.sub(r"^Do = .*\n", "", text, flags=re.MULTILINE)
        text = text.replace(
            "from kafkalite.client.values",
            "from kafkalite.client.kit import Do\nfrom kafkalite.client.values",
        )
    return text


def _make_method(method: ast.FunctionDef, lines: list[str]) -> None:
    """Make a method async if it asks for a verb."""
    body = range(method.lineno - 1, method.end_lineno or method.lineno)
    if method.name not in _ALWAYS and not any(_ASKS.search(lines[i]) for i in body):
        return
    first = method.lineno - 1
    lines[first] = lines[first].replace("def ", "async def ", 1)
    for i in body:
        lines[i] = _ASKS.sub(r"await self.\1(", lines[i])


def main() -> None:
    """Write the files."""
    for name in FILES:
        source = (_HERE / f"{name}.py").read_text()
        (_HERE / f"async_{name}.py").write_text(make_async(source, name))


if __name__ == "__main__":
    main()
