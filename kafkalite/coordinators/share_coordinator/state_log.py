"""`__share_group_state`: append records, read all back, forget what is superseded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from kafkalite.coordinators.coordinator_log import READ_BYTES, as_answered, decoded_records_of
from kafkalite.coordinators.coordinator_topic import CoordinatorTopic
from kafkalite.coordinators.share_coordinator.share_state import Record
from kafkalite.log.trusted_records import COORDINATOR_SEQUENCE
from kafkalite.replica.share.share_partition import SharePartitionKey
from kafkalite.requests.topic_names import SHARE_STATE_TOPIC
from kafkalite.wire.compression import Compression
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.kafka_uuid import kafka_uuid
from kafkalite.wire.messages.stored import SHARE_GROUP_STATE

if TYPE_CHECKING:
    from kafkalite.coordinators.share_coordinator.linger import Linger
    from kafkalite.replica.partition import Partition
    from kafkalite.replica.topics import Topics


class ShareStateLog(CoordinatorTopic):
    """The topic `__share_group_state`.

    `codec` compresses each batch of records. `read_bytes` are read at once when they are read back.
    With `linger_seconds` there is a `linger`.
    """

    def __init__(
        self,
        topics: Topics,
        now_ms: Callable[[], int],
        *,
        codec: Compression = Compression.NONE,
        read_bytes: int = READ_BYTES,
        linger_seconds: float = 0.0,
    ) -> None:
        super().__init__(topics, SHARE_STATE_TOPIC, now_ms)
        self._codec = codec
        self._read_bytes = read_bytes
        self.linger: Linger | None = None
        if linger_seconds > 0:
            from kafkalite.coordinators.share_coordinator.linger import Linger

            self.linger = Linger(linger_seconds, self._write)

    def ensure(self) -> None:
        """Create the topic if there is none. Raises KafkaError(COORDINATOR_NOT_AVAILABLE)."""
        try:
            self._topics.create_internal(SHARE_STATE_TOPIC)
        except KafkaError as error:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, error.message) from error

    @property
    def topic_id(self) -> UUID | None:
        """None while the topic does not exist."""
        topic = self.topic
        return None if topic is None else topic.topic_id

    def index_of_state(self, key: SharePartitionKey) -> int:
        """`index_of` for the state of a share partition."""
        return self.index_of(coordinator_key(key))

    def check_coordinator(self, key: SharePartitionKey, node_id: int) -> None:
        """Raises KafkaError(NOT_COORDINATOR) unless the node coordinates the share partition."""
        if self.partition(self.index_of_state(key)).coordinated_here != node_id:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)

    def append(self, index: int, records: Sequence[Record], *, may_linger: bool = False) -> int:
        """Append records; with `may_linger` they may be written a little later (linger.py).

        Returns the offset of the first one. Raises KafkaError with the code to answer.
        """
        try:
            partition = self.partition(index)
            if self.linger is None:
                return self._write(partition, records)
            return self.linger.append(partition, records, may_linger=may_linger)
        except KafkaError as error:
            # Kafka adds the words to its own in this coordinator.
            raise KafkaError(as_answered(error).code, error.message) from error

    def _write(self, partition: Partition, records: Sequence[Record]) -> int:
        return partition.append_trusted(
            records, self._now_ms(), codec=self._codec, base_sequence=COORDINATOR_SEQUENCE
        )

    def replay(self, index: int) -> Iterator[tuple[int, object, object | None]]:
        """Offset, key and value of all records, in order."""
        return decoded_records_of(self.partition(index).log, SHARE_GROUP_STATE, self._read_bytes)

    def delete_before(self, index: int, offset: int) -> None:
        """Forget the records before `offset`, which others have superseded. Raises KafkaError."""
        self.partition(index).delete_records_before(offset)


def coordinator_key(key: SharePartitionKey) -> str:
    """The key by which FindCoordinator asks for it (Kafka's SharePartitionKey.asCoordinatorKey)."""
    return f"{key.group_id}:{kafka_uuid(key.topic_id)}:{key.partition}"
