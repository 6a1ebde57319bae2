"""The modules of share and streams groups are imported when the first such group is met."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kafkalite.group_coordinator.later_modules import to_import
from kafkalite.group_coordinator.state_log import ReplayedMarker, ReplayedRecord
from kafkalite.wire.messages.stored import CONSUMER_OFFSETS

# In a process of its own, as this one has them all.
PROGRAM = """
import sys
import kafkalite.quorum_broker
from kafkalite.group_coordinator.later_modules import to_import
from kafkalite.group_coordinator.state_log import ReplayedRecord

protocol, *kinds = sys.argv[1:]
module = f"kafkalite.group_coordinator.{protocol}_protocol"
for kind in kinds:
    assert module not in sys.modules
    record = ReplayedRecord(0, int(kind).to_bytes(2, "big") + b"rest", None)
    needed = to_import(record)
    assert needed is not None, kind
needed()
assert module in sys.modules
assert to_import(record) is None
"""


@pytest.mark.parametrize("protocol", ["share", "streams"])
def test_each_kind_of_record_names_what_is_not_here(protocol: str) -> None:
    kinds = [str(kind) for kind, name in CONSUMER_OFFSETS.items() if name.startswith(protocol)]
    assert len(kinds) == 6
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, protocol, *kinds],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr


def test_others_need_nothing() -> None:
    for kind, name in CONSUMER_OFFSETS.items():
        if not name.startswith(("share", "streams")):
            assert to_import(ReplayedRecord(0, kind.to_bytes(2, "big"), None)) is None
    assert to_import(ReplayedRecord(0, b"\x03\xe7", None)) is None
    assert to_import(ReplayedRecord(0, b"", None)) is None
    assert to_import(ReplayedMarker(1, committed=True)) is None
