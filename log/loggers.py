"""Loggers whose lines name the cluster that they are about, where a process has several.

A line of a task is about the cluster that the task serves (`lines_are_about`). A line of the loop,
which serves all of them, is about the cluster of the connection that has its turn. Lines of a
process' first cluster name none. A process may run several brokers with clusters of their own
(kafkalite.testing): all but the first have a name, too.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from typing import Final, Protocol


class Turns(Protocol):
    """Serves the connections of all clusters, in turn."""

    @property
    def serving(self) -> object:
        """The connection that has its turn; None between turns."""
        ...


class _OfThread(threading.local):
    turns: Turns | None = None


_CLUSTER: Final[ContextVar[str]] = ContextVar("cluster", default="")
_of_thread: Final = _OfThread()
_lock: Final = threading.Lock()
# The numbers of the brokers that run.
_running: Final[set[int]] = set()


def logger_of(module: str) -> logging.Logger:
    """The logger of a module, as `logging.getLogger` has it; its lines name clusters."""
    logger = logging.getLogger(module)
    logger.addFilter(_name_cluster)
    return logger


def lines_are_about(cluster: str) -> None:
    """From here on the lines of this task, and of those it starts, are about a cluster."""
    _CLUSTER.set(cluster)


@contextmanager
def lines_about(cluster: str) -> Generator[None]:
    """Within, lines are about a cluster."""
    before = _CLUSTER.set(cluster)
    try:
        yield
    finally:
        _CLUSTER.reset(before)


@contextmanager
def broker_named() -> Generator[str]:
    """A name for a broker of this process, as long as it runs: none for the only one."""
    with _lock:
        number = next(number for number in count(1) if number not in _running)
        _running.add(number)
    try:
        yield "" if number == 1 else f"broker-{number}"
    finally:
        _running.discard(number)


def name_within(broker: str, cluster: str) -> str:
    """The name that lines have of a cluster that was made in a broker of this name."""
    return f"{broker}/{cluster}" if broker else cluster


def lines_are_of_turns(turns: Turns | None) -> None:
    """Lines of this thread are about the cluster of the connection that is served, if one is."""
    _of_thread.turns = turns


def _name_cluster(record: logging.LogRecord) -> bool:
    cluster = _cluster_now()
    if cluster and not hasattr(record, "cluster"):
        record.cluster = cluster
        prefix = cluster.replace("%", "%%") if record.args else cluster
        record.msg = f"{prefix}: {record.msg}"
    return True


def _cluster_now() -> str:
    turns = _of_thread.turns
    serving = None if turns is None else turns.serving
    if serving is None:
        return _CLUSTER.get()
    named: str = getattr(serving, "cluster", "")
    return named
