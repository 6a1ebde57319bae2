"""The question that a connection puts to epoll: a function of its channel's state."""

from __future__ import annotations

import select
from collections.abc import Mapping
from enum import IntEnum
from typing import Final

from kafkalite.server.channel import ChannelState

_NO_EPOLL: Final = (
    "kafkalite's broker needs Linux: this system has no epoll, or gevent has patched it away. "
    "Beside gevent, start the command `kafkalite` in a process of its own"
)
if not hasattr(select, "epoll"):  # pragma: no cover
    raise ImportError(_NO_EPOLL)


def new_epoll() -> select.epoll:
    """An epoll instance. Raises RuntimeError where it was patched away since the import."""
    if not hasattr(select, "epoll"):
        raise RuntimeError(_NO_EPOLL)
    return select.epoll()


class Interest(IntEnum):
    """Epoll's mask for a socket. A hang-up is reported with any but NOTHING."""

    NOTHING = 0
    INPUT = select.EPOLLIN
    ROOM = select.EPOLLOUT


INTEREST: Final[Mapping[ChannelState, Interest]] = {
    ChannelState.READING: Interest.INPUT,
    ChannelState.WRITING: Interest.ROOM,
    ChannelState.PARKED: Interest.INPUT,
    ChannelState.HELD: Interest.NOTHING,
    ChannelState.MUTED: Interest.NOTHING,
    ChannelState.IN_TASK: Interest.NOTHING,
    ChannelState.TASK_PARKED: Interest.INPUT,
    ChannelState.CLOSING: Interest.ROOM,
    ChannelState.CLOSED: Interest.NOTHING,
}
