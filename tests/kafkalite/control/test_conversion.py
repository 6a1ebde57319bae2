"""Plain data into typed values, by several threads at once."""

from __future__ import annotations

import subprocess
import sys

from kafkalite.control.conversion import converted, decoded
from kafkalite.control.faults.rule import When

# msgspec alone ends the process here, nearly always.
AT_ONCE = """
import sys
from threading import Barrier, Thread

import msgspec

from kafkalite.control.answers import FaultView
from kafkalite.control.conversion import decoded

sys.setswitchinterval(1e-6)
barrier = Barrier(26)
found = []

def decode():
    barrier.wait()
    for _ in range(3):
        try:
            decoded(b'{"rule": {"id": "x", "do": [{"type": "drop"}]}}', FaultView)
        except msgspec.ValidationError as error:
            found.append(str(error))

threads = [Thread(target=decode) for _ in range(26)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert len(found) == 78 and len(set(found)) == 1, found
"""


def test_many_threads_use_a_type_for_the_first_time() -> None:
    subprocess.run([sys.executable, "-c", AT_ONCE], check=True)


def test_values_and_json() -> None:
    assert converted({"api": "Produce"}, When).api == "Produce"
    assert converted("5", int, strict=False) == 5
    assert decoded(b"[1, 2]", list[int]) == [1, 2]
