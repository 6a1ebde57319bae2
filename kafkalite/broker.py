"""Broker: all parts put together, opened, serving, closed.

    with Broker(config) as broker:              # locks, binds, opens, recovers; raises StartError
        await nursery.start(broker.serve)       # clients can connect
        broker.stop()                           # serve answers what is in flight, then returns

Requests share `Broker.services` (services.py), and nothing is global.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import trio
from msgspec.structs import fields

from kafkalite.apis import Api, Handler
from kafkalite.background import Background
from kafkalite.clock import Clock, SystemClock
from kafkalite.cluster.broker_loggers import requests_are_logged, when_levels_change
from kafkalite.cluster.cluster import Cluster
from kafkalite.cluster.metadata_log import MetadataLog, MetadataLogConfig
from kafkalite.cluster.sole_controller import SoleController
from kafkalite.config import BrokerConfig
from kafkalite.coordinators.group_coordinator_adapter import open_group_coordinator
from kafkalite.coordinators.loading import PROMPT_SECONDS, Loader
from kafkalite.coordinators.produce_transactions import open_transaction_coordinator
from kafkalite.coordinators.share_adapter import ShareServices
from kafkalite.log.errors import DataDirectoryInUse, InconsistentDataDirectory
from kafkalite.log.files import FILES, Files
from kafkalite.log.loggers import logger_of
from kafkalite.replica.fetch_sessions import FetchSessionCache
from kafkalite.replica.partition_logs import PartitionLogs
from kafkalite.replica.replica_moves import ReplicaMoves
from kafkalite.replica.topics import Topics
from kafkalite.requests.slices import Steps, WaitingSteps, at_once, in_slices_of_task
from kafkalite.security.security import Security, scram_records
from kafkalite.server.change_gate import change_gate, refusal_gate
from kafkalite.server.connections import Connections
from kafkalite.server.dispatch import Dispatcher
from kafkalite.server.flush_gate import flush_gate
from kafkalite.server.gates import Gate, Gates
from kafkalite.server.linger_gate import linger_gate
from kafkalite.server.listener import Listener, StartError, open_listeners, start_error_of
from kafkalite.server.loop import Loop
from kafkalite.server.nodes import Nodes, endpoints
from kafkalite.services import Services
from kafkalite.supervision import every, supervised, supervised_service
from kafkalite.telemetry.client_telemetry import ClientTelemetry
from kafkalite.wire.errors import KafkaError

if TYPE_CHECKING:
    from kafkalite.coordinators.share_persister import SharePersister
    from kafkalite.coordinators.transaction_coordinator.markers import Markers
    from kafkalite.metrics.endpoint import MetricsEndpoint
    from kafkalite.server.request_handler import RequestHandler

logger = logger_of(__name__)

# Requests in flight when the broker stops have this long to be answered.
_STOP_PATIENCE_SECONDS: Final = 5.0


class Broker:
    """One process' nodes over one set of logs."""

    services: Services
    background: Background
    controller: SoleController
    nodes: Nodes
    failure: StartError | None = None  # why it ended by itself

    def __init__(
        self,
        config: BrokerConfig,
        *,
        clock: Clock | None = None,
        files: Files = FILES,
        listeners: Sequence[Listener] = (),
        loop: Loop | None = None,
    ) -> None:
        """Make a broker that is not open yet.

        Args:
            clock: the machine's, unless given.
            files: how the disk is written to.
            listeners: bound already, in the place of those that the config asks for.
            loop: serves the connections, if this trio is its host's guest. Else a task does.
        """
        self.config = config
        self._loop = loop
        self.clock: Clock = SystemClock() if clock is None else clock
        self._files = files
        self.listeners: list[Listener] = list(listeners)
        self.is_abandoned = False
        self._life = trio.CancelScope()
        self._fault: Gate | None = None
        self._fetch_sessions = {node_id: self._new_sessions() for node_id in config.node_ids}
        self.stopped = trio.Event()
        self._stop = trio.Event()
        self._stack = ExitStack()
        self._connections: Connections
        self._loader = Loader(PROMPT_SECONDS)
        self.metrics: MetricsEndpoint | None = None  # unless asked for

    def _new_sessions(self) -> FetchSessionCache:
        slots = self.config.integer("max.incremental.fetch.session.cache.slots")
        return FetchSessionCache(
            slots, trio.current_time, lambda: self.services.cluster.ids.session()
        )

    @property
    def bootstrap(self) -> str:
        """`host:port` of each node, as clients are told, separated by commas."""
        first: dict[int, Listener] = {}
        for listener in self.listeners:
            first.setdefault(listener.node_id, listener)
        return ",".join(listener.advertised_address for listener in first.values())

    @property
    def data_directory(self) -> Path:
        """The (first) data directory."""
        return self.config.data_directory.absolute()

    @property
    def loop(self) -> Loop:
        """That serves the connections."""
        return self._connections.loop

    def __enter__(self) -> Self:
        try:
            with ExitStack() as stack:
                self._open(stack)
                self._stack = stack.pop_all()
        except (DataDirectoryInUse, InconsistentDataDirectory) as error:
            raise StartError(str(error)) from None
        except (OSError, KafkaError) as error:
            raise StartError(
                f"cannot open the data directory {self.config.data_directory}: {error}"
            ) from error
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _open(self, stack: ExitStack) -> None:
        config, now_ms = self.config, self.clock.now_ms
        self._logs = logs = PartitionLogs(config, now_ms, self._files)
        stack.callback(self._close_logs, logs)
        self.listeners = self.listeners or open_listeners(self.config)
        stack.callback(self._close_listeners)
        self._open_metrics(stack)
        self.controller = cluster = SoleController(
            self._open_metadata(logs),
            config,
            cluster_id=logs.cluster_id,
            directory_ids=logs.directory_ids,
            place_log=logs.place,
            failed_directories=logs.offline_directory_ids,
        )
        logs.remove_strays(cluster.image)
        topics = Topics(cluster, logs)
        replica_moves = ReplicaMoves(config, cluster, topics, logs)
        cluster.start(endpoints(self.listeners))
        self._put_together(stack, cluster, topics, logs, replica_moves)
        self.nodes = Nodes(
            config,
            cluster,
            self._connections,
            self.listeners,
            self._fetch_sessions,
            self._new_sessions,
        )

    def _put_together(
        self,
        stack: ExitStack,
        cluster: Cluster,
        topics: Topics,
        logs: PartitionLogs,
        replica_moves: ReplicaMoves,
        forward: Callable[[Api], Handler] | None = None,
        markers: Markers | None = None,
        persister: SharePersister | None = None,
    ) -> None:
        """Coordinators, services, jobs, dispatch. `forward`: for what others decide."""
        config, now_ms, load = self.config, self.clock.now_ms, self._loader.load
        share = ShareServices(config, cluster, topics, self.clock, load=load, persister=persister)
        groups = open_group_coordinator(config, cluster, topics, self.clock, share, load)
        transactions = open_transaction_coordinator(
            config, cluster, topics, groups, now_ms, load=load, markers=markers
        )
        security = self._open_security(cluster)
        loop = self._loop or Loop()
        if self._loop is None:
            stack.callback(loop.close)
        self.services = Services(
            config=config,
            cluster=cluster,
            topics=topics,
            logs=logs,
            group_coordinator=groups,
            transaction_coordinator=transactions,
            share=share,
            fetch_sessions=self._fetch_sessions,
            replica_moves=replica_moves,
            security=security,
            telemetry=ClientTelemetry(config, cluster, now_ms),
            joined_writes=loop.joined_writes,
            now_ms=now_ms,
        )
        self.background = Background(config, cluster, topics, logs.manager, self.clock)
        self._dispatcher = Dispatcher(
            self.services, self._gates(), forward, loads_in_thread=loop.is_hosted
        )
        security.when_quotas_change(self._change_gates)
        stack.callback(when_levels_change(self._change_gates))
        self._connections = Connections(self._dispatcher, config, loop, self.services)

    def _open_security(self, cluster: Cluster) -> Security:
        """Raises ConfigError where a security config cannot be obeyed."""
        security = Security(self.config, lambda: cluster.image)
        cluster.subscribe(security.changed)
        cluster.check_stores = security.check_stores
        for listener in self.listeners:
            security.listener(listener.node_id, listener.name, listener.config.security_protocol)
        if credentials := self.config.string("kafkalite.scram.credentials"):
            cluster.write(scram_records(credentials.split("\n")))
        return security

    def _gates(self) -> Gates:
        """The gates of requests now. A matter that is not configured has no gate."""
        security = self.services.security
        authorize = throttle = log = None
        if security.authorizer is not None:
            from kafkalite.server.authorize_gate import authorize_gate

            forwards = self.services.cluster.is_observed
            authorize = authorize_gate(security.authorizer, forwards=forwards)
        if security.has_quotas:
            from kafkalite.server.quota_gate import quota_gate

            throttle = quota_gate(security.quotas)
        if requests_are_logged():
            from kafkalite.metrics.request_log import log_gate

            log = log_gate
        return Gates(
            authorize=authorize,
            refusal=refusal_gate,
            fault=self._fault,
            change=change_gate,
            linger=linger_gate(self.services.share),
            flush=flush_gate(self.background.flusher),
            count=None if self.metrics is None else self.metrics.requests.count,
            throttle=throttle,
            log=log,
        )

    def _change_gates(self) -> None:
        self._dispatcher.set_gates(self._gates())

    def _open_metrics(self, stack: ExitStack) -> None:
        if self.config["kafkalite.metrics.port"] is None:
            return
        from kafkalite.metrics.endpoint import MetricsEndpoint

        host = self.config.string("kafkalite.metrics.host")
        host = self.config.listeners()[0].host if host is None else host
        self.metrics = MetricsEndpoint(
            lambda: self.services,
            lambda: self._connections,
            lambda: self.loop.longest_turn_seconds,
            lambda: self.is_ready,
            host,
            self.config.integer("kafkalite.metrics.port"),
        )
        stack.callback(self.metrics.close)

    def _open_metadata(self, logs: PartitionLogs) -> MetadataLog:
        integer = self.config.integer
        names = [field.name for field in fields(MetadataLogConfig)]
        config = MetadataLogConfig(**{name: integer(name.replace("_", ".")) for name in names})
        return MetadataLog(logs.open_metadata(), self.clock.now_ms, config)

    def _close_logs(self, logs: PartitionLogs) -> None:
        at_once(logs.abandoning()) if self.is_abandoned else logs.close()

    def _close_listeners(self) -> None:
        for each in self.listeners:
            each.close()

    async def serve(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve clients until `stop`; has started when they can connect. Raises StartError."""
        try:
            with self._life:
                await self._serve_until_stopped(task_status)
        except BaseExceptionGroup as group:
            raise start_error_of(group) from None
        finally:
            self._connections.cut_all("the broker has stopped")
            self.stopped.set()

    async def _serve_until_stopped(self, task_status: trio.TaskStatus[None]) -> None:
        services = self.services
        async with trio.open_nursery() as nursery:
            self.background.start(nursery)
            nursery.start_soon(supervised, "replica moves", services.replica_moves.run)
            groups, transactions = services.group_coordinator, services.transaction_coordinator
            nursery.start_soon(supervised, "loading of coordinators", self._loader.run)
            await nursery.start(supervised_service, "group coordinator", groups.run)
            await nursery.start(supervised_service, "transaction coordinator", transactions.run)
            services.security.run_keys(
                lambda keys: nursery.start_soon(supervised, "public keys", keys.run)
            )
            if services.security.has_tokens:
                nursery.start_soon(
                    every, "delegation tokens", self._seconds_between_expiries, self.expire_tokens
                )
            nursery.start_soon(supervised, "share groups", services.share.run)
            nursery.start_soon(self._connections.serve)
            nursery.start_soon(self._connections.close_idle)
            for listener in self.listeners:
                listener.begin()
            if self.metrics is not None:
                self.metrics.start(nursery)
            accepting = trio.CancelScope()
            await nursery.start(self._connections.listen, self.listeners, accepting)
            task_status.started()
            await self._stop.wait()
            accepting.cancel()
            services.group_coordinator.stop()
            await self._connections.stop(_STOP_PATIENCE_SECONDS)
            nursery.cancel_scope.cancel()

    def _seconds_between_expiries(self) -> float:
        return self.config.integer("delegation.token.expiry.check.interval.ms") / 1000

    async def expire_tokens(self) -> None:
        """Remove delegation tokens that have ended, unless controllers do."""
        if not self.services.cluster.is_observed:
            await in_slices_of_task(self.services.cluster.deciding(self._expired_tokens))

    def _expired_tokens(self) -> Steps[Sequence[object]]:
        yield
        return self.services.security.tokens.expired(self.clock.now_ms())

    @property
    def is_ready(self) -> bool:
        """True if clients are to be sent here, once it serves: it has not begun to stop."""
        return not self._stop.is_set()

    def closing(self) -> WaitingSteps[None]:
        """Close the ports and all logs in steps, once `serve` has ended."""
        self._close_listeners()
        yield from self._logs.closing()

    def stop(self) -> None:
        """Let `serve` end: no more connections, what is in flight is answered."""
        self._stop.set()

    def abandon(self) -> None:
        """Let `serve` end as if the process had been killed: it cuts all, flushes nothing."""
        self.is_abandoned = True
        self._close_listeners()
        self._connections.cut_all()
        self._life.cancel()

    def hand_on_listeners(self, node_ids: Collection[int]) -> list[Listener]:
        """The bound listeners of these nodes once more, for a broker that takes their place.

        Clients that connect meanwhile wait. Those of stopped nodes open again. Raises StartError.
        """
        return [
            each.handed_on() if each.is_open else each.open_again(each.advertised_port)
            for each in self.listeners
            if each.node_id in node_ids
        ]

    def take_listeners(self, listeners: Sequence[Listener]) -> None:
        """Listen with these, which are bound to the addresses that it was opened with."""
        self.listeners[:] = listeners

    def answer_through(self, around: Callable[[RequestHandler], RequestHandler] | None) -> None:
        """Let what `around` makes of the dispatcher answer all frames, or the dispatcher itself."""
        dispatcher = self._dispatcher
        self._connections.answer_with(dispatcher if around is None else around(dispatcher))

    def set_fault_gate(self, fault: Gate | None) -> None:
        """Have requests pass this gate, or none, from the next one on."""
        self._fault = fault
        self._change_gates()

    @property
    def connections(self) -> Connections:
        """The connections that are open."""
        return self._connections
