"""The question that a connection puts to epoll."""

from __future__ import annotations

import select
import socket

import pytest

from kafkalite.server.channel import ChannelState
from kafkalite.server.interest import INTEREST, Interest
from kafkalite.testing import broker as test_broker
from tests.kafkalite.server.drawn_states import interests


@pytest.mark.parametrize("state", ChannelState, ids=lambda each: each.name)
def test_interest_is_a_function_of_the_state(state: ChannelState) -> None:
    assert INTEREST[state].name == interests()[state.name]


def test_a_system_without_epoll_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """gevent's monkey.patch_all() after the import takes it away."""
    monkeypatch.delattr(select, "epoll")
    with pytest.raises(RuntimeError, match="Beside gevent"), test_broker():
        pass


@pytest.mark.parametrize("interest", Interest, ids=lambda each: each.name)
def test_what_epoll_tells_for_an_interest(interest: Interest) -> None:
    """A socket with input and with room for output: each interest hears of its own only."""
    ours, theirs = socket.socketpair()
    with ours, theirs, select.epoll() as epoll:
        theirs.send(b"input")
        epoll.register(ours.fileno(), interest)
        expected = {
            Interest.NOTHING: [],
            Interest.INPUT: [(ours.fileno(), select.EPOLLIN)],
            Interest.ROOM: [(ours.fileno(), select.EPOLLOUT)],
        }
        assert epoll.poll(0) == expected[interest]
