"""A Produce request whose batches are written at the end of the turn (log/joined_writes.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kafkalite.replica.produced_rows import error_row, hang_up_on_error
from kafkalite.requests.context import CloseConnection
from kafkalite.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from kafkalite.log.log_state import LogState
    from kafkalite.replica.topics import Topics
    from kafkalite.requests.context import ClientConnection
    from kafkalite.wire.api_codec import ApiCodec
    from kafkalite.wire.fields import Records
    from kafkalite.wire.messages.produce import TopicProduceResponseRow


class UnwrittenProduce:
    """The rows of its response, and the response itself once it is made."""

    __slots__ = (
        "_acks",
        "_chunks",
        "_codec",
        "_connection",
        "_correlation_id",
        "_response",
        "_rows",
        "_topics",
    )

    def __init__(self, topics: Topics, acks: int, rows: list[TopicProduceResponseRow]) -> None:
        self._topics = topics
        self._acks = acks
        self._rows = rows
        self._connection: ClientConnection | None = None

    def responded(
        self,
        connection: ClientConnection,
        chunks: list[Records],
        codec: ApiCodec,
        correlation_id: int,
        response: Any,
    ) -> None:
        """The response was made of these rows, and `connection` sends its chunks soon."""
        self._connection = connection
        self._chunks = chunks
        self._codec = codec
        self._correlation_id = correlation_id
        self._response = response

    def refuse(self, failed: Sequence[LogState]) -> None:
        """Have KAFKA_STORAGE_ERROR in the rows of these logs, and in the response."""
        for name, topic_id, rows in self._rows:
            topic = self._topics.get(name) if name else self._topics.by_id(topic_id)
            if topic is None:
                continue
            assert isinstance(rows, list)
            for position, row in enumerate(rows):
                if row[1] == ErrorCode.NONE and topic.partitions[row[0]].log in failed:
                    error = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)
                    rows[position] = error_row(row[0], error, None)
        if self._connection is None:
            return  # a response that is made later has these rows
        if self._acks:
            chunks = self._codec.build(self._correlation_id, self._response)
            self._connection.replace_response(self._chunks, chunks)
            return
        try:
            hang_up_on_error(self._rows)
        except CloseConnection as reason:
            self._connection.hang_up(reason)
