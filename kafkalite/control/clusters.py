"""All clusters of one process: the default one, and those made for a test, each with ports of
its own.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable
from contextlib import ExitStack, suppress
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import trio
from msgspec import Struct

from kafkalite.config import BrokerConfig, ConfigError
from kafkalite.control import snapshots
from kafkalite.control.cluster import DEFAULT, ControlledCluster
from kafkalite.control.durations import seconds
from kafkalite.control.forgetting import removed
from kafkalite.control.kept_snapshots import KeptSnapshots
from kafkalite.control.problems import Problem, not_found
from kafkalite.control.questions import CreateCluster
from kafkalite.control.ready import Ready
from kafkalite.log.loggers import lines_about, name_within
from kafkalite.log.meta_properties import random_id
from kafkalite.server.listener import StartError

_LOOK_FOR_IDLE_SECONDS: Final = 5.0
# A spare cluster is closed when none was asked for in this time.
_READY_SECONDS: Final = 60.0


class _Made(Struct):
    """A cluster that was made for somebody, and how long it may be idle."""

    cluster: ControlledCluster
    ended: trio.Event
    idle_seconds: float
    last_seen: float


def _are_alike(one: CreateCluster, other: CreateCluster) -> bool:
    return (one.nodes, one.configs, one.seed, one.as_version) == (
        other.nodes,
        other.configs,
        other.seed,
        other.as_version,
    )


def _let_go(cluster: ControlledCluster) -> None:
    cluster.close()
    shutil.rmtree(cluster.root, ignore_errors=True)


class Clusters(KeptSnapshots):
    """`root` has a directory for each cluster, and the snapshots beside them."""

    def __init__(self, default: ControlledCluster, root: Path, config: BrokerConfig) -> None:
        """`config` is the default cluster's. Raises ConfigError."""
        super().__init__(root)
        self._default = default
        self._config = config
        self._most = config.integer("kafkalite.clusters.max")
        self._ports: Ports | None = None
        if (ports := config.string("kafkalite.clusters.ports")) is not None:
            from kafkalite.control.ports import Ports

            self._ports = Ports(ports)
        self._made: dict[str, _Made] = {}
        # The names of those that are being made.
        self._coming: set[str] = set()
        self._numbers = count(1)
        self._nursery: trio.Nursery
        # Tests make many clusters that are alike: one like the last is opened in advance.
        self._last: tuple[CreateCluster, float] | None = None
        # The one that is ready, or on its way, was made for this; others may come meanwhile.
        self._ready_for: CreateCluster | None = None
        self._ready = Ready(self._opening_next, _let_go)
        default.verbs_of = self

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve the default cluster, which is open, and all others for as long."""
        try:
            async with trio.open_nursery() as self._nursery:
                # A process that was killed has left them behind.
                for path in (*self._clusters.glob("*"), *self._taken.glob("*")):
                    self._nursery.start_soon(removed, path)
                await self._nursery.start(self._default.run)
                self._nursery.start_soon(self._end_idle_ones)
                task_status.started()
                await self._default.ended.wait()
                self._ready.close()
                for made in list(self._made.values()):
                    made.cluster.stop()
                    await made.ended.wait()
                self._nursery.cancel_scope.cancel()
        finally:
            # Its end is waited for, and would never come where a mistake of ours has ended it.
            self._default.ended.set()

    @property
    def default(self) -> ControlledCluster:
        """The one that was there first."""
        return self._default

    def stop(self) -> None:
        """Let `run` end."""
        self._default.stop()

    def get(self, name: str) -> ControlledCluster:
        """A cluster by name. Raises Problem."""
        if name == DEFAULT:
            return self._default
        made = self._made.get(name)
        if made is None:
            raise not_found("cluster", name, hint="`clusters` lists those there are")
        made.last_seen = trio.current_time()
        return made.cluster

    def all(self) -> list[ControlledCluster]:
        """All clusters, the default one first."""
        return [self._default, *(made.cluster for made in self._made.values())]

    async def create(self, request: CreateCluster) -> ControlledCluster:
        """A new cluster, which serves when this is answered. Raises Problem."""
        name = request.name or next(
            name for number in self._numbers if not self._has(name := f"t-{number}")
        )
        if self._has(name):
            raise Problem("exists", f"there is a cluster {name!r} already", value=name)
        if len(self._made) + len(self._coming) >= self._most:
            raise Problem(
                "too_many",
                f"there are {self._most} clusters already",
                hint="kafkalite.clusters.max says how many there may be",
            )
        self._coming.add(name)
        try:
            with lines_about(name_within(self._default.within, name)):
                cluster = await self._opened(request)
            cluster.called(name)
            idle = math.inf if request.idle_end is None else seconds(request.idle_end)
            made = _Made(cluster, trio.Event(), idle, trio.current_time())
            await self._nursery.start(self._run, made)
            self._made[name] = made
        finally:
            self._coming.discard(name)
        if request.from_ is None:
            self._last = request, trio.current_time()
            self._nursery.start_soon(self._ready.open)
        return cluster

    def _has(self, name: str) -> bool:
        return name == DEFAULT or name in self._made or name in self._coming

    async def _opened(self, request: CreateCluster) -> ControlledCluster:
        """Open a cluster, or take the one that is ready; it does not serve yet. Raises Problem."""
        if request.from_ is not None:
            open_it = self._opening(request)
        else:
            made_for = self._ready_for
            ready = self._ready.take_if(
                lambda _: made_for is not None and _are_alike(request, made_for)
            )
            if ready is not None:
                return ready
            try:
                open_it = self._opening(request)
            except Problem as problem:
                if problem.code != "too_many" or not await self._ready.give_way():
                    raise
                open_it = self._opening(request)
        return await trio.to_thread.run_sync(open_it)

    def _opening_next(self) -> Callable[[], ControlledCluster | None] | None:
        """Opens a cluster like the last one, where one can be."""
        if self._last is None:
            return None
        self._ready_for = self._last[0]
        try:
            open_it = self._opening(self._ready_for)
        except Problem:
            return None

        def open_if_it_can_be() -> ControlledCluster | None:
            with suppress(Problem):
                return open_it()
            return None

        return open_if_it_can_be

    def _opening(self, request: CreateCluster) -> Callable[[], ControlledCluster]:
        """Opens a cluster, in a thread. Raises Problem, and so does what it gives."""
        source = None if request.from_ is None else self._snapshot(request.from_)
        stack = ExitStack()
        port = 0
        if self._ports is not None:
            host = self._config.listeners()[0].host
            listeners = (each for cluster in self.all() for each in cluster.broker.listeners)
            given_away = {each.advertised_port for each in listeners}
            port = stack.enter_context(self._ports.held(host, request.nodes, given_away))
        with stack:
            root = self._clusters / random_id()
            cluster = self._new(request, root, port)
            held = stack.pop_all()
        if source is not None:
            cluster_id = cluster.cluster_id or random_id()
            cluster.begin_with(lambda directory: snapshots.unfold(source, directory, cluster_id))

        def open_it() -> ControlledCluster:
            with held:
                try:
                    root.mkdir(parents=True, exist_ok=True)
                    cluster.open()
                except (StartError, OSError) as error:
                    shutil.rmtree(root, ignore_errors=True)
                    raise Problem("refused", f"no cluster was made: {error}") from None
            return cluster

        return open_it

    def _new(self, request: CreateCluster, root: Path, port: int = 0) -> ControlledCluster:
        from kafkalite.config.quorum import is_broker_only
        from kafkalite.control.shared_configs import check_own, shared_configs

        configs = {
            **shared_configs(self._config, port),
            "kafkalite.nodes": str(request.nodes),
            **({} if request.seed is None else {"kafkalite.seed": str(request.seed)}),
            **({} if request.as_version is None else {"kafkalite.as.version": request.as_version}),
            **request.configs,
        }
        try:
            check_own(request.configs)
            config = BrokerConfig(configs)
            if is_broker_only(config):
                raise ConfigError("a cluster that is made has no other controllers (process.roles)")
            cluster = ControlledCluster("", config, root, loop=self._default.loop)
        except ConfigError as error:
            raise Problem("invalid_config", str(error)) from None
        cluster.verbs_of, cluster.within = self, self._default.within
        return cluster

    async def _run(
        self, made: _Made, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        try:
            await made.cluster.run(task_status=task_status)
        finally:
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(shutil.rmtree, made.cluster.root, True)
            made.ended.set()

    async def delete(self, name: str) -> None:
        """End a cluster, and remove its data. Raises Problem."""
        if name == DEFAULT:
            raise Problem("conflict", "the default cluster ends with the process")
        cluster = self.get(name)
        made = self._made.pop(name)
        cluster.stop()
        await made.ended.wait()

    async def _end_idle_ones(self) -> None:
        """A test run that crashed leaves nothing behind."""
        while True:
            await trio.sleep(_LOOK_FOR_IDLE_SECONDS)
            now = trio.current_time()
            if not self._made and self._last is not None and now - self._last[1] > _READY_SECONDS:
                self._last = None
                self._ready.discard()
            for name, made in list(self._made.items()):
                if len(made.cluster.broker.connections):
                    made.last_seen = now
                elif now - made.last_seen > made.idle_seconds:
                    await self.delete(name)

    @property
    def _clusters(self) -> Path:
        """The directory with one for each cluster that was made."""
        return self._root / "clusters"

    def try_snapshot(self, snapshot: Path) -> None:
        """Open a snapshot as a cluster does that begins with it. Raises StartError and OSError."""
        with TemporaryDirectory(dir=self.uploads, ignore_cleanup_errors=True) as root:
            cluster = self._new(CreateCluster(), Path(root))
            cluster_id = cluster.cluster_id or random_id()
            cluster.begin_with(lambda directory: snapshots.unfold(snapshot, directory, cluster_id))
            cluster.open()
            cluster.close()
