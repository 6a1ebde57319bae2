"""A broker for tests: no container, no JVM, up before the test notices.

    with broker() as b:                      # in a thread of its own: for any client
        b.create_topic("words", partitions=3)
        producer = KafkaProducer(bootstrap_servers=b.bootstrap)
        b.clock.advance("46s")

    async with broker(nodes=3) as b:         # in the caller's trio; in a thread beside asyncio
        await b.asynchronous.wait.group("billing", members=3)

Each listens on free ports of 127.0.0.1 and keeps its data in a temporary directory that is
gone in the end, unless told otherwise. It has the verbs of the control plane (client/kit.py)
as methods. pytest users have the fixtures of pytest_plugin.py.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, closing, suppress
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar
from uuid import UUID

import trio

from kafkalite.broker import Broker
from kafkalite.client.calls import Calls
from kafkalite.client.effects import Effects, check_effects
from kafkalite.client.local import (
    LocalKit,
    NewCluster,
    asked_of,
    at_once,
    entered_in_thread,
    in_thread,
    in_trio,
    result_of,
)
from kafkalite.client.values import text_of
from kafkalite.config import BrokerConfig
from kafkalite.config.log_dirs import one_directory
from kafkalite.config.profiles import profile as configs_of
from kafkalite.config.temporary import temporary_directory
from kafkalite.control.cluster import ControlledCluster
from kafkalite.control.clusters import Clusters
from kafkalite.log.loggers import broker_named, lines_about
from kafkalite.replica.partition import Partition
from kafkalite.requests import slices
from kafkalite.server.host import Host
from kafkalite.server.loop import Loop
from kafkalite.wire.errors import KafkaError

if TYPE_CHECKING:
    from kafkalite.control.port import ControlPort

__all__ = ["Effects", "broker", "check_effects"]

T = TypeVar("T")
_NOT_RUNNING: Final = "the broker is not running: use it in a with statement"


class broker(LocalKit):
    """A running broker; `with` starts it in a thread, `async with` in the caller's trio.

    `config` takes Kafka's property names, `data_dir` keeps the data there. `profile` names
    configs that belong together ("test"). Entering raises ConfigError or StartError. It may
    be entered again when it has ended, and is a new one then. `client_settings`
    has what clients need where it is secured: for "java", "librdkafka" and "kafka_python".
    """

    def __init__(
        self,
        config: Mapping[str, object] | None = None,
        *,
        nodes: int = 1,
        host: str = "127.0.0.1",
        port: int = 0,
        data_dir: str | Path | None = None,
        profile: str | None = None,
        sasl: str | Sequence[str] = (),
        tls: str | None = None,
        acls: bool = False,
        ui: bool = False,
    ) -> None:
        """`sasl`, `tls`, `acls` (docs/security.md) and `ui` are as the flags of the command."""
        super().__init__(self._verb, self._async_verb)
        self._properties = {} if profile is None else configs_of(profile)
        self._properties |= {name: text_of(value) for name, value in (config or {}).items()}
        self.client_settings: Mapping[str, Mapping[str, str]] = {}
        if sasl or tls or acls:
            from kafkalite.security.quick_start import secured, wanted

            asked = wanted(sasl, tls, acls=acls)
            configs = secured(self, self._properties, asked, host, port)
            self._properties, self.client_settings = configs
        self._properties.setdefault("listeners", f"PLAINTEXT://{host}:{port}")
        self._properties.setdefault("kafkalite.nodes", str(nodes))
        if ui:
            self._properties["kafkalite.ui"] = "true"
        self._data_dir = data_dir
        self._clusters: Clusters | None = None
        self._control: ControlPort | None = None
        self._calls: Calls | None = None
        self._thread: threading.Thread | None = None
        self._loop: Loop | None = None
        self._failure: list[BaseException] = []
        self._stack = AsyncExitStack()

    @property
    def bootstrap(self) -> str:
        """`host:port` of every node, separated by commas."""
        return self._running.bootstrap

    @property
    def cluster_id(self) -> str:
        return self._running.services.cluster.cluster_id

    @property
    def data_dir(self) -> Path:
        """The (first) directory of the logs."""
        return self._default.data_dir

    @property
    def metrics_url(self) -> str | None:
        """The URL of the metrics for Prometheus. None unless kafkalite.metrics.port is set."""
        metrics = self._running.metrics
        return None if metrics is None else metrics.url

    @property
    def ui_url(self) -> str | None:
        """The URL of the page that shows all clusters. None unless it was asked for (`ui`)."""
        return None if self._control is None else self._control.page_url

    def new_cluster(
        self,
        name: str | None = None,
        *,
        nodes: int = 1,
        config: Mapping[str, object] | None = None,
        as_version: str | None = None,
        from_: str | None = None,
    ) -> NewCluster:
        """A cluster of its own in the process, `from_` a snapshot perhaps: a context manager."""
        configs = {key: text_of(value) for key, value in (config or {}).items()}
        fields = {"name": name, "nodes": nodes, "configs": configs, "as_version": as_version}
        return NewCluster(self._verb, self._async_verb, {**fields, "from_": from_})

    # Verbs that wait for nothing here, so that a task of trio need not await them.

    def stop_node(self, node_id: int) -> None:
        """Let a node go, as if its process had died. Raises Problem if it is not up."""
        self._on_nodes(lambda state, cluster: state.stopping(cluster, node_id))

    def start_node(self, node_id: int) -> None:
        """Let a stopped node come back at its address. Raises Problem if it was not stopped."""
        self._on_nodes(lambda state, cluster: state.starting(cluster, node_id))

    def add_node(self) -> int:
        """Let a new node join; its id. Raises StartError if its port is taken."""
        return self._on_nodes(lambda _, cluster: cluster.broker.nodes.adding())

    def remove_node(self, node_id: int) -> None:
        """Let a node go for good. Raises Problem if there is none, or no other."""
        self._on_nodes(lambda state, cluster: state.removing(cluster, node_id))

    def topic_id(self, name: str) -> UUID:
        """A topic's id, or KeyError."""
        topic = self._call(lambda: self._running.services.topics.get(name))
        if topic is None:
            raise KeyError(name)
        return topic.topic_id

    # The effects of time and cleaning on a log, now

    def clean_now(self) -> None:
        """Apply retention and compaction to all that is written so far, without waiting for any
        interval, ratio or full segment."""
        self._call(lambda: self._running.background.clean_now())

    def force_data_loss(self, topic: str, partition: int, to_offset: int) -> None:
        """Lose the records before `to_offset` (-1: all), as retention loses what is too old.

        Raises KeyError if there is no such partition, KafkaError behind the high watermark.
        """
        from kafkalite.replica.record_removal import lose_records  # rarely needed

        self._call(lambda: lose_records(self._partition(topic, partition), to_offset))

    def make_gap(self, topic: str, partition: int, first_offset: int, end_offset: int) -> None:
        """Take the records [first_offset, end_offset) out, as compaction does: offsets stay.

        Raises KeyError if there is no such partition, KafkaError if it does not have them.
        """
        from kafkalite.replica.record_removal import remove_records  # rarely needed

        self._call(
            lambda: remove_records(self._partition(topic, partition).log, first_offset, end_offset)
        )

    def _partition(self, topic: str, index: int) -> Partition:
        try:
            return self._running.services.topics.partition(topic, index)
        except KafkaError as error:
            raise KeyError(f"{topic}-{index}") from error

    # In a thread

    def __enter__(self) -> Self:
        self._refuse_twice()
        started: threading.Event = threading.Event()
        failure: list[BaseException] = []
        thread = threading.Thread(
            target=self._run_in_thread, args=(started, failure), name="kafkalite", daemon=True
        )
        thread.start()
        started.wait()
        if failure:
            thread.join()
            raise failure[0]
        self._failure = failure
        self._thread = thread
        return self

    def __exit__(self, *_: object) -> None:
        thread, self._thread = self._thread, None
        if thread is None:
            raise RuntimeError(_NOT_RUNNING)
        if (calls := self._calls) is not None:
            with suppress(RuntimeError):  # it has ended by itself, or is not of this process
                calls.done(self._stop)
        thread.join()
        if self._failure:
            raise self._failure[0]

    def _stop(self) -> None:
        if self._clusters is not None:
            self._clusters.stop()

    def _run_in_thread(self, started: threading.Event, failure: list[BaseException]) -> None:
        async def run() -> None:
            async with AsyncExitStack() as stack:
                await self._start(stack)
                started.set()
                await self._default.ended.wait()

        try:
            with closing(Host()) as host:
                self._loop = host.loop
                host.run(run)
        except BaseException as error:  # noqa: BLE001 - raised again where it was started
            failure.append(error)
        finally:
            self._loop = None
            self._forget()
            started.set()

    # In trio, or beside asyncio

    async def __aenter__(self) -> Self:
        if not in_trio():
            await entered_in_thread(self.__enter__, self.__exit__)
            return self
        self._refuse_twice()
        try:
            async with AsyncExitStack() as stack:
                await self._start(stack)
                self._stack = stack.pop_all()
        except BaseException:
            self._forget()
            raise
        return self

    async def _start(self, stack: AsyncExitStack) -> None:
        root = stack.enter_context(temporary_directory("kafkalite-"))
        placed = {} if self._data_dir is None else {"log.dirs": one_directory(self._data_dir)}
        config = BrokerConfig({**self._properties, **placed})
        keeps = bool({"log.dirs", "log.dir"} & {*self._properties, *placed})
        if config.has_control_port:
            from kafkalite.control.port import ControlPort

            self._control = ControlPort(config)
            stack.callback(self._control.close)
        default = ControlledCluster("default", config, root, keeps_directory=keeps, loop=self._loop)
        default.within = stack.enter_context(broker_named())
        with lines_about(default.within):
            default.open()
            self._clusters = Clusters(default, root, config)
            nursery = await stack.enter_async_context(trio.open_nursery())
            await nursery.start(self._clusters.run)
            if self._control is not None:
                await nursery.start(self._control.serve, self._clusters)
            self._calls = Calls(nursery)

        async def end() -> None:
            default.stop()
            with trio.CancelScope(shield=True):
                await default.ended.wait()

        stack.push_async_callback(end)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._thread is not None:
            await in_thread(self.__exit__, kind, error, traceback)
            return
        try:
            await self._stack.__aexit__(kind, error, traceback)
        except BaseExceptionGroup as group:
            # The nursery is not to be seen: a test that fails inside should see its own exception.
            if group.exceptions != (error,):
                raise
        finally:
            self._forget()

    def _refuse_twice(self) -> None:
        if self._clusters or self._thread:
            raise RuntimeError("the broker is running already")

    def _forget(self) -> None:
        if self._calls:
            self._calls.end()
        self._clusters = self._control = self._calls = None

    @property
    def _default(self) -> ControlledCluster:
        return self._ways()[1].default

    @property
    def _running(self) -> Broker:
        return self._default.broker

    # Calls, from wherever they come

    def _ways(self) -> tuple[Calls, Clusters]:
        """The way into the loop, and what is there. Raises RuntimeError."""
        calls, clusters = self._calls, self._clusters
        if calls is None or clusters is None:
            raise RuntimeError(_NOT_RUNNING)
        return calls, clusters

    def _call(self, function: Callable[[], T]) -> T:
        """Call a function in the broker's loop, and wait for it."""
        calls, clusters = self._ways()

        def call() -> T:
            if clusters.default.stopping.is_set() or clusters.default.core.ended.is_set():
                raise RuntimeError("the broker has ended")
            with lines_about(clusters.default.log_name):
                return function()

        return calls.done(call) if calls.are_needed else call()

    def _on_nodes(
        self, change: Callable[[ModuleType, ControlledCluster], slices.WaitingSteps[T]]
    ) -> T:
        """Change the nodes, from another thread not amid a reset or restart."""
        from kafkalite.control.operations import state  # rarely needed

        calls, clusters = self._ways()

        def at_once() -> T:
            return self._call(lambda: slices.at_once(change(state, clusters.default)))

        async def in_turn() -> T:
            async with clusters.default.turn:
                return at_once()

        return calls.finished(in_turn()) if calls.are_needed else at_once()

    def _verb(self, verb: str, cluster: str, /, **fields: Any) -> Any:
        calls, clusters = self._ways()
        doing = asked_of(clusters, verb, cluster, fields)
        return calls.finished(doing) if calls.are_needed else at_once(doing, verb)

    async def _async_verb(self, verb: str, cluster: str, /, **fields: Any) -> Any:
        calls, clusters = self._ways()
        doing = asked_of(clusters, verb, cluster, fields)
        return await (result_of(calls.started(doing)) if calls.are_needed else doing)
