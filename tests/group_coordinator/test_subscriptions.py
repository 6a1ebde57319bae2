"""Subscriptions and assignments that are not in Kafka's form."""

from __future__ import annotations

import logging

import pytest

from kafkalite.group_coordinator.subscriptions import assignment_from, subscribed_topics_of


def test_a_malformed_subscription_is_logged_with_group_and_member(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    assert subscribed_topics_of("workers", {"member-7": b"\0"}) is None
    (line,) = caplog.messages
    assert line.startswith("group workers: the subscription of member member-7 is not")


def test_a_malformed_assignment_is_logged_with_group_and_member(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    assert assignment_from(b"\0", "workers", "member-7") is None
    (line,) = caplog.messages
    assert line.startswith("group workers: the assignment of member member-7 is not")
