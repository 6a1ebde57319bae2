"""A broker under controllers of their own: it registers, obeys, replicates and forwards.

    NOT one process' cluster:   who decides is Apache Kafka's quorum (process.roles=broker)

The start goes on where a Broker's is done with what needs no one else: the metadata are followed,
the broker is registered, its partitions opened as the metadata have them, and only then it serves.
Source: BrokerServer.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path

import trio

from kafkalite.broker import Broker
from kafkalite.clock import Clock
from kafkalite.cluster.features import SUPPORTED_FEATURES
from kafkalite.cluster.observed_cluster import ObservedCluster
from kafkalite.cluster.topic_creation import NewTopic
from kafkalite.config import BrokerConfig, ConfigError
from kafkalite.config.listeners import SECURITY_PROTOCOLS
from kafkalite.config.quorum import PeerListener, quorum_config
from kafkalite.coordinators.latest_offsets import LatestOffsets
from kafkalite.coordinators.loading import Loader
from kafkalite.coordinators.share_coordinator.state_log import coordinator_key
from kafkalite.coordinators.share_persister import SharePersister
from kafkalite.coordinators.share_state_requests import ShareStateRequests
from kafkalite.coordinators.transaction_coordinator.marker_channels import MarkerChannels
from kafkalite.coordinators.transaction_joins import TransactionJoins
from kafkalite.log.files import FILES
from kafkalite.log.loggers import logger_of
from kafkalite.log.meta_properties import read_meta_properties
from kafkalite.peers.link import Address, Connect, connect_tcp
from kafkalite.peers.warm_up import make_codecs
from kafkalite.quorum.lifecycle import LifeState
from kafkalite.quorum.membership import Membership, MembershipConfig
from kafkalite.quorum.observer import Committed
from kafkalite.quorum.registration import Registration, RegistrationRefused
from kafkalite.replica.partition_logs import PartitionLogs
from kafkalite.replica.replica_moves import ReplicaMoves
from kafkalite.replica.replicated_topics import ReplicatedTopics
from kafkalite.replica.share.share_partition import SharePartitionKey
from kafkalite.replication.replica import ReplicationConfig
from kafkalite.replication.replicas import Replicas
from kafkalite.replication.throttle import Throttle, Throttles
from kafkalite.requests.disk_threads import in_disk_thread
from kafkalite.requests.slices import WaitingSteps, in_slices_of_task, release
from kafkalite.requests.topic_names import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTIONS_TOPIC
from kafkalite.server.forwarded import forwarded
from kafkalite.server.gates import Gates
from kafkalite.server.listener import StartError, open_listeners
from kafkalite.server.loop import Loop
from kafkalite.server.replication_gate import replication_gate
from kafkalite.server.transaction_gate import transaction_gate
from kafkalite.supervision import supervised
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.messages.broker_registration import Listener as RegisteredListener
from kafkalite.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig

logger = logger_of(__name__)


class QuorumBroker(Broker):
    """One node of a cluster; `config` has process.roles=broker."""

    cluster: ObservedCluster
    membership: Membership
    replicas: Replicas
    topics: ReplicatedTopics

    def __init__(
        self,
        config: BrokerConfig,
        *,
        clock: Clock | None = None,
        loop: Loop | None = None,
    ) -> None:
        super().__init__(config, clock=clock, loop=loop)
        self._served = trio.Event()
        self._are_topics_open = False
        # The reason why it is not let in, or cannot serve.
        self._refusals: list[str] = []
        self._loader = Loader()

    def _open(self, stack: ExitStack) -> None:
        """Open what needs no other process: directories, listeners, an empty image."""
        config = self.config
        self._quorum = quorum_config(config)
        self._connect_to_brokers = _connect(config, self._quorum.brokers)
        self._check_formatted()
        make_codecs()
        self._logs = logs = PartitionLogs(config, self.clock.now_ms)
        stack.callback(logs.close)
        self.listeners = open_listeners(config)
        stack.callback(self._close_listeners)
        self._open_metrics(stack)
        self.cluster = ObservedCluster(
            config,
            cluster_id=logs.cluster_id,
            directory_ids=logs.directory_ids,
            place_log=logs.place,
            quorum_epoch=lambda: self.membership.observer.leader_epoch,
            new_producer_id=lambda: self.membership.producer_ids.take(),
        )
        registration = Registration(
            config.node_id,
            logs.cluster_id,
            listeners=[
                RegisteredListener(
                    name=listener.name,
                    host=listener.advertised_host,
                    port=listener.advertised_port,
                    security_protocol=SECURITY_PROTOCOLS[listener.config.security_protocol],
                )
                for listener in self.listeners
            ],
            features=SUPPORTED_FEATURES,
            directory_ids=logs.directory_ids,
            rack=config.string("broker.rack"),
            previous_broker_epoch=logs.previous_broker_epoch,
        )
        self.membership = Membership(
            registration,
            MembershipConfig(
                self._quorum.addresses,
                config.integer("broker.heartbeat.interval.ms") / 1000,
                config.integer("initial.broker.registration.timeout.ms") / 1000,
            ),
            cluster_id=logs.cluster_id,
            directory_id=logs.directory_ids[0],
            publish=self._publish,
            metadata_offset=lambda: self.cluster.image.offset,
            offline_directories=logs.offline_directory_ids,
            cordoned_directories=logs.cordoned_directory_ids,
            connect=_connect(config, self._quorum.controllers),
        )
        logs.failed_directory = self._directory_failed
        logs.fail_with_any_log()

    def _directory_failed(self, path: Path, error: OSError) -> None:
        """Others are to lead what lies there: the controllers hear of it before the next beat.

        Without any directory the broker leaves: the controllers would give it new partitions.
        """
        if len(self._logs.offline_directory_ids()) == len(self._logs.directory_ids):
            self.failure = StartError(f"no data directory is left: {path}: {error}")
            self.stop()
        self.membership.lifecycle.directories_changed()

    def _check_formatted(self) -> None:
        """The cluster id must be known before the controllers are asked. Raises StartError."""
        for directory in self.config.log_dirs:
            path = Path(directory)
            try:
                known = read_meta_properties(path, FILES)
            except OSError:  # it does not work: PartitionLogs goes without it, if it may
                continue
            if known is None and self.config["kafkalite.cluster.id"] is None:
                raise StartError(
                    f"{path} is not formatted; kafkalite format --cluster-id ID, with the "
                    "id of the controllers' cluster, does it"
                )

    def _publish(self, committed: Committed) -> WaitingSteps[None]:
        """Take in what is committed."""
        changes = yield from self.cluster.changes_of(
            committed.records, is_snapshot=committed.is_snapshot
        )
        taker = self.topics if self._are_topics_open else self.cluster
        yield from taker.taking_in(changes, committed.offset)
        yield from release([committed.records, changes])

    async def serve(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Join, serve, and leave when `stop` is called. Has started when it is unfenced.

        Raises StartError: the controllers do not let this broker in, or it was stopped before.
        """
        membership, refused = self.membership, self._refusals
        try:
            async with trio.open_nursery() as nursery:
                await nursery.start(membership.run)
                if membership.refusal is not None:
                    refused.append(membership.refusal)
                else:
                    nursery.start_soon(self._live, nursery.cancel_scope)
                    await self._unless_ended(membership.lifecycle.caught_up)
                    await self._serve_registered(nursery, task_status)
                nursery.cancel_scope.cancel()
        finally:
            self.stopped.set()
        if not self._served.is_set():
            raise StartError(refused[0] if refused else "stopped before the controllers let it in")

    async def _live(self, scope: trio.CancelScope) -> None:
        try:
            await self.membership.lifecycle.run()
        except RegistrationRefused as error:
            self._refusals.append(str(error))
            scope.cancel()

    async def _unless_ended(self, event: trio.Event) -> None:
        """Wait for an event of the lifecycle, or for its end."""
        async with trio.open_nursery() as nursery:

            async def wait_for(either: trio.Event) -> None:
                await either.wait()
                nursery.cancel_scope.cancel()

            nursery.start_soon(wait_for, event)
            nursery.start_soon(wait_for, self.membership.lifecycle.may_go)

    async def _serve_registered(
        self, nursery: trio.Nursery, task_status: trio.TaskStatus[None]
    ) -> None:
        if self.membership.lifecycle.may_go.is_set():
            return
        try:
            async with self.membership.tail.turn:
                await self._open_partitions()
                self._serve_what_is_open()
        except (ConfigError, KafkaError, OSError) as error:
            self._refusals.append(str(error))
            return
        self.membership.producer_ids.prefetch()
        await nursery.start(self.replicas.run)
        nursery.start_soon(supervised, "markers", self._markers.run)
        lifecycle, living = self.membership.lifecycle, trio.Event()
        self.cluster.when_living(self.config.node_id, living.set)
        lifecycle.ready()
        # Clients that ask before would hear of no broker while all others are fenced. librdkafka
        # forgets the coordinators then, and its transactions never end.
        await self._unless_ended(lifecycle.unfenced)
        await self._unless_ended(living)
        await nursery.start(self._serve_clients)
        logger.info("node %d is a broker of cluster %s", self.config.node_id, self._logs.cluster_id)
        task_status.started()
        await lifecycle.may_go.wait()
        self._logs.closed_by(lifecycle.broker_epoch)
        super().stop()
        await self._served.wait()

    async def _serve_clients(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        try:
            await super().serve(task_status=task_status)
        finally:
            self._served.set()
            await self._joins.close()
            await self._markers.close()
            await self._persister.close()

    async def _open_partitions(self) -> None:
        """The metadata are as of now: open what they say is here, in slices."""
        # Else the first Fetch of a follower imports it, which holds the loop.
        import_module("kafkalite.replica.follower_reader")

        config, cluster, logs = self.config, self.cluster, self._logs
        await in_disk_thread(partial(logs.set_strays_aside, cluster.image, config.node_id))
        self.replicas = Replicas(
            config.node_id,
            brokers=cluster,
            broker_epoch=self.membership.broker_epoch,
            address_of=self._address_of,
            ask_controller=self.membership.alter_partition,
            config=_replication_config(self),
            throttles=throttles_of(config),
            connect=self._connect_to_brokers,
        )
        self.topics = ReplicatedTopics(
            cluster,
            logs,
            self.replicas,
            node_id=config.node_id,
            ask_for=self._ask_for,
            tell_directory=self.membership.assignments.tell,
        )
        await in_slices_of_task(self.topics.opening())
        self._are_topics_open = True

    def _serve_what_is_open(self) -> None:
        """Coordinators, and all that serves clients."""
        config, cluster, logs = self.config, self.cluster, self._logs
        tell_directory = self.membership.assignments.tell
        moves = ReplicaMoves(config, cluster, self.topics, logs, tell_directory)
        forward = forwarded(self.membership.forwarding.forward)
        seconds = config.integer("request.timeout.ms") / 1000
        self._joins = TransactionJoins(self._coordinator_of, seconds, self._connect_to_brokers)
        self._markers = MarkerChannels(
            self.topics, self._address_of, seconds, self._connect_to_brokers
        )
        self._persister = SharePersister(
            ShareStateRequests(self._share_coordinator_of, seconds, self._connect_to_brokers),
            LatestOffsets(self.topics, self._address_of, seconds, self._connect_to_brokers),
        )
        self._put_together(
            *(self._stack, cluster, self.topics, logs, moves, forward),
            markers=self._markers,
            persister=self._persister,
        )

    def _gates(self) -> Gates:
        integer = self.config.integer
        patience_seconds = {
            OFFSETS_TOPIC: integer("offsets.commit.timeout.ms") / 1000,
            TRANSACTIONS_TOPIC: integer("request.timeout.ms") / 1000,
            SHARE_STATE_TOPIC: integer("share.coordinator.write.timeout.ms") / 1000,
        }
        return replace(
            super()._gates(),
            replication=replication_gate(patience_seconds),
            transaction=transaction_gate(self._joins),
        )

    def _coordinator_of(self, transactional_id: str) -> Address | None:
        return self._leader_of(TRANSACTIONS_TOPIC, transactional_id)

    def _share_coordinator_of(self, key: SharePartitionKey) -> Address | None:
        return self._leader_of(SHARE_STATE_TOPIC, coordinator_key(key))

    def _leader_of(self, topic_name: str, key: str) -> Address | None:
        """The address of the broker that coordinates what has this key; None if none does."""
        topic = self.topics.get(topic_name)
        return None if topic is None else self._address_of(topic.coordinating(key).leader_id)

    def _ask_for(self, new: NewTopic) -> KafkaError | None:
        return self.membership.topic_requests.ask_for(
            CreatableTopic(
                name=new.name,
                num_partitions=new.partition_count,
                replication_factor=new.replication_factor,
                configs=[
                    CreatableTopicConfig(name=name, value=value)
                    for name, value in new.configs.items()
                ],
            ),
            new.retry_seconds,
        )

    def _address_of(self, node_id: int) -> Address | None:
        """The address of another broker for brokers; None for one that is not there."""
        node = self.cluster.nodes.get(node_id)
        endpoint = None if node is None else node.endpoints.get(self._quorum.brokers.listener)
        return None if endpoint is None else Address(endpoint.host, endpoint.port)

    @property
    def is_ready(self) -> bool:
        """Tells whether the controllers let it serve, and it is not about to leave."""
        lifecycle = self.membership.lifecycle
        return lifecycle.state is LifeState.RUNNING and not lifecycle.is_fenced

    def stop(self) -> None:
        """Let others lead what this broker leads, then let `serve` end."""
        self.membership.lifecycle.begin_shutdown()


def _connect(config: BrokerConfig, peers: PeerListener) -> Connect:
    """The way to connect to nodes at a listener. Raises ConfigError."""
    if peers.security_protocol == "PLAINTEXT":
        return connect_tcp
    from kafkalite.security.peer_connections import peer_connect

    return peer_connect(config, peers)


def throttles_of(config: BrokerConfig) -> Throttles:
    def side(name: str) -> Throttle:
        return Throttle(
            lambda: config.integer(f"{name}.replication.throttled.rate"),
            config.integer("replication.quota.window.num"),
            config.integer("replication.quota.window.size.seconds"),
        )

    return Throttles(side("leader"), side("follower"))


def _replication_config(broker: QuorumBroker) -> ReplicationConfig:
    integer = broker.config.integer
    return ReplicationConfig(
        max_lag_seconds=integer("replica.lag.time.max.ms") / 1000,
        fetch_backoff_seconds=integer("replica.fetch.backoff.ms") / 1000,
        fetch_max_wait_seconds=integer("replica.fetch.wait.max.ms") / 1000,
        fetch_min_bytes=integer("replica.fetch.min.bytes"),
        fetch_max_bytes=integer("replica.fetch.max.bytes"),
        fetch_response_max_bytes=integer("replica.fetch.response.max.bytes"),
        socket_timeout_seconds=integer("replica.socket.timeout.ms") / 1000,
    )
