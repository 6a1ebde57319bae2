"""The task that copies from one leader everything that this broker follows it in.

One Fetch at a time, for all that is due. A leader that cannot be reached delays them all; what is
wrong with one partition delays that one. Source: ReplicaFetcherThread, ReplicaFetcherManager.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from math import inf
from typing import Final

import trio

from kafkalite.log.loggers import logger_of
from kafkalite.peers.link import Address, Connect, Link, PeerGone
from kafkalite.replication import following
from kafkalite.replication.fetch_session import FetchSessionHandler, Key
from kafkalite.replication.following import Question
from kafkalite.replication.replica import Replica, ReplicationConfig
from kafkalite.requests.purgatory import wait_until
from kafkalite.requests.slices import in_slices_of_task
from kafkalite.wire.api_keys import EARLIEST, LATEST
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, ReplicaState
from kafkalite.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)

logger = logger_of(__name__)

# A flush that nothing told of is looked for after this time.
_LOOK_AGAIN_SECONDS: Final = 1.0


class Fetcher:
    """Copies from one leader. Its task ends when nothing follows that leader any more."""

    def __init__(
        self,
        leader_id: int,
        node_id: int,
        *,
        config: ReplicationConfig,
        broker_epoch: Callable[[], int],
        address_of: Callable[[int], Address | None],
        connect: Connect,
    ) -> None:
        self.leader_id = leader_id
        self.replicas: dict[Key, Replica] = {}
        self.fetch_count = 0
        self._node_id = node_id
        self._config = config
        self._broker_epoch = broker_epoch
        self._address_of = address_of
        self._link = Link(f"broker-{node_id}-fetcher-{leader_id}", connect)
        self._session = FetchSessionHandler()
        self._changed = trio.Event()
        self._complaint = ""

    def add(self, replica: Replica) -> None:
        """Copy this one, too."""
        self.replicas[replica.key] = replica
        self._changed.set()

    def remove(self, replica: Replica) -> None:
        """Copy it no more. An answer that is under way is dropped."""
        self.replicas.pop(replica.key, None)
        self._changed.set()

    async def run(self) -> None:
        """Copy until nothing is left to copy."""
        try:
            while self.replicas:
                self._changed = trio.Event()
                questions, wanted = self._due()
                if not wanted:
                    await self._wait_for_change()
                    continue
                address = self._address_of(self.leader_id)
                if address is None or not await self._fetch(address, questions, wanted):
                    await trio.sleep(self._config.fetch_backoff_seconds)
        finally:
            await self._link.close()

    def _due(self) -> tuple[dict[Key, Question], dict[Key, FetchPartition]]:
        now = trio.current_time()
        questions: dict[Key, Question] = {}
        wanted: dict[Key, FetchPartition] = {}
        for key, replica in self.replicas.items():
            if not replica.fetch_state.is_due(now) or replica.holds_back:
                continue
            try:
                questions[key], wanted[key] = following.ask(replica, self._config.fetch_max_bytes)
            except KafkaError as error:
                following.failed(replica, error, now)
        return questions, wanted

    async def _wait_for_change(self) -> None:
        """Until a partition comes, goes, or has backed off or been throttled for long enough."""
        retry_at = min(
            (
                replica.fetch_state.retry_at
                for replica in self.replicas.values()
                if replica.fetch_state.retry_at > trio.current_time()
            ),
            default=inf,
        )
        if any(replica.holds_back for replica in self.replicas.values()):
            retry_at = min(retry_at, trio.current_time() + self._config.fetch_backoff_seconds)
        with trio.move_on_at(retry_at):
            await self._changed.wait()

    async def _fetch(
        self,
        address: Address,
        questions: dict[Key, Question],
        wanted: dict[Key, FetchPartition],
    ) -> bool:
        """True if the leader answered."""
        try:
            answer = await self._link.ask(
                address,
                self._request(wanted),
                timeout_seconds=self._config.socket_timeout_seconds,
            )
            self.fetch_count += 1
            return await self._take(address, questions, answer)
        except PeerGone as error:
            self._session.reset()
            if str(error) != self._complaint:
                self._complaint = str(error)
                logger.info("leader %d: %s", self.leader_id, error)
            return False

    def _request(self, wanted: dict[Key, FetchPartition]) -> FetchRequest:
        config, session = self._config, self._session
        topics, forgotten = session.ask(wanted)
        return FetchRequest(
            replica_state=ReplicaState(
                replica_id=self._node_id, replica_epoch=self._broker_epoch()
            ),
            max_wait_ms=int(config.fetch_max_wait_seconds * 1000),
            min_bytes=config.fetch_min_bytes,
            max_bytes=config.fetch_response_max_bytes,
            session_id=session.session_id,
            session_epoch=session.epoch,
            topics=topics,
            forgotten_topics_data=forgotten,
        )

    async def _take(
        self, address: Address, questions: dict[Key, Question], answer: FetchResponse
    ) -> bool:
        if answer.error_code:
            logger.info("leader %d: %s", self.leader_id, ErrorCode(answer.error_code).name)
            self._session.reset()
            return answer.error_code in (
                ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
                ErrorCode.INVALID_FETCH_SESSION_EPOCH,
            )
        self._session.answered(answer.session_id)
        self._complaint = ""
        now = trio.current_time()
        for topic in answer.responses:
            for data in topic.partitions:
                question = questions.get((topic.topic_id, data.partition_index))
                if question is None or not question.is_current:
                    continue
                with closing(following.taking(question, data, now)) as steps:
                    is_taken = await in_slices_of_task(steps)
                if not is_taken:
                    await self._find_range(address, question)
                elif data.records:
                    # Appends of many partitions must not hold the loop.
                    await trio.lowlevel.checkpoint()
        for question in questions.values():
            await self._flushed(question.replica)
        return True

    async def _flushed(self, replica: Replica) -> None:
        """Wait for the flush that the append asked for: the next Fetch says that it is done."""
        log = replica.log
        while log.awaits_flush and log.offline_reason is None and replica.key in self.replicas:
            deadline = trio.current_time() + _LOOK_AGAIN_SECONDS
            await wait_until(lambda: not log.awaits_flush, [replica.flushes], deadline)

    async def _find_range(self, address: Address, question: Question) -> None:
        replica = question.replica
        end = await self._offset(address, question, LATEST)
        start = None if end is None else await self._offset(address, question, EARLIEST)
        if not question.is_current:
            return
        if start is None or end is None:
            replica.fetch_state.back_off(trio.current_time())
            return
        try:
            following.ranged(replica, start, end)
        except KafkaError as error:
            following.failed(replica, error, trio.current_time())

    async def _offset(self, address: Address, question: Question, timestamp: int) -> int | None:
        """The leader's first or last offset; None if it does not tell. Raises PeerGone."""
        replica = question.replica
        wanted = ListOffsetsPartition(
            partition_index=replica.index,
            current_leader_epoch=question.leader_epoch,
            timestamp=timestamp,
        )
        request = ListOffsetsRequest(
            replica_id=self._node_id,
            isolation_level=0,
            topics=[ListOffsetsTopic(name=replica.topic, partitions=[wanted])],
            timeout_ms=int(self._config.socket_timeout_seconds * 1000),
        )
        answer = await self._link.ask(
            address, request, timeout_seconds=self._config.socket_timeout_seconds
        )
        found = answer.topics[0].partitions[0]
        if found.error_code:
            replica.fetch_state.refused(ErrorCode(found.error_code), trio.current_time())
            return None
        offset: int = found.offset
        return offset
