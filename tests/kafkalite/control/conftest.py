"""One broker for a module of tests, reset between them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafkalite.testing import broker
from tests.kafkalite.control_port import ready

__all__ = ["k", "ready", "shared"]


@pytest.fixture(scope="module")
def shared() -> Iterator[broker]:
    with broker(profile="test") as running:
        yield running


@pytest.fixture
def k(shared: broker) -> Iterator[broker]:
    yield shared
    unfired = shared.faults.unfired()
    shared.reset()
    assert not unfired
