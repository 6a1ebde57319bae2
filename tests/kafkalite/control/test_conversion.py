"""Plain data into typed values, by several threads at once."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import msgspec
import pytest

from kafkalite.control import lifecycle, questions, sightings
from kafkalite.control.conversion import converted, decoded
from kafkalite.control.faults.rule import Rule, When

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


@pytest.mark.parametrize(
    ("value", "to", "sentence"),
    [
        ({"limit": "x"}, sightings.ListRequests, "limit is 'x': expected int, got str"),
        ({"mode": "loud"}, sightings.SetSpy, "mode is 'loud': it is off or on or full"),
        ({"do": [{"drop": "never"}]}, Rule, "do.drop is 'never': it is before or after"),
        ({"do": [{}, {"hold": 1}]}, Rule, "do.hold is 1: it is true or before or after"),
        ({"keep": ["all"]}, lifecycle.Reset, "keep is 'all': it is faults or clock"),
        ({"nodes": 0}, questions.CreateCluster, "nodes is 0: expected int >= 1"),
        ({"sequence": [[{"repeat": 1}]]}, Rule, "sequence.repeat is 1: expected int >= 2"),
        (
            {"until": {"group": {"id": "g", "members": "x"}}},
            questions.Wait,
            "until.group.members is 'x': expected int | null, got str",
        ),
        ({}, questions.TopicName, "Object missing required field `topic`"),
        ({"topic": "t", "odd": 1}, questions.TopicName, "this has no field 'odd' (there is topic)"),
        (3, Rule, "Expected `object`, got `int`"),
        ({"do": {}}, Rule, "Expected `array`, got `object` - at `$.do`"),
        (
            {"configs": {"a": 1}},
            questions.CreateCluster,
            "Expected `str`, got `int` - at `$.configs[...]`",
        ),
    ],
)
def test_what_does_not_fit_is_a_sentence(value: object, to: Any, sentence: str) -> None:
    """The field, its value, and what it may be; the value is left out where it is large."""
    with pytest.raises(msgspec.ValidationError) as caught:
        converted(value, to, strict=False)
    assert str(caught.value) == sentence
