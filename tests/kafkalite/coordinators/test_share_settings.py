"""The limits of a share group: its own, within the broker's; or the broker's."""

from __future__ import annotations

import pytest

from kafkalite.config import BrokerConfig
from kafkalite.coordinators.share_settings import (
    EARLIEST,
    LATEST,
    ShareGroupSettings,
)
from kafkalite.replica.share.share_partition import ShareLimits

NOW_MS = 1_700_000_000_000


def settings(broker: dict[str, str] | None = None, **own: str) -> ShareGroupSettings:
    """`own` with underscores for dots, of the group `mine`."""
    configs = {"mine": {name.replace("_", "."): text for name, text in own.items()}}
    return ShareGroupSettings(
        BrokerConfig({"listeners": "PLAINTEXT://127.0.0.1:0", **(broker or {})}),
        lambda group_id: configs.get(group_id, {}),
        lambda: NOW_MS,
    )


def test_a_group_without_configs_has_the_broker_s() -> None:
    assert settings().limits("mine") == ShareLimits(30.0, 5, 2000, renew_acknowledge_enable=True)
    broker = {
        "group.share.record.lock.duration.ms": "20000",
        "group.share.delivery.count.limit": "7",
        "group.share.partition.max.record.locks": "500",
    }
    assert settings(broker).limits("mine") == ShareLimits(20.0, 7, 500)


def test_a_group_has_its_own() -> None:
    made = settings(
        share_record_lock_duration_ms="25000",
        share_delivery_count_limit="3",
        share_partition_max_record_locks="300",
        share_renew_acknowledge_enable=" FALSE ",
    )
    assert made.limits("mine") == ShareLimits(25.0, 3, 300, renew_acknowledge_enable=False)
    assert made.record_lock_duration_ms("mine") == 25_000
    assert made.limits("another") == ShareLimits()


@pytest.mark.parametrize(("own", "expected"), [("1", 15_000), ("9999999", 60_000)])
def test_what_is_outside_of_the_broker_s_limits_counts_as_the_nearest_inside(
    own: str, expected: int
) -> None:
    assert settings(share_record_lock_duration_ms=own).record_lock_duration_ms("mine") == expected


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("record.lock.duration.ms", 16_000, 40_000),
        ("delivery.count.limit", 3, 7),
        ("partition.max.record.locks", 1_000, 3_000),
    ],
)
def test_limits_are_those_of_the_broker(name: str, least: int, most: int) -> None:
    broker = {f"group.share.min.{name}": f"{least}", f"group.share.max.{name}": f"{most}"}
    for own, expected in ((1, least), (2 * most, most)):
        found = settings(broker, **{f"share_{name.replace('.', '_')}": f"{own}"}).limits("mine")
        limits = {
            "record.lock.duration.ms": found.record_lock_duration_seconds * 1000,
            "delivery.count.limit": found.delivery_count_limit,
            "partition.max.record.locks": found.partition_max_record_locks,
        }
        assert limits[name] == expected


@pytest.mark.parametrize(
    ("reset", "expected"),
    [
        (None, LATEST),
        ("latest", LATEST),
        ("earliest", EARLIEST),
        (" earliest ", EARLIEST),
        ("by_duration:PT1H", NOW_MS - 3_600_000),
        (" by_duration:PT1H ", NOW_MS - 3_600_000),
        ("by_duration:P1DT0.25S", NOW_MS - 86_400_250),
    ],
)
def test_where_a_group_begins(reset: str | None, expected: int) -> None:
    own = {} if reset is None else {"share_auto_offset_reset": reset}
    assert settings(**own).reset_timestamp_ms("mine") == expected


@pytest.mark.parametrize(
    ("level", "expected"),
    [(None, False), ("read_uncommitted", False), (" read_committed ", True)],
)
def test_what_a_group_reads(level: str | None, expected: bool) -> None:
    own = {} if level is None else {"share_isolation_level": level}
    assert settings(**own).reads_committed_only("mine") is expected
