"""A record as JSON and as text."""

from __future__ import annotations

import pytest

import kafkalite.testing
from kafkalite.terminal.records import as_text
from tests.kafkalite.terminal.conftest import Run


def test_what_is_no_text_is_base64(run: Run, kafka: kafkalite.testing.broker, topic: str) -> None:
    kafka.produce(topic, b"\xff\x00", key="ü", headers={"a": "1"}, timestamp=1_700_000_000_123)
    assert run("tail", topic, "--json").json == {
        "topic": topic,
        "partition": 0,
        "offset": 0,
        "timestamp": 1_700_000_000_123,
        "key": "ü",
        "value": "/wA=",
        "headers": [{"name": "a", "value": "1", "value_encoding": "utf-8"}],
        "key_encoding": "utf-8",
        "value_encoding": "base64",
    }


def test_a_line_of_text() -> None:
    row = {
        "partition": 1,
        "offset": 7,
        "timestamp": 0,
        "key": None,
        "value": "a\x1b[31m\nb",
        "headers": [{"name": "x", "value": "1"}, {"name": "y", "value": None}],
    }
    line = as_text(row).plain
    assert line.endswith("  1@7  null  a\\x1b[31m\\nb  x=1  y=null")
    assert "\n" not in line


@pytest.mark.parametrize("timestamp", [253_402_387_200_000, (1 << 63) - 1])
def test_a_time_after_the_year_9999(timestamp: int) -> None:
    row = {"partition": 0, "offset": 0, "timestamp": timestamp, "key": "k", "value": "v"}
    assert as_text({**row, "headers": []}).plain == f"{timestamp} ms  0@0  k  v"
