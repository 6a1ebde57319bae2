"""Apache Kafka and kafkalite with a listener for SASL each, which the tests here share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.security.pair import SECURITY, SecuredKafka, SecuredKafkalite


@pytest.fixture(scope="session")
def secured(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[SecuredKafka, SecuredKafkalite]]:
    """Apache Kafka and kafkalite."""
    directory = tmp_path_factory.mktemp("secured")
    ours = SecuredKafkalite(directory / "kafkalite", SECURITY)
    try:
        theirs = SecuredKafka(directory / "kafka", SECURITY)
    except BaseException:
        ours.stop()
        raise
    yield theirs, ours
    theirs.stop()
    ours.stop()
