"""Configs that a group may set for itself."""

from __future__ import annotations

import pytest
import trio

from kafkalite.group_coordinator.config import GroupConfig
from kafkalite.group_coordinator.group_overrides import GroupOverrides
from kafkalite.wire.errors import ErrorCode


async def test_a_group_may_choose_its_own_times(autojump_clock, world):
    world.group_configs["group"] = {
        "consumer.session.timeout.ms": "50000",
        "consumer.heartbeat.interval.ms": "99999",
    }
    consumer = world.consumer()
    await consumer.beat()
    assert consumer.interval == 15.0  # no more than the broker allows
    await trio.sleep(49)
    assert await consumer.beat() == ErrorCode.NONE


@pytest.mark.parametrize("family", ["consumer", "share", "streams"])
@pytest.mark.parametrize(
    "name", ["session_timeout_ms", "heartbeat_interval_ms", "assignment_interval_ms"]
)
def test_times_are_within_the_broker_s_limits(family, name):
    broker = GroupConfig(
        **{
            f"group_{family}_{name}": 700,
            f"group_{family}_min_{name}": 500,
            f"group_{family}_max_{name}": 900,
        }
    )
    own = f"{family}.{name}".replace("_", ".")
    for text, expected in ((None, 700), ("600", 600), ("1", 500), ("9999", 900)):
        configs = {"mine": {} if text is None else {own: text}}
        overrides = GroupOverrides(broker, configs.__getitem__)
        assert getattr(overrides, name)(family, "mine") == expected


def test_what_only_streams_groups_have():
    broker = GroupConfig(
        group_streams_num_standby_replicas=1,
        group_streams_max_standby_replicas=3,
        group_streams_initial_rebalance_delay_ms=4,
    )
    own: dict[str, str] = {}
    overrides = GroupOverrides(broker, lambda group_id: own)
    assert overrides.streams_num_standby_replicas("mine") == 1
    assert overrides.streams_initial_rebalance_delay_ms("mine") == 4
    own |= {"streams.num.standby.replicas": "9", "streams.initial.rebalance.delay.ms": "5"}
    assert overrides.streams_num_standby_replicas("mine") == 3
    assert overrides.streams_initial_rebalance_delay_ms("mine") == 5
