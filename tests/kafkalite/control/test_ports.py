"""A range of ports: the first free ones in a row, each given once."""

from __future__ import annotations

import pytest

from kafkalite.config import ConfigError
from kafkalite.control import ports as module
from kafkalite.control.ports import Ports
from kafkalite.control.problems import Problem


@pytest.fixture(autouse=True)
def taken(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Ports that something else listens on."""
    ports: set[int] = set()
    monkeypatch.setattr(module, "_is_free", lambda host, port: port not in ports)
    return ports


def test_the_first_free_ports_in_a_row_are_given(taken: set[int]) -> None:
    ports = Ports("9100 - 9105")
    taken.add(9101)
    with ports.held("127.0.0.1", 1, ()) as first:
        assert first == 9100
        with ports.held("127.0.0.1", 2, {9102}) as second:
            assert second == 9103
            with (
                pytest.raises(Problem) as caught,
                ports.held("127.0.0.1", 1, {9102, 9105}),
            ):
                pass
            assert caught.value.detail == (
                "kafkalite.clusters.ports=9100 - 9105 has no free port: taken are "
                "9100, 9101, 9102, 9103, 9104, 9105"
            )
            assert caught.value.code == "too_many"
    with ports.held("127.0.0.1", 1, ()) as first:
        assert first == 9100


def test_more_nodes_than_ports_are_refused() -> None:
    with (
        pytest.raises(Problem, match="has no 3 free ports in a row: taken are none"),
        Ports("9100-9101").held("127.0.0.1", 3, ()),
    ):
        pass


@pytest.mark.parametrize("text", ["9100", "9199-9100", "0-10", "9100-70000", "a-b", ""])
def test_a_range_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="write the first port and the last, as 9100-9199"):
        Ports(text)
