"""Share sessions: which partitions a member of a share group fetches (KIP-932).

A member has one session with each node. Epoch 0 begins one, the next requests count up from 1, and
-1 ends it; a session also ends with its connection. What the member has acquired is then released.
Source: Kafka's ShareSessionCache, ShareSession, ShareSessionContext.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from uuid import UUID

from kafkalite.replica.fetch_sessions import next_epoch
from kafkalite.wire.errors import ErrorCode, KafkaError

INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1


class TopicPartitionId(NamedTuple):
    """A partition as share consumers name it."""

    topic_id: UUID
    partition: int


class SessionKey(NamedTuple):
    """The member of a session."""

    group_id: str
    member_id: str


@dataclass(slots=True)
class SessionPartition:
    """A partition in a session. `name` is the topic's when it was added; None if it was unknown."""

    name: str | None
    must_answer: bool
    """The next answer names it, even if there is nothing to say."""


@dataclass(slots=True)
class ShareSession:
    """The partitions a member fetches, in the order in which partitions get their turn."""

    key: SessionKey
    connection: object
    partitions: dict[TopicPartitionId, SessionPartition] = field(
        default_factory=dict[TopicPartitionId, SessionPartition]
    )
    epoch: int = 1

    def advance(self) -> None:
        self.epoch = next_epoch(self.epoch)

    def add(self, where: TopicPartitionId, name: str | None) -> None:
        """The member fetches this, too."""
        if where not in self.partitions:
            self.partitions[where] = SessionPartition(name, must_answer=True)

    def forget(self, where: TopicPartitionId) -> None:
        self.partitions.pop(where, None)

    def must_tell(self, where: TopicPartitionId, *, has_records: bool, has_error: bool) -> bool:
        """True if the answer names the partition. One that had records goes to the end."""
        partition = self.partitions.get(where)
        if partition is None:
            return True
        told = has_records or partition.must_answer or has_error
        partition.must_answer = has_error
        if has_records:
            self.partitions[where] = self.partitions.pop(where)
        return told


class ShareSessions:
    """The sessions of one node."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._sessions: dict[SessionKey, ShareSession] = {}
        self._of_groups: Counter[str] = Counter()
        self._by_connection: dict[object, SessionKey] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def partition_count(self) -> int:
        """The partitions of all sessions."""
        return sum(len(session.partitions) for session in self._sessions.values())

    def get(self, key: SessionKey) -> ShareSession | None:
        return self._sessions.get(key)

    def begin(
        self,
        key: SessionKey,
        connection: object,
        partitions: dict[TopicPartitionId, SessionPartition],
    ) -> ShareSession:
        """A new session, in place of one there was. Raises SHARE_SESSION_LIMIT_REACHED."""
        self.remove(key)
        if len(self._sessions) >= self._most:
            raise KafkaError(ErrorCode.SHARE_SESSION_LIMIT_REACHED)
        self._sessions[key] = session = ShareSession(key, connection, partitions)
        self._of_groups[key.group_id] += 1
        self._by_connection[connection] = key
        return session

    def existing(self, key: SessionKey, epoch: int) -> ShareSession:
        """The session, which its member asks for in this epoch (or ends).

        Raises KafkaError: SHARE_SESSION_NOT_FOUND, INVALID_SHARE_SESSION_EPOCH.
        """
        session = self._sessions.get(key)
        if session is None:
            raise KafkaError(ErrorCode.SHARE_SESSION_NOT_FOUND)
        if epoch not in (FINAL_EPOCH, session.epoch):
            raise KafkaError(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
        return session

    def remove(self, key: SessionKey) -> ShareSession | None:
        session = self._sessions.pop(key, None)
        if session is not None:
            self._of_groups[key.group_id] -= 1
            if not self._of_groups[key.group_id]:
                del self._of_groups[key.group_id]
        return session

    def knows(self, connection: object) -> bool:
        """True if a session began on this connection."""
        return connection in self._by_connection

    def connection_closed(self, connection: object) -> SessionKey | None:
        """The member whose session began last on a connection. It may be gone, or elsewhere now."""
        return self._by_connection.pop(connection, None)

    def has_group(self, group_id: str) -> bool:
        """True if a member of the group has a session."""
        return group_id in self._of_groups
