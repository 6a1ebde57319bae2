"""Sends the leaders' proposals of in-sync replicas to the controllers, and takes in the answers.

One request at a time, with every partition in it that has something to propose, so that no two
proposals of a partition are ever under way. It is tried until it is answered: a proposal that was
lost would keep the high watermark where it is. Source: AlterPartitionManager.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Protocol
from uuid import UUID

import trio

from kafkalite.log.loggers import logger_of
from kafkalite.replication.followers import ANY_BROKER_EPOCH
from kafkalite.replication.isr import Proposal, Verdict
from kafkalite.replication.leading import Leading
from kafkalite.replication.replica import Replica
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerState,
    PartitionData,
    PartitionDataRequest,
    TopicDataRequest,
)

logger = logger_of(__name__)

Key = tuple[UUID, int]

_BACKOFF_SECONDS: Final = 0.05


class AskController(Protocol):
    """Asks the active controller until it answers."""

    async def __call__(self, body: object) -> Any: ...


@dataclass(frozen=True, slots=True)
class Sent:
    """A proposal under way. `leading` may have another one when the answer comes."""

    replica: Replica
    leading: Leading
    proposed: list[int]

    @property
    def is_current(self) -> bool:
        """False if the metadata were first."""
        in_sync = self.leading.in_sync
        return (
            self.replica.leading is self.leading
            and in_sync.proposal is Proposal.PENDING
            and in_sync.proposed is self.proposed
        )


class IsrProposals:
    """All that is to be proposed, and the task that does it."""

    def __init__(
        self, node_id: int, broker_epoch: Callable[[], int], ask_controller: AskController
    ) -> None:
        self.expand_count = 0
        self.shrink_count = 0
        self._node_id = node_id
        self._broker_epoch = broker_epoch
        self._ask_controller = ask_controller
        self._waiting: dict[Key, Replica] = {}
        self._wanted = trio.Event()

    def add(self, replica: Replica) -> None:
        """The replica's leader has something to propose."""
        self._waiting[replica.key] = replica
        self._wanted.set()

    async def run(self) -> None:
        """Propose. Ends only when it is cancelled."""
        while True:
            await self._wanted.wait()
            self._wanted = trio.Event()
            waiting, self._waiting = self._waiting, {}
            sent = {
                key: Sent(replica, replica.leading, replica.leading.in_sync.proposed)
                for key, replica in waiting.items()
                if replica.leading is not None
                and replica.leading.in_sync.proposal is Proposal.PENDING
            }
            if sent and not await self._propose(sent):
                await trio.sleep(_BACKOFF_SECONDS)

    async def _propose(self, sent: dict[Key, Sent]) -> bool:
        """True if all that was sent was decided upon."""
        answer: AlterPartitionResponse = await self._ask_controller(self._request(sent))
        undecided = dict(sent)
        if answer.error_code:
            logger.info("AlterPartition: %s", ErrorCode(answer.error_code).name)
        else:
            for topic in answer.topics:
                for result in topic.partitions:
                    key = topic.topic_id, result.partition_index
                    if key in sent and self._decided(sent[key], result):
                        del undecided[key]
        for each in undecided.values():
            self.add(each.replica)
        return not undecided

    def _request(self, sent: dict[Key, Sent]) -> AlterPartitionRequest:
        topics: dict[UUID, TopicDataRequest] = {}
        for (topic_id, index), each in sent.items():
            leading = each.leading
            topic = topics.setdefault(topic_id, TopicDataRequest(topic_id=topic_id))
            topic.partitions.append(
                PartitionDataRequest(
                    partition_index=index,
                    leader_epoch=leading.leader_epoch,
                    new_isr_with_epochs=[
                        BrokerState(broker_id=broker_id, broker_epoch=epoch)
                        for broker_id, epoch in self._epochs(each)
                    ],
                    partition_epoch=leading.in_sync.partition_epoch,
                )
            )
        return AlterPartitionRequest(
            broker_id=self._node_id, broker_epoch=self._broker_epoch(), topics=list(topics.values())
        )

    def _epochs(self, sent: Sent) -> Iterator[tuple[int, int]]:
        """The proposed brokers with their epochs."""
        for broker_id in sent.proposed:
            yield broker_id, self._epoch_of(sent.leading, broker_id)

    def _epoch_of(self, leading: Leading, broker_id: int) -> int:
        if broker_id == self._node_id:
            return self._broker_epoch()
        follower = leading.followers.get(broker_id)
        return ANY_BROKER_EPOCH if follower is None else follower.broker_epoch

    def _decided(self, sent: Sent, result: PartitionData) -> bool:
        if not sent.is_current:
            return True
        replica, leading = sent.replica, sent.leading
        if result.error_code:
            code = ErrorCode(result.error_code)
            logger.info("%r: in-sync replicas refused: %s", replica, code.name)
            return leading.in_sync.refuse(code) is not Verdict.AGAIN
        before = len(leading.in_sync.committed)
        if leading.altered(result.isr, result.leader_epoch, result.partition_epoch):
            replica.on_change()
        logger.info("%r: in sync are %s", replica, leading.in_sync.committed)
        self.expand_count += len(leading.in_sync.committed) > before
        self.shrink_count += len(leading.in_sync.committed) < before
        return True
