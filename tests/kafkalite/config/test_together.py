"""Configs of a node that do not fit each other, at its start and while it runs."""

import pytest

from kafkalite.config import BrokerConfig, ConfigError
from kafkalite.config.definition import in_all_configs
from kafkalite.config.together import check_change

AT_LEAST_1MB = (
    "requirement failed: log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread."
)


def refusal(before: dict[str, str], after: dict[str, str]) -> str:
    """The words for a node with the listener OWN that would go on with `after`."""
    with pytest.raises(ConfigError) as raised:
        check_change(before, after, ["OWN"])
    return str(raised.value)


@pytest.mark.parametrize(
    ("configs", "words"),
    [
        (
            {"log.roll.ms": "0"},
            "requirement failed: log.roll.ms must be greater than or equal to 1",
        ),
        (
            {"log.roll.jitter.ms": "-1"},
            "requirement failed: log.roll.jitter.ms must be greater than or equal to 0",
        ),
        (
            {"log.retention.minutes": "0"},
            (
                "requirement failed: log.retention.ms must be unlimited (-1) or, greater than or "
                "equal to 1"
            ),
        ),
        ({"log.cleaner.threads": "0"}, "/ by zero"),
        ({"log.cleaner.threads": "128"}, AT_LEAST_1MB),
        (
            {"replica.socket.timeout.ms": "499"},
            (
                "requirement failed: replica.socket.timeout.ms should always be at least "
                "replica.fetch.wait.max.ms to prevent unnecessary socket timeouts"
            ),
        ),
        (
            {"replica.lag.time.max.ms": "499"},
            (
                "requirement failed: replica.fetch.wait.max.ms should always be less than or "
                "equal to replica.lag.time.max.ms to prevent frequent changes in ISR"
            ),
        ),
        *(
            (
                {"connections.max.idle.ms": idle},
                (
                    "requirement failed: connection.failed.authentication.delay.ms=100 should "
                    f"always be less than connections.max.idle.ms={idle} to prevent failed "
                    "authentication responses from timing out"
                ),
            )
            for idle in ("0", "100")
        ),
        (
            {"group.share.assignment.interval.ms": "15001"},
            (
                "group.share.assignment.interval.ms must be less than or equal to "
                "group.share.max.assignment.interval.ms"
            ),
        ),
        (
            {"group.consumer.session.timeout.ms": "44999"},
            (
                "group.consumer.session.timeout.ms must be greater than or equal to "
                "group.consumer.min.session.timeout.ms"
            ),
        ),
        (
            {
                "group.streams.heartbeat.interval.ms": "60000",
                "group.streams.max.heartbeat.interval.ms": "60000",
                "group.streams.session.timeout.ms": "60000",
            },
            (
                "group.streams.heartbeat.interval.ms must be less than "
                "group.streams.session.timeout.ms"
            ),
        ),
    ],
    ids=str,
)
def test_neither_a_start_nor_a_change_takes_them(configs: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError) as raised:
        BrokerConfig(configs)
    assert str(raised.value) == words
    assert refusal({}, configs) == words


def test_connections_may_be_silent_for_ever_or_longer_than_a_failed_login() -> None:
    BrokerConfig({"connections.max.idle.ms": "-1"})
    BrokerConfig({"connections.max.idle.ms": "101"})


def test_negative_retention_keeps_for_ever() -> None:
    check_change({}, {"log.retention.ms": "-5"}, [])


@pytest.mark.parametrize(
    ("name", "own", "before", "after", "reason"),
    [
        ("num.io.threads", "", "8", "3", "value should be at least half the current value 8"),
        (
            "background.threads",
            "",
            "10",
            "21",
            "value should not be greater than double the current value 10",
        ),
        (
            "num.network.threads",
            "listener.name.own.",
            "3",
            "7",
            "value should not be greater than double the current value 3",
        ),
    ],
)
def test_threads_grow_and_shrink_by_half(
    name: str, own: str, before: str, after: str, reason: str
) -> None:
    assert refusal({own + name: before}, {own + name: after}) == in_all_configs(
        f"Dynamic thread count update validation failed for {name}={after}, {reason}"
    )


def test_threads_may_double_and_halve() -> None:
    check_change({"num.io.threads": "8"}, {"num.io.threads": "16"}, ["OWN"])
    check_change({"num.io.threads": "9"}, {"num.io.threads": "4"}, ["OWN"])


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("1", "3", "increased to more than double the current value 1"),
        ("4", "1", "reduced to less than half the current value 4"),
    ],
)
def test_cleaners_grow_and_shrink_by_half(before: str, after: str, reason: str) -> None:
    configs = ({"log.cleaner.threads": before}, {"log.cleaner.threads": after})
    assert refusal(*configs) == in_all_configs(f"Log cleaner threads cannot be {reason}")


@pytest.mark.parametrize(
    ("configs", "reason"),
    [
        (
            {"log.local.retention.ms": "8", "log.retention.ms": "7"},
            (
                "Invalid value 8 for configuration log.local.retention.ms: Value must not be more "
                "than log.retention.ms property value: 7"
            ),
        ),
        (
            {"log.local.retention.bytes": "-1", "log.retention.bytes": "7"},
            (
                "Invalid value -1 for configuration log.local.retention.bytes: Value must not be "
                "-1 as log.retention.bytes value is set as 7."
            ),
        ),
    ],
)
def test_what_is_local_is_no_more_than_all(configs: dict[str, str], reason: str) -> None:
    assert refusal({}, configs) == in_all_configs(reason)
