"""A cluster that can be reset, frozen and made to fail: a Broker, its clock, and who takes its
place.

A reset swaps. Another broker with a new, empty directory takes over the listening sockets;
the old one is abandoned as if it had been killed, its connections are cut, and its files are
removed by a thread. So the cost of a reset does not depend on what was there. A spare broker
is opened while nothing happens, once a first reset has shown that there may be more.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import trio

from kafkalite.broker import Broker
from kafkalite.config import BrokerConfig
from kafkalite.control.clock import ClusterClock
from kafkalite.control.faults.disk import FaultyFiles
from kafkalite.control.spy.spy import Spy
from kafkalite.log.files import FILES, UnsyncedFiles
from kafkalite.server.listener import Listener, closed_socket, open_node_listeners
from kafkalite.server.loop import Loop

if TYPE_CHECKING:
    from kafkalite.control.faults.faults import Faults

logger = logging.getLogger(__name__)

# The spare is opened when the loop has had this long for what was waiting.
_SPARE_AFTER_SECONDS: Final = 0.02
TRASH: Final = ".trash-"
# Configs that a cluster does not share with those made beside it.
_OWN_CONFIGS: Final = frozenset(
    {
        *("listeners", "advertised.listeners", "log.dirs", "log.dir", "kafkalite.cluster.id"),
        *("kafkalite.control.port", "kafkalite.control.host", "kafkalite.control.token"),
        *("kafkalite.metrics.port", "kafkalite.metrics.host", "kafkalite.nodes", "node.id"),
        *("broker.id", "listener.security.protocol.map", "inter.broker.listener.name"),
    }
)


@dataclass(frozen=True, slots=True)
class Was:
    """Says what a reset threw away."""

    topics: int
    records: int
    groups: int


@dataclass(slots=True)
class _Core:
    """A broker that is open, with what belongs to it alone."""

    broker: Broker
    clock: ClusterClock
    directory: Path
    ended: trio.Event = field(default_factory=trio.Event)
    is_replaced: bool = False


class ControlledCluster:
    """One cluster under control. `config` says what every broker of it is like.

    `root` is where its brokers keep their data, each in a directory of its own;
    `keeps_directory`: in one and the same, which outlives the cluster.
    """

    def __init__(
        self,
        name: str,
        config: BrokerConfig,
        root: Path,
        *,
        keeps_directory: bool = False,
        loop: Loop | None = None,
    ) -> None:
        self.name = name
        self.loop = loop
        self.root = root
        self._config = config
        self._keeps_directory = keeps_directory
        self.files = FaultyFiles(FILES if keeps_directory else UnsyncedFiles())
        self._number = 0
        self._core: _Core
        self._spare: _Core | None = None
        self._is_opening_spare = False
        self._nursery: trio.Nursery
        self._stop = trio.Event()
        self._cluster_id = config.string("kafkalite.cluster.id")
        self._faults: Faults | None = None
        self.spy = Spy(self)
        self._metrics_port: str | None = None
        self._fill: Callable[[Path], None] | None = None
        self.ended = trio.Event()
        self.resets = 0

    def begin_with(self, fill: Callable[[Path], None]) -> None:
        """Before `run`: have `fill` make the data directory that it begins with."""
        self._fill = fill

    def configs_for_others(self) -> dict[str, str]:
        """Says what clusters made beside this one have from it: all but addresses, ports and
        places.
        """
        given = self._config.given
        listeners = [each.host for each in self._config.listeners()]
        host = f"[{listeners[0]}]" if ":" in listeners[0] else listeners[0]
        return {
            **{name: value for name, value in given.items() if name not in _OWN_CONFIGS},
            "listeners": f"PLAINTEXT://{host}:0",
        }

    @property
    def broker(self) -> Broker:
        """The broker that serves now."""
        return self._core.broker

    @property
    def clock(self) -> ClusterClock:
        """The clock of the broker that serves now."""
        return self._core.clock

    @property
    def data_dir(self) -> Path:
        """Says where the data of the broker that serves now is."""
        return self._core.directory

    # Life

    def open(self) -> None:
        """Bind the ports and open the data. Raises StartError and ConfigError."""
        directory = None
        if self._fill is not None:
            directory = self._new_directory()
            self._fill(directory)
        self._begin(self._open(listeners=(), clock=ClusterClock(), directory=directory))
        self._cluster_id = self.broker.services.cluster.cluster_id
        if self.broker.metrics is not None:
            port = urlsplit(self.broker.metrics.url).port
            self._metrics_port = None if port is None else str(port)

    def close(self) -> None:
        """Give back what `open` took, where `run` was never called."""
        self.broker.__exit__(None, None, None)

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve until `stop`, having been opened."""
        async with trio.open_nursery() as self._nursery:
            await self._nursery.start(self._serve, self._core)
            task_status.started()
            await self._stop.wait()
            if self._faults is not None:
                self._faults.holds.release_all()
            self._close_spare()
            self.broker.stop()
            await self.broker.stopped.wait()
        self.ended.set()

    def stop(self) -> None:
        """Let `run` end: what is in flight is answered."""
        self._stop.set()

    def _begin(self, core: _Core) -> None:
        """From here on this broker is the cluster."""
        self._core = core
        self.spy.attach()
        if self._faults is not None:
            self._faults.attach(self)

    def _open(
        self, *, listeners: Collection[Listener], clock: ClusterClock, directory: Path | None = None
    ) -> _Core:
        """A broker, open and not serving yet."""
        if directory is None:
            directory = self._new_directory()
        config = self._config_for(directory)
        broker = Broker(
            config, clock=clock, files=self.files, listeners=list(listeners), loop=self.loop
        )
        broker.__enter__()
        return _Core(broker, clock, directory)

    def _config_for(self, directory: Path) -> BrokerConfig:
        changes = {} if self._keeps_directory else {"log.dirs": str(directory)}
        if self._metrics_port is not None:
            changes["kafkalite.metrics.port"] = self._metrics_port
        if self._cluster_id is not None:
            changes["kafkalite.cluster.id"] = self._cluster_id
        return self._config.afresh(changes)

    def _new_directory(self) -> Path:
        if self._keeps_directory:
            return self._config.data_directory
        self._number += 1
        return self.root / f"state-{self._number}"

    async def _serve(
        self, core: _Core, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        try:
            await core.broker.serve(task_status=task_status)
        finally:
            core.broker.__exit__(None, None, None)
            core.ended.set()
        if core.is_replaced and not self._keeps_directory:
            await _remove(core.directory)

    # Reset

    def counts(self) -> Was:
        """Says how much there is."""
        services = self.broker.services
        topics = [topic for topic in services.topics.all() if not topic.is_internal]
        logs = [partition.log for topic in topics for partition in topic.partitions]
        return Was(
            len(topics),
            sum(log.log_end_offset - log.log_start_offset for log in logs),
            sum(1 for _ in services.group_coordinator.interventions.groups()),
        )

    async def reset(self, keep: Collection[str] = ()) -> None:
        """Begin again with nothing, at the same addresses, with the same cluster id.

        `keep` names what stays: "faults", "clock". Raises StartError.
        """
        clock = self.clock if "clock" in keep else ClusterClock()
        clock.forget_subscribers()
        if "faults" not in keep and self._faults is not None:
            self._faults.forget()
            self._faults = None
        await self._swap(None, clock)
        self.resets += 1
        self.spy.events.put("cluster.reset")
        if not self._keeps_directory and self._spare is None:
            self._nursery.start_soon(self._open_spare)

    async def replace_data(self, fill: Callable[[Path], None]) -> None:
        """Begin again with a directory that `fill` makes, in a thread. Raises StartError,
        OSError.
        """
        directory = self._new_directory()
        if not self._keeps_directory:
            await trio.to_thread.run_sync(fill, directory)
        await self._swap(directory, ClusterClock(), fill)
        self.spy.events.put("cluster.restored")

    async def _swap(
        self,
        directory: Path | None,
        clock: ClusterClock,
        fill: Callable[[Path], None] | None = None,
    ) -> None:
        old = self._core
        node_ids = self._config.afresh({}).node_ids
        listeners = old.broker.hand_on_listeners(node_ids)
        there = {each.node_id for each in listeners}
        for node_id in node_ids:
            if node_id not in there:
                listeners += open_node_listeners(self._config, node_id, listeners)
        if self._keeps_directory:
            await self._empty_directory(old)
            if fill is not None:
                await trio.to_thread.run_sync(fill, old.directory)
        elif old.broker.metrics is not None:
            # The port of the metrics is to be free for the new broker.
            await self._end(old)
        new = self._take_spare(listeners, clock) if directory is None else None
        if new is None:
            new = self._open(listeners=listeners, clock=clock, directory=directory)
        self._begin(new)
        # From here on nothing from before reaches what comes after.
        old.is_replaced = True
        old.broker.abandon()
        await self._nursery.start(self._serve, new)

    async def _empty_directory(self, old: _Core) -> None:
        """Let the old broker go first: the new one is to have its directory."""
        await self._end(old)
        trash = old.directory / f"{TRASH}{self.resets}x"
        trash.mkdir()
        for path in list(old.directory.iterdir()):
            if not path.name.startswith((TRASH, ".kafkalite")):
                path.rename(trash / path.name)
        self._nursery.start_soon(_remove, trash)

    async def _end(self, old: _Core) -> None:
        """Let a broker go, and wait until it has given back all it had."""
        old.is_replaced = True
        old.broker.abandon()
        await old.ended.wait()

    def _take_spare(self, listeners: list[Listener], clock: ClusterClock) -> _Core | None:
        spare, self._spare = self._spare, None
        if spare is None or clock is self.clock:
            return None
        if [_address(each) for each in spare.broker.listeners] != [
            _address(each) for each in listeners
        ]:
            spare.broker.abandon()
            spare.broker.__exit__(None, None, None)
            return None
        spare.broker.take_listeners(listeners)
        return spare

    async def _open_spare(self) -> None:
        """Open a broker that a later reset can take, unless one is there or on its way."""
        if self._is_opening_spare:
            return
        self._is_opening_spare = True
        try:
            await trio.sleep(_SPARE_AFTER_SECONDS)
            if self._spare is not None or self.broker.metrics is not None:
                return
            # It knows its addresses, and listens nowhere: a stopped node's port must be closed.
            told = [replace(each, socket=closed_socket()) for each in self.broker.listeners]
            clock, directory = ClusterClock(), self._new_directory()
            # Files are made, which may take longer than others can wait.
            self._spare = await trio.to_thread.run_sync(
                lambda: self._open(listeners=told, clock=clock, directory=directory)
            )
        finally:
            self._is_opening_spare = False
        if self._stop.is_set():
            self._close_spare()

    def _close_spare(self) -> None:
        if self._spare is not None:
            self._spare.broker.abandon()
            self._spare.broker.__exit__(None, None, None)
            self._spare = None

    async def restart(self, *, unclean: bool = False) -> None:
        """Stop the broker and start it again on its data; `unclean`: as after kill -9."""
        old = self._core
        node_ids = self._config.afresh({}).node_ids
        listeners = old.broker.hand_on_listeners(node_ids)
        if unclean:
            old.broker.abandon()
        else:
            old.broker.stop()
        await old.ended.wait()
        clock = old.clock
        clock.forget_subscribers()
        self._begin(self._open(listeners=listeners, clock=clock, directory=old.directory))
        self.spy.events.put("cluster.restarted", "as after kill -9" if unclean else "")
        await self._nursery.start(self._serve, self._core)

    # Parts made at their first use

    @property
    def faults(self) -> Faults:
        """The rule book, with the gate that does what it says."""
        if self._faults is None:
            from kafkalite.control.faults.faults import Faults

            self._faults = Faults(
                lambda: self.clock.now_ms(),
                self._run_verb,
                self._nursery.start_soon,
                told=self.spy.events.put,
            )
            self._faults.attach(self)
        return self._faults

    async def _run_verb(self, name: str, arguments: dict[str, Any]) -> None:
        from kafkalite.control.verbs import run_in

        await run_in(self, name, arguments)

    @property
    def has_faults(self) -> bool:
        """Tells whether there is a rule."""
        return self._faults is not None and len(self._faults.book) > 0

    def connected_members(self) -> set[tuple[str, str]]:
        """The members of groups whose connections are open, and not silenced."""
        members: set[tuple[str, str]] = set()
        for connection in self.broker.connections:
            members |= connection.context.members
        return members


def _address(listener: Listener) -> tuple[int, str, str, int]:
    return listener.node_id, listener.name, listener.advertised_host, listener.advertised_port


async def _remove(directory: Path) -> None:
    """Remove a directory in a thread, which may take its time."""
    with trio.CancelScope(shield=True):
        await trio.to_thread.run_sync(lambda: shutil.rmtree(directory, ignore_errors=True))
