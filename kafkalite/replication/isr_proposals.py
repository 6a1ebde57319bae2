"""Sends the leaders' proposals of in-sync replicas to the controllers, and takes in the answers.

One request at a time, with every partition in it that has something to propose, so that no two
proposals of a partition are ever under way. It is tried until it is answered: a proposal that was
lost would keep the high watermark where it is. Source: AlterPartitionManager.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final, Protocol
from uuid import UUID

import trio

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

logger = logging.getLogger(__name__)

Key = tuple[UUID, int]

_BACKOFF_SECONDS: Final = 0.05


class AskController(Protocol):
    """Asks the active controller until it answers."""

    async def __call__(self, body: object) -> Any: ...


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
                key: (replica, replica.leading)
                for key, replica in waiting.items()
                if replica.leading is not None
                and replica.leading.in_sync.proposal is Proposal.PENDING
            }
            if sent and not await self._propose(sent):
                await trio.sleep(_BACKOFF_SECONDS)

    async def _propose(self, sent: dict[Key, tuple[Replica, Leading]]) -> bool:
        """Tells whether all that was sent was decided upon."""
        answer: AlterPartitionResponse = await self._ask_controller(self._request(sent))
        undecided = dict(sent)
        if answer.error_code:
            logger.info("AlterPartition: %s", ErrorCode(answer.error_code).name)
        else:
            for topic in answer.topics:
                for result in topic.partitions:
                    key = topic.topic_id, result.partition_index
                    if key in sent and self._decided(*sent[key], result):
                        del undecided[key]
        for replica, _ in undecided.values():
            self.add(replica)
        return not undecided

    def _request(self, sent: dict[Key, tuple[Replica, Leading]]) -> AlterPartitionRequest:
        topics: dict[UUID, TopicDataRequest] = {}
        for (topic_id, index), (_, leading) in sent.items():
            topic = topics.setdefault(topic_id, TopicDataRequest(topic_id=topic_id))
            topic.partitions.append(
                PartitionDataRequest(
                    partition_index=index,
                    leader_epoch=leading.leader_epoch,
                    new_isr_with_epochs=[
                        BrokerState(broker_id=each, broker_epoch=self._epoch_of(leading, each))
                        for each in leading.in_sync.proposed
                    ],
                    partition_epoch=leading.in_sync.partition_epoch,
                )
            )
        return AlterPartitionRequest(
            broker_id=self._node_id, broker_epoch=self._broker_epoch(), topics=list(topics.values())
        )

    def _epoch_of(self, leading: Leading, broker_id: int) -> int:
        if broker_id == self._node_id:
            return self._broker_epoch()
        follower = leading.followers.get(broker_id)
        return ANY_BROKER_EPOCH if follower is None else follower.broker_epoch

    def _decided(self, replica: Replica, leading: Leading, result: PartitionData) -> bool:
        if replica.leading is not leading or leading.in_sync.proposal is not Proposal.PENDING:
            return True  # the metadata were first
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
