"""The features of Apache Kafka 4.3: each starts at a level it supports."""

from __future__ import annotations

import pytest

from kafkalite.cluster.features import (
    BOOTSTRAP_FEATURES,
    ELR_FEATURE,
    METADATA_VERSION,
    SUPPORTED_FEATURES,
    loses_metadata,
    missing_level,
)


def test_every_feature_starts_within_its_range() -> None:
    for name, level in BOOTSTRAP_FEATURES.items():
        lowest, highest = SUPPORTED_FEATURES[name]
        assert lowest <= level <= highest, name


def test_only_kraft_version_is_not_in_the_metadata_log() -> None:
    """The quorum's voters are fixed, so that its version stays 0 (KIP-853)."""
    assert SUPPORTED_FEATURES.keys() - BOOTSTRAP_FEATURES.keys() == {"kraft.version"}


@pytest.mark.parametrize(
    ("level", "present", "loses"),
    [(29, 30, True), (28, 29, False), (23, 29, False), (22, 29, True), (18, 19, False)],
)
def test_there_is_no_way_back_behind_a_level_with_other_records(
    level: int, present: int, loses: bool
) -> None:
    assert loses_metadata(level, present) is loses
    assert not loses_metadata(present, level)


def test_a_level_may_need_another_feature() -> None:
    assert missing_level(ELR_FEATURE, 1, {METADATA_VERSION: 22}) == (METADATA_VERSION, 23)
    assert missing_level(ELR_FEATURE, 1, {METADATA_VERSION: 23}) is None
    assert missing_level(ELR_FEATURE, 0, {}) is None
    assert missing_level("group.version", 1, {}) is None
