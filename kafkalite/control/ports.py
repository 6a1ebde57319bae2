"""Ports of the clusters that are made beside the default one: any free ones, or those of a range.

A container publishes the ports of a range, and a firewall lets them through.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Generator
from contextlib import contextmanager
from typing import Final

from kafkalite.config import ConfigError
from kafkalite.control.problems import Problem
from kafkalite.server.listener import StartError, bind

CONFIG: Final = "kafkalite.clusters.ports"
_RANGE: Final = re.compile(r"(\d{1,5})-(\d{1,5})")


class Ports:
    """The ports from one to another, both included: "9100-9199"."""

    def __init__(self, text: str) -> None:
        """Raises ConfigError."""
        match = _RANGE.fullmatch(text.replace(" ", ""))
        first, last = (int(each) for each in match.groups()) if match else (0, 0)
        if not 0 < first <= last <= 65_535:
            raise ConfigError(f"{CONFIG}={text}: write the first port and the last, as 9100-9199")
        self._text = text
        self._all = range(first, last + 1)
        # Clusters that are being opened will have these.
        self._held: set[int] = set()

    @contextmanager
    def held(self, host: str, count: int, given_away: Collection[int]) -> Generator[int]:
        """The first of so many free ports in a row, which no other cluster is given within.

        `given_away` are ports of clusters, whose nodes may be stopped. Raises Problem.
        """
        taken = {port for port in self._all if port in given_away or port in self._held}
        taken |= {port for port in self._all if port not in taken and not _is_free(host, port)}
        for first in self._all[: len(self._all) - count + 1]:
            row = set(range(first, first + count))
            if not row & taken:
                break
        else:
            raise self._problem(count, taken)
        self._held |= row
        try:
            yield first
        finally:
            self._held -= row

    def _problem(self, count: int, taken: Collection[int]) -> Problem:
        missing = ", ".join(map(str, sorted(taken))) or "none"
        wanted = "free port" if count == 1 else f"{count} free ports in a row"
        return Problem(
            "too_many",
            f"{CONFIG}={self._text} has no {wanted}: taken are {missing}",
            hint="delete a cluster, or give more ports",
        )


def _is_free(host: str, port: int) -> bool:
    try:
        bind(host, port).close()
    except StartError:
        return False
    return True
