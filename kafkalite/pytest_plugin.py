"""The fixtures that come with the package, through pytest's entry point.

`kafkalite_broker` is a fresh broker for one test; `kafkalite_broker_session` one for the whole run,
faster where tests use topics of their own. Both give a `kafkalite.testing.broker`: `.bootstrap`,
`.create_topic(...)`. pytest imports this module in every run, hence the late import.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from kafkalite.testing import broker


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line(
        "markers",
        "kafkalite(**arguments): how kafkalite_broker is made, as kafkalite.testing.broker",
    )


@pytest.fixture
def kafkalite_broker(request: pytest.FixtureRequest) -> Iterator[broker]:
    """A broker of this test's own, in a thread, on a free port, in a temporary directory.

    `@pytest.mark.kafkalite(sasl="plain:alice:secret", tls="auto", acls=True)` secures it.
    """
    from kafkalite.testing import broker

    marker = request.node.get_closest_marker("kafkalite")
    with broker(**({} if marker is None else marker.kwargs)) as running:
        yield running


@pytest.fixture(scope="session")
def kafkalite_broker_session() -> Iterator[broker]:
    """One broker for all tests of the run that ask for it."""
    from kafkalite.testing import broker

    with broker() as running:
        yield running
