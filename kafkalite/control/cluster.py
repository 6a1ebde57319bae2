"""A cluster that can be reset, frozen and made to fail: a Broker, its clock, and its successors.

A reset swaps. Another broker with a new, empty directory takes over the listening sockets;
the old one is abandoned as if it had been killed, its connections are cut, and its files are
removed by a thread. So the cost of a reset does not depend on what was there. A spare broker
is opened while nothing happens, once a verb has shown that a reset may come.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import trio
from msgspec.structs import replace

from kafkalite.broker import Broker
from kafkalite.cluster.ids import seeded_id
from kafkalite.config import BrokerConfig
from kafkalite.control.clock import ClusterClock
from kafkalite.control.core import Core
from kafkalite.control.faults.disk import FaultyFiles
from kafkalite.control.forgetting import TRASH, emptied, forgetting, freeing, removed
from kafkalite.control.spare import Spare, if_it_can_be
from kafkalite.control.spy.spy import Spy
from kafkalite.log.files import FILES, UnsyncedFiles
from kafkalite.log.loggers import lines_are_about, name_within
from kafkalite.requests.slices import in_slices_of_task
from kafkalite.server.listener import (
    Listener,
    closed_if_cut_short,
    closed_socket,
    open_missing_listeners,
)
from kafkalite.server.loop import Loop
from kafkalite.server.released import close_released

if TYPE_CHECKING:
    from kafkalite.control.clusters import Clusters
    from kafkalite.control.faults.faults import Faults

# The loop has this long for what was waiting before a broker goes.
_FORGET_AFTER_SECONDS: Final = 0.05
# The cluster of a process that is there first.
DEFAULT: Final = "default"


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
        self.name, self.log_name, self.within = name, "", ""
        self.loop, self.root, self._config = loop, root, config
        self._keeps_directory = keeps_directory
        is_synced = keeps_directory or config.boolean("kafkalite.durable")
        self.files = FaultyFiles(FILES if is_synced else UnsyncedFiles())
        self._number = 0
        self._core: Core
        self._spare = Spare(self._opening_spare)
        self._nursery: trio.Nursery
        # The verbs that rules do, which the cluster's end cuts short.
        self._verbs: trio.Nursery
        self.stopping = trio.Event()
        self._cluster_id = config.string("kafkalite.cluster.id")
        if self._cluster_id is None and not keeps_directory:
            self._cluster_id = seeded_id(config.seed)
        self._faults: Faults | None = None
        self.spy = Spy(self)
        self._metrics_port: str | None = None
        self._fill: Callable[[Path], None] | None = None
        self.ended, self.resets = trio.Event(), 0
        # Another number once it has other data; those who are told when another broker begins.
        self.data_number = 0
        self.turn = trio.Lock()  # of verbs.Verb.takes_turns
        self.begun: set[Callable[[], None]] = set()
        # All clusters, for the verbs that faults do to this one.
        self.verbs_of: Clusters | None = None

    def called(self, name: str) -> None:
        """Have a name, which lines of the log tell; a broker's first cluster has the broker's."""
        self.name = name
        self.log_name = self.within if name == DEFAULT else name_within(self.within, name)
        for listener in self.broker.listeners:
            listener.cluster = self.log_name

    def begin_with(self, fill: Callable[[Path], None]) -> None:
        """Before `run`: have `fill` make the data directory that it begins with."""
        self._fill = fill

    @property
    def cluster_id(self) -> str | None:
        """None before `open` where chance decides."""
        return self._cluster_id

    @property
    def core(self) -> Core:
        """The broker that serves now, with what belongs to it."""
        return self._core

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
        async with trio.open_nursery() as self._nursery, trio.open_nursery() as self._verbs:
            await self._nursery.start(self._serve, self._core)
            task_status.started()
            await self.stopping.wait()
            self.broker.stop()
            # Requests that wait for a verb or for a release are in flight, and answered.
            self._verbs.cancel_scope.cancel()
            if self._faults is not None:
                self._faults.holds.release_all()
            self._spare.close()
            with trio.CancelScope(shield=True):
                async with self.turn:  # another broker has taken over by now, if any does
                    self.broker.stop()
                    await self.broker.stopped.wait()
        self.ended.set()

    def stop(self) -> None:
        """Let `run` end: what is in flight is answered, the verbs of rules are cut short."""
        self.stopping.set()

    def _begin(self, core: Core) -> None:
        """From here on this broker is the cluster."""
        self._core = core
        self.called(self.name)
        self.spy.attach()
        if self._faults is not None:
            self._faults.attach(self)
        for each in tuple(self.begun):
            each()

    def _open(
        self, *, listeners: Collection[Listener], clock: ClusterClock, directory: Path | None = None
    ) -> Core:
        """A broker, open and not serving yet."""
        if directory is None:
            directory = self._new_directory()
        config, told = self._config_for(directory), list(listeners)
        broker = Broker(config, clock=clock, files=self.files, listeners=told, loop=self.loop)
        broker.__enter__()
        return Core(broker, clock, directory)

    async def _opened(
        self, listeners: list[Listener], clock: ClusterClock, directory: Path | None
    ) -> Core:
        """The same in a thread: there may be thousands of logs."""
        opening = partial(self._open, listeners=listeners, clock=clock, directory=directory)
        return await trio.to_thread.run_sync(opening)

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
        self, core: Core, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        lines_are_about(self.log_name)
        try:
            await core.broker.serve(task_status=task_status)
            if core.broker.is_abandoned:
                steps = forgetting(core.broker)
                next(steps)
                core.silent.set()
                if core.is_replaced:
                    await trio.sleep(_FORGET_AFTER_SECONDS)
                await in_slices_of_task(steps)
            else:
                await in_slices_of_task(core.broker.closing())
        finally:
            core.broker.__exit__(None, None, None)
            core.silent.set()
            core.ended.set()
        if self.name != DEFAULT or not self.stopping.is_set():  # else the process ends
            await in_slices_of_task(freeing(core.broker))
        if core.is_replaced and not self._keeps_directory:
            await removed(core.directory)

    # Reset

    async def reset(
        self,
        keep: Collection[str] = (),
        *,
        fill: Callable[[Path], None] | None = None,
        keeps_connections: bool = False,
    ) -> int:
        """Begin again at the same addresses; how many connections were kept open.

        `keep`: "faults", "clock". `fill` makes its data, in a thread. Raises StartError, OSError.
        """
        clock = self.clock if "clock" in keep else ClusterClock()
        directory = await self._filled(fill)
        clock.forget_subscribers()
        if "faults" not in keep and self._faults is not None:
            self._faults.forget()
            self._faults = None
        kept = await self._swap(directory, clock, fill, keeps_connections=keeps_connections)
        self.resets += 1
        self.spy.events.put("cluster.reset")
        return kept

    def prepare_reset(self) -> None:
        """Have a broker ready where a verb about this cluster lets a reset be expected."""
        is_expected = (self.name == DEFAULT or self.resets) and not self._keeps_directory
        if is_expected and not (self.stopping.is_set() or self._spare.was_tried):
            self._nursery.start_soon(self._spare.open)

    async def replace_data(self, fill: Callable[[Path], None], now_ms: int | None = None) -> None:
        """Begin again with a directory that `fill` makes, in a thread; at a time, if it is given.

        Raises StartError, OSError.
        """
        clock = ClusterClock()
        if now_ms is not None:
            clock.begin_at(now_ms)
        await self._swap(await self._filled(fill), clock, fill)
        self.spy.events.put("cluster.restored")

    async def _filled(self, fill: Callable[[Path], None] | None) -> Path | None:
        """Make a directory; None if there is nothing to begin with."""
        if fill is None:
            return None
        directory = self._new_directory()
        if not self._keeps_directory:
            await trio.to_thread.run_sync(fill, directory)
        return directory

    async def _swap(
        self,
        directory: Path | None,
        clock: ClusterClock,
        fill: Callable[[Path], None] | None = None,
        *,
        keeps_connections: bool = False,
    ) -> int:
        """Have another broker take over; how many connections it took over."""
        old = self._core
        node_ids = self._config.afresh({}).node_ids
        listeners = old.broker.hand_on_listeners(node_ids)
        with closed_if_cut_short(listeners):
            listeners += open_missing_listeners(self._config, listeners)
            released = await old.broker.connections.release() if keeps_connections else []
            try:
                new = await self._succeed(old, directory, clock, fill, listeners)
            except BaseException:
                close_released(released)
                raise
        return new.broker.connections.adopt(released)

    async def _succeed(
        self,
        old: Core,
        directory: Path | None,
        clock: ClusterClock,
        fill: Callable[[Path], None] | None,
        listeners: list[Listener],
    ) -> Core:
        if self._keeps_directory:
            await self._empty_directory(old)
            if fill is not None:
                await trio.to_thread.run_sync(fill, old.directory)
        elif old.broker.metrics is not None:
            # The port of the metrics is to be free for the new broker.
            await self._end(old)
        is_plain = directory is None and clock is not old.clock
        new = self._spare.take(listeners) if is_plain else None
        if new is None:
            new = await self._opened(listeners, clock, directory)
        await in_slices_of_task(old.cutting())
        self.data_number += 1
        self._begin(new)
        # From here on nothing from before reaches what comes after.
        old.broker.abandon()
        await self._nursery.start(self._serve, new)
        return new

    async def _empty_directory(self, old: Core) -> None:
        """Let the old broker go first: the new one is to have its directory."""
        await self._end(old)
        trash = await trio.to_thread.run_sync(emptied, old.directory, f"{TRASH}{self.resets}x")
        self._nursery.start_soon(removed, trash)

    async def _end(self, old: Core) -> None:
        """Let a broker go, and wait until its ports and its directory are free."""
        await in_slices_of_task(old.cutting())
        old.broker.abandon()
        await old.silent.wait()

    def _opening_spare(self) -> Callable[[], Core | None] | None:
        if self.stopping.is_set() or self.broker.metrics is not None:
            return None
        # It knows its addresses, and listens nowhere: a stopped node's port must be closed.
        told = [replace(each, socket=closed_socket()) for each in self.broker.listeners]
        clock, directory = ClusterClock(), self._new_directory()
        opening = partial(self._open, listeners=told, clock=clock, directory=directory)
        return if_it_can_be(opening, self.files)

    async def restart(self, *, unclean: bool = False) -> None:
        """Stop the broker and start it again on its data; `unclean`: as after kill -9."""
        old = self._core
        listeners = old.broker.hand_on_listeners(self._config.afresh({}).node_ids)
        if unclean:
            old.broker.abandon()
        else:
            old.broker.stop()
        with closed_if_cut_short(listeners):
            await old.ended.wait()
            clock = old.clock
            clock.forget_subscribers()
            self._begin(await self._opened(listeners, clock, old.directory))
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
                self._verbs.start_soon,
                seed=self._config.seed or 0,
                told=self.spy.events.put,
            )
            self._faults.attach(self)
        return self._faults

    async def _run_verb(self, name: str, arguments: dict[str, Any]) -> None:
        """Do a verb to this cluster. Raises Problem, ValidationError, StartError, OSError."""
        from kafkalite.control.verbs import run_in

        assert self.verbs_of is not None
        await run_in(self.verbs_of, self.name, name, arguments)

    @property
    def has_faults(self) -> bool:
        """Tells whether there is a rule."""
        return self._faults is not None and len(self._faults.book) > 0
