"""Clients that a subscription is for."""

from __future__ import annotations

import pytest

from kafkalite.config import ConfigError
from kafkalite.config.client_match import ClientMatch

CLIENT = {
    "client_id": "orders-1",
    "client_instance_id": "AAAAAAAAAAAAAAAAAAAAAg",
    "client_software_name": "librdkafka",
    "client_software_version": "2.8.0",
    "client_source_address": "127.0.0.1",
    "client_source_port": "4711",
}


@pytest.mark.parametrize(
    ("entries", "is_for"),
    [
        ((), True),
        (("client_id=orders-.*",), True),
        (("client_id=orders",), False),  # the whole of it
        (("client_software_name=librdkafka", "client_software_version=2\\..*"), True),
        (("client_software_name=librdkafka", "client_software_version=1\\..*"), False),
        ((" client_id = orders-1 ",), True),
        (("client_id=nothing", "client_id=orders-1"), True),  # the last counts
        (("client_source_port=4711=",), True),
    ],
)
def test_matches(entries: tuple[str, ...], is_for: bool) -> None:
    assert ClientMatch(entries).matches(CLIENT) is is_for


@pytest.mark.parametrize(
    "entry", ["", "client_id", "client_id=", "=x", "a=b", "client_id=a=b", "client_id=("]
)
def test_illegal_entries(entry: str) -> None:
    with pytest.raises(ConfigError, match=r"^Illegal client matching pattern: "):
        ClientMatch((entry,))
