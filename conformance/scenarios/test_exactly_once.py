"""The proof of exactly once, short: `make prove` is the same for 20 minutes."""

import random
from pathlib import Path

import pytest

from conformance.exactly_once_soak.__main__ import prove

SECONDS = 45


def test_every_record_exactly_once(pytestconfig: pytest.Config, tmp_path: Path) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    assert prove(pytestconfig.getoption("--broker"), SECONDS, seed, tmp_path) is None
