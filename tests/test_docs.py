"""The documents say what the code does: their generated parts are as `make docs` would write
them."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parent.parent / "docs"


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", generator().PARTS)
def test_generated_parts_are_up_to_date(name: str) -> None:
    written = (DOCS.parent / name).read_text()
    assert written == generator().generated(name), "run `make docs`"
