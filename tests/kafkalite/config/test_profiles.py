"""Profiles: configs under a name, of which each is one that the broker has."""

from __future__ import annotations

import time

import pytest

from kafkalite.config import BrokerConfig, ConfigError
from kafkalite.config.profiles import PROFILES, profile
from kafkalite.testing import broker


@pytest.mark.parametrize("name", PROFILES)
def test_its_configs_are_the_broker_s(name: str) -> None:
    config = BrokerConfig({"listeners": "PLAINTEXT://127.0.0.1:0", **profile(name)})
    for key, text in profile(name).items():
        assert config.integer(key) == int(text)


def test_a_profile_cannot_be_changed() -> None:
    profile("test").clear()
    assert profile("test") == dict(PROFILES["test"])


def test_one_that_is_not_there() -> None:
    with pytest.raises(ConfigError, match=r"there is no profile 'fast' \(there is: test\)"):
        profile("fast")


async def test_what_is_set_by_itself_wins() -> None:
    async with broker({"offsets.topic.num.partitions": "2"}, profile="test") as running:
        config = running._running.services.config
        assert config.integer("offsets.topic.num.partitions") == 2
        assert config.integer("group.initial.rebalance.delay.ms") == 0


@pytest.mark.parametrize(("name", "kept"), [("test", 1), (None, 0)])
def test_records_of_years_ago_stay(name: str | None, kept: int) -> None:
    with broker({"log.retention.check.interval.ms": "10"}, profile=name) as running:
        running.create_topic("orders")
        running.produce("orders", b"old", timestamp=1_600_000_000_000)
        if kept:
            time.sleep(0.3)
        deadline = time.monotonic() + 10
        while len(running.records("orders")) != kept:
            assert time.monotonic() < deadline
            time.sleep(0.02)
