"""Hypothesis finds fault with wrong answers, never with a busy machine.

With KAFKALITE_COMPILED=1 (`make unit-compiled`) the tests refuse to run on sources.
"""

import os

import pytest
from hypothesis import HealthCheck, settings

import kafkalite

settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")


def pytest_configure() -> None:
    # The tests' brokers are not announced to the user's terminals, nor the user's to the tests.
    os.environ.pop("XDG_RUNTIME_DIR", None)
    found = kafkalite.version_and_build()
    if os.environ.get("KAFKALITE_COMPILED") == "1" and "compiled" not in found:
        pytest.exit(f"{kafkalite.__file__} is {found}", returncode=4)
