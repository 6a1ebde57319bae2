"""Three brokers of each kind under controllers, asked the same: both answer the same.

The commands of the same steps print every answer (three_deletions.py, three_processes.py).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from conformance.differential import three_deletions
from conformance.differential.three_processes import KINDS

pytestmark = pytest.mark.xdist_group("three-brokers")


@pytest.mark.long
def test_records_are_deleted_while_replicas_stand_still_and_die() -> None:
    with ThreadPoolExecutor(len(KINDS)) as pool:
        theirs, ours = pool.map(three_deletions.run, KINDS)
    assert dict(zip(three_deletions.STEPS, ours, strict=True)) == dict(
        zip(three_deletions.STEPS, theirs, strict=True)
    )
    assert sum(has_waited for _, _, has_waited in theirs) == 1
