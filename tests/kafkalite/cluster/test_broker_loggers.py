"""Loggers of the broker have levels that clients can set."""

from __future__ import annotations

import logging
from typing import Any

from tests.kafkalite.config_requests import BROKER_LOGGER, DELETE, SET, alter, resource


async def test_a_loggers_level(client: Any) -> None:
    name = "kafkalite.tests.of.levels"
    logging.getLogger(name)
    assert await alter(client, resource(BROKER_LOGGER, "1", (name, SET, "ERROR"))) == [(0, None)]
    assert logging.getLogger(name).level == logging.ERROR
    assert await alter(client, resource(BROKER_LOGGER, "1", (name, DELETE, None))) == [(0, None)]
    assert logging.getLogger(name).level == logging.NOTSET
