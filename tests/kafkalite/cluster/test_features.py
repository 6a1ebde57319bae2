"""The features of Apache Kafka 4.3: each starts at a level it supports."""

from __future__ import annotations

from kafkalite.cluster.features import BOOTSTRAP_FEATURES, SUPPORTED_FEATURES


def test_every_feature_starts_within_its_range() -> None:
    for name, level in BOOTSTRAP_FEATURES.items():
        lowest, highest = SUPPORTED_FEATURES[name]
        assert lowest <= level <= highest, name


def test_only_kraft_version_is_not_in_the_metadata_log() -> None:
    """The quorum's voters are fixed, so that its version stays 0 (KIP-853)."""
    assert SUPPORTED_FEATURES.keys() - BOOTSTRAP_FEATURES.keys() == {"kraft.version"}
