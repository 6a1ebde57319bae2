"""A small synchronous Kafka client: what a Spark task needs, and no more.

One request at a time, to the leader of the partition or the coordinator it is for. An error that
Kafka calls retriable, and a connection that is lost, are tried again with new metadata until the
time is over. Source: Kafka's NetworkClient and Fetcher, for the choice of the broker to ask; the
protocol is kafkalite.wire.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, NamedTuple, Self

from kafkalite.spark.connections import Address, Connections
from kafkalite.spark.data_directory import Isolation
from kafkalite.spark.errors import BrokerError, OffsetOutOfRange, UnknownTopic
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kafkalite.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkalite.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafkalite.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)

logger = logging.getLogger(__name__)

TopicPartition = tuple[str, int]

REQUEST_SECONDS = 30.0
RETRY_SECONDS = 60.0
# Some decode while others fetch; larger answers would leave the one waiting for the other.
FETCH_BYTES = 8 << 20
AUTO_CREATE_SECONDS = 5.0
_BACKOFF_SECONDS = 0.1
_FETCH_WAIT_MS = 500
_ACKS_ALL = -1


class OffsetAndTimestamp(NamedTuple):
    """An answer of ListOffsets; offset -1: no record is that late."""

    offset: int
    timestamp: int


class Fetched(NamedTuple):
    """A partition's part of one Fetch. `aborted` has (producer id, first offset).

    The records are good until the connection is asked again.
    """

    records: memoryview
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    aborted: list[tuple[int, int]]


class Client:
    """Connections to the brokers of a cluster, made when needed.

    Methods raise BrokerError when the time is over or the answer is final, UnknownTopic,
    OffsetOutOfRange.
    """

    def __init__(
        self,
        bootstrap: str,
        *,
        request_seconds: float = REQUEST_SECONDS,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        self._connections = Connections(bootstrap, request_seconds)
        self._request_seconds = request_seconds
        self._retry_seconds = retry_seconds
        self._addresses: dict[int, Address] = {}
        self._controller_id = -1
        self._leaders: dict[TopicPartition, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._connections.close()

    def rest(self) -> None:
        """Close the connections on which an unwanted response is under way."""
        self._connections.rest()

    # -- asking

    def ask(self, body: Any, address: Address | None = None, seconds: float = 0) -> Any:
        """One request to a broker, any if none is named. Raises OSError."""
        return self._connections.ask(body, address, seconds)

    def retry(self, what: str, attempt: Callable[[], Any]) -> Any:
        """Attempt until it works. Raises BrokerError when the time is over, or at once what is
        final."""
        deadline = time.monotonic() + self._retry_seconds
        is_told = False
        while True:
            try:
                return attempt()
            except BrokerError as error:
                if error.code is None or not error.code.retriable:
                    raise
                problem: Exception = error
            except OSError as error:
                problem = error
                if not is_told:
                    logger.warning("%s: %s (trying for %g s)", what, error, self._retry_seconds)
                    is_told = True
            if time.monotonic() > deadline:
                raise BrokerError(
                    f"{what}: given up after {self._retry_seconds:g} s: {problem}",
                    problem.code if isinstance(problem, BrokerError) else None,
                ) from problem
            self._leaders.clear()
            time.sleep(_BACKOFF_SECONDS)

    def address_of_node(self, node_id: int) -> Address:
        """Raises BrokerError."""
        if node_id not in self._addresses:
            raise BrokerError(f"node {node_id} is not there", ErrorCode.LEADER_NOT_AVAILABLE)
        return self._addresses[node_id]

    # -- metadata

    def partitions(self, topics: Iterable[str] | None = None) -> dict[str, list[int]]:
        """The partitions of the topics, or of all that are not internal. No topic is created.

        Raises UnknownTopic.
        """
        wanted = None if topics is None else sorted(set(topics))
        answer = self.retry("metadata", lambda: self._metadata(wanted))
        found: dict[str, list[int]] = {}
        for topic in answer.topics:
            if topic.error_code:
                if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    raise UnknownTopic(f"there is no topic {topic.name!r}")
                check(topic.error_code, f"topic {topic.name!r}")
            if wanted is not None or not topic.is_internal:
                found[topic.name] = sorted(each.partition_index for each in topic.partitions)
        return found

    def _metadata(self, topics: list[str] | None) -> Any:
        asked = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
        answer = self.ask(MetadataRequest(topics=asked, allow_auto_topic_creation=False))
        self._addresses = {each.node_id: (each.host, each.port) for each in answer.brokers}
        self._controller_id = answer.controller_id
        for topic in answer.topics:
            check_retriable(topic.error_code, f"topic {topic.name!r}")
            for each in topic.partitions:
                self._leaders[topic.name, each.partition_index] = each.leader_id
        return answer

    def leader(self, partition: TopicPartition) -> Address:
        """The address of the partition's leader. Raises BrokerError, UnknownTopic, OSError."""
        if partition not in self._leaders:
            answer = self._metadata([partition[0]])
            if any(t.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION for t in answer.topics):
                raise UnknownTopic(f"there is no topic {partition[0]!r}")
            if partition not in self._leaders:
                raise UnknownTopic(
                    f"there is no partition {partition[1]} of topic {partition[0]!r}"
                )
        return self.address_of_node(self._leaders[partition])

    # -- reading

    def list_offsets(
        self,
        timestamps: Mapping[TopicPartition, int],
        isolation: Isolation = Isolation.READ_UNCOMMITTED,
    ) -> dict[TopicPartition, OffsetAndTimestamp]:
        """For each partition the first record that is not earlier than the timestamp (ms), or
        EARLIEST or LATEST."""
        return self.retry("offsets", lambda: self._list_offsets(timestamps, isolation))

    def _list_offsets(
        self, timestamps: Mapping[TopicPartition, int], isolation: Isolation
    ) -> dict[TopicPartition, OffsetAndTimestamp]:
        by_leader: dict[Address, dict[str, list[ListOffsetsPartition]]] = {}
        for (topic, partition), timestamp in timestamps.items():
            topics = by_leader.setdefault(self.leader((topic, partition)), {})
            asked = ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
            topics.setdefault(topic, []).append(asked)
        found: dict[TopicPartition, OffsetAndTimestamp] = {}
        for address, topics in by_leader.items():
            request = ListOffsetsRequest(
                replica_id=-1,
                isolation_level=_isolation_level(isolation),
                topics=[ListOffsetsTopic(name=name, partitions=p) for name, p in topics.items()],
            )
            for topic in self.ask(request, address).topics:
                for each in topic.partitions:
                    check(each.error_code, f"offsets of {topic.name}-{each.partition_index}")
                    at = OffsetAndTimestamp(each.offset, each.timestamp)
                    found[topic.name, each.partition_index] = at
        return found

    def fetch(
        self,
        partition: TopicPartition,
        offset: int,
        *,
        isolation: Isolation = Isolation.READ_UNCOMMITTED,
        max_bytes: int = FETCH_BYTES,
    ) -> Fetched:
        """The batches from the one that holds `offset` on. Raises OffsetOutOfRange, too."""
        request = _fetch_request(partition, offset, isolation, max_bytes)
        name = f"{partition[0]}-{partition[1]}"
        return self.retry(f"fetch from {name}", lambda: self._fetch(partition, offset, request))

    def fetch_ahead(
        self,
        partition: TopicPartition,
        offset: int,
        *,
        isolation: Isolation = Isolation.READ_UNCOMMITTED,
        max_bytes: int = FETCH_BYTES,
    ) -> None:
        """Let the broker prepare the answer for the next `fetch`, which must be asked the same.

        What goes wrong is left for that one to find.
        """
        address = self._addresses.get(self._leaders.get(partition, -1))
        connection = self._connections.get(address) if address else None
        if connection is not None:
            with contextlib.suppress(OSError):
                connection.send_ahead(_fetch_request(partition, offset, isolation, max_bytes))

    def _fetch(self, partition: TopicPartition, offset: int, request: FetchRequest) -> Fetched:
        answer = self.ask(request, self.leader(partition), request.max_wait_ms / 1000)
        check(answer.error_code, "fetch")
        data = answer.responses[0].partitions[0]
        name = f"{partition[0]}-{partition[1]}"
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            raise OffsetOutOfRange(f"{name} has no offset {offset} any more")
        check(data.error_code, f"fetch of {name} at offset {offset}")
        return Fetched(
            memoryview(data.records if data.records is not None else b""),
            data.high_watermark,
            data.last_stable_offset,
            data.log_start_offset,
            [(each.producer_id, each.first_offset) for each in data.aborted_transactions or []],
        )

    # -- writing

    def produce(
        self, partition: TopicPartition, batch: bytes, *, transactional_id: str | None = None
    ) -> int:
        """Append one batch, acknowledged by all in-sync replicas; its base offset.

        Sent again until an answer comes: the batch must have a producer id, or it may be there
        twice.
        """
        name = f"{partition[0]}-{partition[1]}"
        if any(batch[:8]):
            batch = bytes(8) + batch[8:]  # the offset is the broker's to give
        return self.retry(
            f"produce to {name}", lambda: self._produce(partition, batch, transactional_id)
        )

    def _produce(
        self, partition: TopicPartition, batch: bytes, transactional_id: str | None
    ) -> int:
        data = PartitionProduceData(index=partition[1], records=batch)
        request = ProduceRequest(
            transactional_id=transactional_id,
            acks=_ACKS_ALL,
            timeout_ms=int(self._request_seconds * 1000),
            topic_data=[TopicProduceData(name=partition[0], partition_data=[data])],
        )
        answer = self.ask(request, self.leader(partition))
        result = answer.responses[0].partition_responses[0]
        name = f"{partition[0]}-{partition[1]}"
        # sent before, and long ago: it is there
        if result.error_code != ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            check(result.error_code, f"produce to {name}", result.error_message)
        return int(result.base_offset)

    def create_topic(
        self,
        name: str,
        partitions: int,
        *,
        replication_factor: int = -1,
        configs: Mapping[str, str] | None = None,
    ) -> bool:
        """Create a topic; False if it was there already."""
        topic = CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=replication_factor,
            configs=[CreatableTopicConfig(name=k, value=v) for k, v in (configs or {}).items()],
        )

        def attempt() -> bool:
            self._metadata([])
            request = CreateTopicsRequest(topics=[topic], timeout_ms=30_000)
            answer = self.ask(request, self._addresses.get(self._controller_id))
            [result] = answer.topics
            if result.error_code == ErrorCode.TOPIC_ALREADY_EXISTS:
                return False
            check(result.error_code, f"creating topic {name!r}", result.error_message)
            return True

        created: bool = self.retry(f"creating topic {name!r}", attempt)
        self.retry(f"topic {name!r}", lambda: self._wait_for(name, partitions))
        return created

    def _wait_for(self, name: str, partitions: int) -> None:
        try:
            for i in range(partitions):
                self.leader((name, i))
        except UnknownTopic as error:  # created, and not everybody knows yet
            raise BrokerError(str(error), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) from error

    def partitions_to_write(self, topic: str, seconds: float = AUTO_CREATE_SECONDS) -> list[int]:
        """Ask as a producer does: the broker may create the topic. Raises UnknownTopic if it does
        not."""
        deadline = time.monotonic() + seconds
        asked = [MetadataRequestTopic(name=topic)]
        request = MetadataRequest(topics=asked, allow_auto_topic_creation=True)
        while True:
            [found] = self.retry("metadata", lambda: self.ask(request)).topics
            if not found.error_code and all(each.leader_id >= 0 for each in found.partitions):
                return sorted(each.partition_index for each in found.partitions)
            code = ErrorCode(found.error_code)
            if time.monotonic() > deadline or (code and not code.retriable):
                raise UnknownTopic(
                    f"there is no topic {topic!r}, and the broker creates none ({code.name})"
                )
            time.sleep(_BACKOFF_SECONDS)


def check(error_code: int, what: str, message: str | None = None) -> None:
    """Raises BrokerError, UnknownTopic for an error code that is not 0."""
    if error_code:
        code = ErrorCode(error_code)
        raise BrokerError(f"{what}: {code.name}{': ' + message if message else ''}", code)


def check_retriable(error_code: int, what: str) -> None:
    """Raises BrokerError for what passes by itself; an unknown topic is for the caller to judge."""
    if error_code and error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        check(error_code, what)


def _fetch_request(
    partition: TopicPartition, offset: int, isolation: Isolation, max_bytes: int
) -> FetchRequest:
    asked = FetchPartition(
        partition=partition[1], fetch_offset=offset, partition_max_bytes=max_bytes
    )
    return FetchRequest(
        max_wait_ms=_FETCH_WAIT_MS,
        min_bytes=1,
        max_bytes=max_bytes,
        isolation_level=_isolation_level(isolation),
        topics=[FetchTopic(topic=partition[0], partitions=[asked])],
    )


def _isolation_level(isolation: Isolation) -> int:
    return int(isolation is Isolation.READ_COMMITTED)
