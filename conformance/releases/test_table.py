"""The table of releases says what the jars of Apache Kafka say."""

from __future__ import annotations

import pytest

from conformance.releases.derive import PATCHES, line_of
from kafkalite.config.releases import TABLE, releases


def test_every_release_is_in_the_table() -> None:
    assert list(releases()) == list(PATCHES)


@pytest.mark.parametrize(
    "release",
    [*(pytest.param(each, marks=pytest.mark.long) for each in ("2.8", "3.3")), "3.9", "4.3"],
)
def test_a_line_is_what_the_jars_say(release: str) -> None:
    assert line_of(release) in TABLE.read_text().splitlines(keepends=True)
