"""The Java process, one for all tests of the referees."""

from collections.abc import Iterator

import pytest

from conformance.harness.referee import Referee


@pytest.fixture(scope="package")
def kafka() -> Iterator[Referee]:
    with Referee() as referee:
        yield referee
