"""Data directories that take no new partitions (cordoned.log.dirs)."""

from __future__ import annotations

import pytest

from kafkalite.config import (
    BrokerConfig,
    ConfigError,
)


@pytest.mark.parametrize(
    ("cordoned", "reason"),
    [
        ("/b,/nowhere", r"Missing entries : /nowhere"),
        ("*,/a", r"When cordoned\.log\.dirs is set to \*, it must not contain other values"),
    ],
)
def test_cordoned_log_dirs_are_log_dirs(cordoned: str, reason: str) -> None:
    config = BrokerConfig({"log.dirs": "/a,/b", "cordoned.log.dirs": "/b"})
    assert [config.is_cordoned(each) for each in config.log_dirs] == [False, True]
    with pytest.raises(ConfigError, match=reason):
        BrokerConfig({"log.dirs": "/a,/b", "cordoned.log.dirs": cordoned})
