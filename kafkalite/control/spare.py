"""A broker that is open and does not serve yet, for the next reset of its cluster."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from kafkalite.control.core import Core
from kafkalite.control.faults.disk import FaultyFiles
from kafkalite.control.ready import Ready
from kafkalite.server.listener import Listener, StartError


class Spare(Ready[Core]):
    """`opening` gives a function that opens a broker; None if there is to be no spare."""

    def __init__(self, opening: Callable[[], Callable[[], Core | None] | None]) -> None:
        super().__init__(opening, lambda core: core.give_up())

    def take(self, listeners: list[Listener]) -> Core | None:
        """The spare, listening with these; None if there is no spare for their addresses."""
        wanted = list(map(_address, listeners))
        spare = self.take_if(lambda core: list(map(_address, core.broker.listeners)) == wanted)
        if spare is not None:
            spare.broker.take_listeners(listeners)
        return spare


def _address(listener: Listener) -> tuple[int, str, str, int]:
    return listener.node_id, listener.name, listener.advertised_host, listener.advertised_port


def if_it_can_be(open_it: Callable[[], Core], files: FaultyFiles) -> Callable[[], Core | None]:
    """Open a spare, which no fault of the disk is shown; None where the disk itself fails.

    A reset that finds none opens one itself, and says what is wrong.
    """

    def tried() -> Core | None:
        with suppress(StartError, OSError), files.without_check():
            return open_it()
        return None

    return tried
