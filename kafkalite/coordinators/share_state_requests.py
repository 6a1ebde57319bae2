"""The share coordinators of other brokers are asked for the state of share partitions.

Leaders of share partitions, and group coordinators, ask by the same requests. One that is not to be
had for the moment, as it moves or loads, is looked for and asked again for a while. Source: Kafka's
PersisterStateManager.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import trio

from kafkalite.coordinators.shared_requests import Question, SharedRequests
from kafkalite.peers.link import Address, Connect
from kafkalite.replica.share.share_partition import SharePartitionKey
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages import (
    delete_share_group_state,
    initialize_share_group_state,
    read_share_group_state,
    read_share_group_state_summary,
    write_share_group_state,
)

_PATIENCE_SECONDS: Final = 15.0
_FIRST_PAUSE_SECONDS: Final = 0.1
_LONGEST_PAUSE_SECONDS: Final = 2.0
# Parts of one request.
MOST_IN_ONE: Final = 500
_PASSING: Final = frozenset(
    {
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    }
)


class Operation(NamedTuple):
    """One of the requests: its message, and those of its topics."""

    request: type[Any]
    topic: type[Any]


INITIALIZE: Final = Operation(
    initialize_share_group_state.InitializeShareGroupStateRequest,
    initialize_share_group_state.InitializeStateData,
)
READ: Final = Operation(
    read_share_group_state.ReadShareGroupStateRequest, read_share_group_state.ReadStateData
)
WRITE: Final = Operation(
    write_share_group_state.WriteShareGroupStateRequest, write_share_group_state.WriteStateData
)
DELETE: Final = Operation(
    delete_share_group_state.DeleteShareGroupStateRequest, delete_share_group_state.DeleteStateData
)
SUMMARIZE: Final = Operation(
    read_share_group_state_summary.ReadShareGroupStateSummaryRequest,
    read_share_group_state_summary.ReadStateSummaryData,
)


class ShareStateRequests:
    """`coordinator_of` gives the address of a share partition's coordinator, None if there is
    none."""

    def __init__(
        self,
        coordinator_of: Callable[[SharePartitionKey], Address | None],
        timeout_seconds: float,
        connect: Connect,
    ) -> None:
        self._coordinator_of = coordinator_of
        self._requests = SharedRequests(
            "kafkalite-share-states", _States(), timeout_seconds, connect
        )

    async def ask(self, operation: Operation, key: SharePartitionKey, *parts: object) -> Any:
        """The result for one share partition. `parts` are its parts of the request, done one after
        the other; the result is the last one's. In a task.

        Raises KafkaError: what the coordinator says; COORDINATOR_NOT_AVAILABLE if none answers.
        """
        until = trio.current_time() + _PATIENCE_SECONDS
        pause_seconds = _FIRST_PAUSE_SECONDS
        while True:
            question = _Asked(operation, key, parts)
            address = self._coordinator_of(key)
            if address is not None:
                await self._requests.ask(address, question)
            error = question.error
            if error is None:
                return question.result
            if error.code not in _PASSING:
                raise error
            if trio.current_time() + pause_seconds > until:
                raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, error.message)
            await trio.sleep(pause_seconds)
            pause_seconds = min(2 * pause_seconds, _LONGEST_PAUSE_SECONDS)

    async def close(self) -> None:
        """Give the connections back."""
        await self._requests.close()


class _Asked(Question):
    """One share partition in a request, and what is said of it."""

    def __init__(
        self, operation: Operation, key: SharePartitionKey, parts: Sequence[object]
    ) -> None:
        super().__init__([key])
        self.operation = operation
        self.key = key
        self.parts = parts
        # The parts of its request up to these.
        self.count = 0
        self.result: Any = None
        self.error: KafkaError | None = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def answered(self, result: Any) -> None:
        code = ErrorCode(result.error_code)
        self.codes = {self.key: code}
        self.result = result
        self.error = KafkaError(code, result.error_message) if code else None


class _States:
    """Share partitions of one group in one request."""

    def is_separate(self, question: _Asked, chosen: Sequence[_Asked]) -> bool:
        question.count = len(question.parts)
        if not chosen:
            return False
        first = chosen[0]
        question.count += chosen[-1].count
        return (
            question.count > MOST_IN_ONE
            or first.operation is not question.operation
            or first.key.group_id != question.key.group_id
        )

    def request(self, questions: Sequence[_Asked]) -> object:
        operation = questions[0].operation
        topics: dict[object, Any] = {}
        for each in questions:
            topic_id = each.key.topic_id
            topic = topics.get(topic_id)
            if topic is None:
                topic = topics[topic_id] = operation.topic(topic_id=topic_id)
            topic.partitions.extend(each.parts)
        return operation.request(group_id=questions[0].key.group_id, topics=list(topics.values()))

    def take(self, questions: Sequence[_Asked], answer: Any) -> None:
        results = {
            (topic.topic_id, each.partition): each
            for topic in answer.results
            for each in topic.partitions
        }
        for each in questions:
            result = results.get((each.key.topic_id, each.key.partition))
            if result is not None:
                each.answered(result)
