"""Loggers of the broker have levels that clients can set."""

from __future__ import annotations

import logging
from typing import Any

from kafkalite.cluster import broker_loggers
from kafkalite.testing import broker as test_broker
from tests.kafkalite.config_requests import BROKER_LOGGER, DELETE, SET, alter, resource


async def test_a_loggers_level(client: Any) -> None:
    name = "kafkalite.tests.of.levels"
    logging.getLogger(name)
    assert await alter(client, resource(BROKER_LOGGER, "1", (name, SET, "ERROR"))) == [(0, None)]
    assert logging.getLogger(name).level == logging.ERROR
    assert await alter(client, resource(BROKER_LOGGER, "1", (name, DELETE, None))) == [(0, None)]
    assert logging.getLogger(name).level == logging.NOTSET


async def test_a_broker_that_has_ended_is_told_nothing_more() -> None:
    before = list(broker_loggers._watchers)
    async with test_broker():
        assert len(broker_loggers._watchers) == len(before) + 1
    assert broker_loggers._watchers == before
