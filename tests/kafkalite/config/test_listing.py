"""kafkalite --configs lists every config with its mark."""

from __future__ import annotations

import pytest

from kafkalite.__main__ import main
from kafkalite.config import (
    BROKER_CONFIGS,
)


def test_the_configs_are_listed_with_what_becomes_of_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--configs", "--set", "num.partitions=7", "--set", "num.io.threads=2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = {line.split()[0]: line.split()[1:] for line in lines}
    assert rows["num.partitions"] == ["7", "set", "enforced"]
    assert rows["num.io.threads"] == ["2", "set", "accepted"]
    assert rows["log.retention.hours"] == ["168", "default", "enforced"]
    assert rows["group.initial.rebalance.delay.ms"] == ["0", "default", "enforced"]
    assert rows["create.topic.policy.class.name"][-2:] == ["default", "refused"]
    assert len(rows) == 1 + sum(not item.internal for item in BROKER_CONFIGS.values())
