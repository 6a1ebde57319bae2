"""Hypothesis finds fault with wrong answers, never with a busy machine.

With KAFKALITE_COMPILED=1 (`make unit-compiled`) the tests refuse to run on sources.
"""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

import kafkalite
from kafkalite.log import loggers
from kafkalite.wire.parse_support import NO_ELEMENTS

settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")

# The longest begin first, so that no worker is alone in the end.
LONGEST = (
    "test_simulation",
    "test_coordinator_simulation",
    "test_transaction_simulation",
    "test_failing_coordinators",
    "test_pytest_plugin",
    "test_acceptance",
    "test_crashes",
)


def pytest_configure() -> None:
    # The tests' brokers are not announced to the user's terminals, nor the user's to the tests.
    os.environ.pop("XDG_RUNTIME_DIR", None)
    found = kafkalite.version_and_build()
    if os.environ.get("KAFKALITE_COMPILED") == "1" and "compiled" not in found:
        pytest.exit(f"{kafkalite.__file__} is {found}", returncode=4)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    order = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.stem, len(LONGEST)))


@pytest.fixture(autouse=True)
def nothing_is_added_to_what_was_parsed() -> Iterator[None]:
    """All empty arrays of large frames are one list."""
    yield
    assert NO_ELEMENTS == []


@pytest.fixture(autouse=True)
def others_name_no_lines() -> Iterator[None]:
    """A broker of the whole run, begun by another test, would number those of this test."""
    running = set(loggers._running)
    loggers._running.clear()
    yield
    loggers._running.clear()
    loggers._running.update(running)
