"""The modules that a start imports are counted, as time depends on the machine."""

import subprocess
import sys

import pytest

# Each takes milliseconds, and a broker that starts needs none of them.
_NEVER = {
    *("asyncio", "construct", "csv", "difflib", "email", "h11"),
    *("importlib.metadata", "importlib.resources", "prometheus_client", "re2"),
}
_PROGRAM = """
import sys
compiled = 0
def count(event, arguments):
    global compiled
    compiled += event == "exec" and arguments[0].co_filename == "<string>"
sys.addaudithook(count)
before = set(sys.modules)
import {module}
print(*sorted(set(sys.modules) - before))
print(compiled)
"""


def imported(module: str) -> tuple[set[str], int]:
    """The modules that come with one, and how many functions are compiled meanwhile."""
    program = _PROGRAM.format(module=module)
    shown = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    names, compiled = shown.stdout.splitlines()
    return set(names.split()), int(compiled)


@pytest.mark.parametrize(
    ("module", "most_modules", "most_compiled"),
    [("kafkalite.broker", 289, 80), ("kafkalite.testing", 329, 85)],
)
def test_what_a_start_imports(module: str, most_modules: int, most_compiled: int) -> None:
    names, compiled = imported(module)
    assert not names & _NEVER
    assert len([name for name in names if name.startswith("kafkalite.")]) <= most_modules
    # Methods of dataclasses cost as much as a small module each: a start makes msgspec's Structs.
    assert compiled <= most_compiled
