"""Failed logins are counted one by one, and said once a second for each address."""

from __future__ import annotations

import logging

import pytest
import trio
from trio.testing import MockClock

from kafkalite.server.logins import Logins
from kafkalite.testing import broker
from tests.kafkalite.security.secured import SASL_LISTENER, Users, log_in


async def test_each_is_counted_and_the_first_is_said(
    caplog: pytest.LogCaptureFixture, autojump_clock: MockClock
) -> None:
    failures = Logins()
    for _ in range(3):
        failures.add_failed("10.0.0.1", "wrong password")
    assert failures.failed == 3
    assert caplog.messages == ["10.0.0.1: failed authentication: wrong password"]


async def test_those_that_were_not_said_are_told_a_second_later(
    caplog: pytest.LogCaptureFixture, autojump_clock: MockClock
) -> None:
    failures = Logins()
    for _ in range(3):
        failures.add_failed("10.0.0.1", "wrong password")
    await trio.sleep(0.9)
    failures.add_failed("10.0.0.1", "wrong password")
    await trio.sleep(0.1)
    failures.add_failed("10.0.0.1", "no such user")
    assert caplog.messages[1:] == [
        "10.0.0.1: failed authentication: no such user (and 3 more like it)"
    ]
    await trio.sleep(1)
    failures.add_failed("10.0.0.1", "again")
    assert caplog.messages[2:] == ["10.0.0.1: failed authentication: again"]


async def test_each_address_has_its_own_second(caplog: pytest.LogCaptureFixture) -> None:
    failures = Logins()
    failures.add_failed("10.0.0.1", "a")
    failures.add_failed("10.0.0.2", "b")
    assert [message.split(":")[0] for message in caplog.messages] == ["10.0.0.1", "10.0.0.2"]


async def test_addresses_are_not_remembered_without_end(
    caplog: pytest.LogCaptureFixture, autojump_clock: MockClock
) -> None:
    failures = Logins()
    with caplog.at_level(logging.ERROR):
        for number in range(10_000):
            failures.add_failed(f"host-{number}", "x")
    failures.add_failed("one-more", "x")
    failures.add_failed("host-0", "x")
    assert len(caplog.messages) == 2, "all are forgotten, and host-0 is said once more"


async def test_many_failures_of_one_client_are_said_once_a_second(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with broker(SASL_LISTENER) as running, Users(running) as users:
        with caplog.at_level(logging.INFO):
            for _ in range(20):
                client = await users.connect()
                await log_in(client, "alice", "x")
        said = [record for record in caplog.records if "failed authentication" in record.message]
        assert 1 <= len(said) <= 3


async def test_a_reason_that_the_client_wrote_is_cut_short(
    caplog: pytest.LogCaptureFixture,
) -> None:
    Logins().add_failed("10.0.0.1", "Unsupported SASL mechanism " + "x" * 500_000)
    assert len(caplog.messages[0]) < 600
