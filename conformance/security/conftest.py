"""Apache Kafka and kafkalite with a listener for SASL each, which the tests here share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from conformance.security.pair import SECURITY, SecuredKafka, SecuredKafkalite


@pytest.fixture(scope="session")
def secured(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[SecuredKafka, SecuredKafkalite]]:
    """Apache Kafka and kafkalite."""
    directory = tmp_path_factory.mktemp("secured")
    with ExitStack() as stack:
        ours = SecuredKafkalite(directory / "kafkalite", SECURITY)
        stack.callback(ours.stop)
        theirs = SecuredKafka(directory / "kafka", SECURITY)
        stack.callback(theirs.stop)
        yield theirs, ours
