"""The broker's own configs about groups."""

from __future__ import annotations

import pytest

from kafkalite.group_coordinator.config import GroupConfig


@pytest.mark.parametrize("group_type", ["consumer", "share", "streams"])
def test_each_type_of_groups_has_a_size_of_its_own(group_type: str) -> None:
    config = GroupConfig(
        group_consumer_max_size=1, group_share_max_size=2, group_streams_max_size=3
    )
    expected = {"consumer": 1, "share": 2, "streams": 3}[group_type]
    assert config.max_size(group_type) == expected


def test_retention_is_given_in_minutes() -> None:
    assert GroupConfig(offsets_retention_minutes=2).offsets_retention_ms == 120_000
