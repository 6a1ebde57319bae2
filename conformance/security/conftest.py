"""Apache Kafka and kafkalite with a listener for SASL each, which the tests here share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.security.pair import SecuredKafka, SecuredKafkalite, secured_pair


@pytest.fixture(scope="package")
def secured(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[SecuredKafka, SecuredKafkalite]]:
    """Two brokers that modules share: each finds what others left."""
    with secured_pair(tmp_path_factory.mktemp("secured")) as pair:
        yield pair


@pytest.fixture(scope="package")
def compared(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[SecuredKafka, SecuredKafkalite]]:
    """Two brokers whose lists of all topics and groups are compared: no client leaves any there."""
    with secured_pair(tmp_path_factory.mktemp("compared")) as pair:
        yield pair
