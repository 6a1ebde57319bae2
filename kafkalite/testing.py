"""A broker for tests: no container, no JVM, up before the test notices.

    with broker() as b:                      # in a thread of its own: for any client
        b.create_topic("words", partitions=3)
        producer = KafkaProducer(bootstrap_servers=b.bootstrap)

    async with broker(nodes=3) as b:         # in the caller's trio
        ...

Each listens on free ports of 127.0.0.1 and keeps its data in a temporary directory that is gone in
the end, unless told otherwise. pytest users have the fixture `kafkalite_broker`.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar
from uuid import UUID

import trio

from kafkalite.broker import Broker
from kafkalite.config import BrokerConfig
from kafkalite.replica.partition import Partition
from kafkalite.replica.record_removal import remove_records
from kafkalite.replica.topics import NewTopic
from kafkalite.server.host import Host
from kafkalite.server.loop import Loop

T = TypeVar("T")


class broker:
    """A running broker; `with` starts it in a thread, `async with` in the caller's trio.

    `config` takes Kafka's property names; `data_dir` keeps the data there. Entering raises
    ConfigError or StartError. `client_settings` has what clients need where it is secured: for "java",
    "librdkafka" and "kafka_python".
    """

    def __init__(
        self,
        config: Mapping[str, object] | None = None,
        *,
        nodes: int = 1,
        host: str = "127.0.0.1",
        port: int = 0,
        data_dir: str | Path | None = None,
        sasl: str | Sequence[str] = (),
        tls: str | None = None,
        acls: bool = False,
    ) -> None:
        """`sasl`, `tls` and `acls` are as the flags of the command: docs/security.md."""
        self._properties = {name: _text(value) for name, value in (config or {}).items()}
        self._certificates: tempfile.TemporaryDirectory[str] | None = None
        self.client_settings: Mapping[str, Mapping[str, str]] = {}
        if sasl or tls or acls:
            self._secure(sasl, tls, host, port, acls=acls)
        self._properties.setdefault("listeners", f"PLAINTEXT://{host}:{port}")
        self._properties.setdefault("kafkalite.nodes", str(nodes))
        self._data_dir = data_dir
        self._broker: Broker | None = None
        self._token: trio.lowlevel.TrioToken | None = None
        self._thread: threading.Thread | None = None
        self._loop: Loop | None = None
        self._failure: list[BaseException] = []
        self._stack = AsyncExitStack()

    def _secure(
        self, sasl: str | Sequence[str], tls: str | None, host: str, port: int, *, acls: bool
    ) -> None:
        from kafkalite.security.quick_start import (
            client_settings,
            make_files,
            wanted,
            with_listener,
        )

        asked = wanted(sasl, tls, acls=acls)
        files = None
        if asked.tls:
            self._certificates = tempfile.TemporaryDirectory(prefix="kafkalite-tls-")
            files = make_files(Path(self._certificates.name), host)
        self._properties = with_listener(self._properties, asked, files, host, port)
        self.client_settings = client_settings(asked, files)

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
        return Path(self._properties["log.dirs"].partition(",")[0])

    @property
    def metrics_url(self) -> str | None:
        """The URL of the metrics for Prometheus. None unless kafkalite.metrics.port is set."""
        metrics = self._running.metrics
        return None if metrics is None else metrics.url

    def create_topic(
        self,
        name: str,
        partitions: int | None = None,
        replication_factor: int | None = None,
        configs: Mapping[str, object] | None = None,
    ) -> None:
        """Create a topic; by the time this returns, every node serves it. Raises KafkaError."""
        new = NewTopic(
            name,
            -1 if partitions is None else partitions,
            -1 if replication_factor is None else replication_factor,
            configs={key: _text(value) for key, value in (configs or {}).items()},
        )
        self._call(lambda: self._running.services.topics.create(new))

    def delete_topic(self, name: str) -> None:
        """Delete a topic; KeyError if there is none of that name."""
        topic_id = self.topic_id(name)
        self._call(lambda: self._running.services.topics.delete([topic_id]))

    def stop_node(self, node_id: int) -> None:
        """Let a node go, as if its process had died; KeyError if it is not up."""
        self._call(lambda: self._running.stop_node(node_id))

    def start_node(self, node_id: int) -> None:
        """Let a stopped node come back at its address; KeyError if it was not stopped."""
        self._call(lambda: self._running.start_node(node_id))

    def add_node(self) -> int:
        """Let a new node join; its id. Raises StartError if its port is taken."""
        return self._call(lambda: self._running.add_node())

    def remove_node(self, node_id: int) -> None:
        """Let a node go for good; KeyError if there is none, ValueError if it is the only one."""
        self._call(lambda: self._running.remove_node(node_id))

    def topic_id(self, name: str) -> UUID:
        """A topic's id, or KeyError."""
        topic = self._call(lambda: self._running.services.topics.get(name))
        if topic is None:
            raise KeyError(name)
        return topic.topic_id

    # What time and cleaning do to a log, now

    def clean_now(self) -> None:
        """Apply retention and compaction to all that is written so far, without waiting for any
        interval, ratio or full segment."""
        self._call(lambda: self._running.background.clean_now())

    def force_data_loss(self, topic: str, partition: int, to_offset: int) -> None:
        """Lose the records before `to_offset` (-1: all), as retention loses what is too old.

        Raises KeyError for a partition that does not exist, KafkaError when `to_offset` lies behind
        the high watermark.
        """

        def lose() -> None:
            found = self._partition(topic, partition)
            offset = found.high_watermark if to_offset == -1 else to_offset
            found.log.delete_records_before(offset)
            found.log.retain()
            found.watchers.check_and_complete()

        self._call(lose)

    def make_gap(self, topic: str, partition: int, first_offset: int, end_offset: int) -> None:
        """Take the records [first_offset, end_offset) out, as compaction does: offsets stay.

        Raises KeyError for a partition that does not exist, KafkaError when it does not have them.
        """
        self._call(
            lambda: remove_records(self._partition(topic, partition).log, first_offset, end_offset)
        )

    def _partition(self, topic: str, index: int) -> Partition:
        found = self._running.services.topics.get(topic)
        if found is None or not 0 <= index < len(found.partitions):
            raise KeyError(f"{topic}-{index}")
        return found.partitions[index]

    # In a thread

    def __enter__(self) -> Self:
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._token is not None
        assert self._thread is not None
        with suppress(trio.RunFinishedError):
            self._token.run_sync_soon(self._running.stop)
        self._thread.join()
        if self._failure:
            raise self._failure[0]

    def _run_in_thread(self, started: threading.Event, failure: list[BaseException]) -> None:
        async def run() -> None:
            async with self:
                self._token = trio.lowlevel.current_trio_token()
                started.set()
                await self._running.stopped.wait()

        host = Host()
        self._loop = host.loop
        try:
            host.run(run)
        except BaseException as error:  # noqa: BLE001 - raised again where it was started
            failure.append(error)
        finally:
            host.close()
            started.set()

    # In trio

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            directory = self._data_dir
            if directory is None:
                directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="kafkalite-"))
            self._properties.setdefault("log.dirs", str(directory))
            self._broker = Broker(BrokerConfig(self._properties), loop=self._loop)
            stack.enter_context(self._broker)
            nursery = await stack.enter_async_context(trio.open_nursery())
            await nursery.start(self._broker.serve)
            stack.callback(self._broker.stop)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            await self._stack.__aexit__(kind, error, traceback)
        except BaseExceptionGroup as group:
            # The nursery is our affair: a test that fails inside should see its own exception.
            if group.exceptions != (error,):
                raise

    @property
    def _running(self) -> Broker:
        if self._broker is None:
            raise RuntimeError("the broker is not running: use it in a with statement")
        return self._broker

    def _call(self, function: Callable[[], T]) -> T:
        if self._token is None:
            return function()
        return trio.from_thread.run_sync(function, trio_token=self._token)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
