"""Share sessions that end: what their members have acquired is released, little by little.

A member whose session ended with its connection may be back before all is released. What it had is
released before its new session begins, so that it keeps what it acquires then. When the last member
of a group is gone, what is in flight is forgotten, unless another one comes meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from kafkalite.log.loggers import logger_of
from kafkalite.replica.share.acknowledgement import release_all
from kafkalite.replica.share.share_partition import SharePartitionKey
from kafkalite.requests.slices import Steps, at_once, cut, release_dict
from kafkalite.wire.errors import KafkaError

if TYPE_CHECKING:
    from kafkalite.replica.share.share_partitions import SharePartitions
    from kafkalite.replica.share.share_sessions import SessionKey, ShareSession, TopicPartitionId

_logger = logger_of(__name__)

# Steps that are taken before others have their turn: one takes up to a tenth of a millisecond.
_AT_ONCE: Final = 32


class EndedSessions:
    """The sessions of all nodes that end. `later` takes steps that are too many for one turn."""

    def __init__(
        self, partitions: SharePartitions, later: Callable[[Steps[None]], object] = at_once
    ) -> None:
        self._partitions = partitions
        self._later = later
        # The work that is left, by node and member; each who needs it done takes its steps.
        self._left: dict[tuple[int, SessionKey], Steps[None]] = {}

    def finishing(self, node_id: int, key: SessionKey) -> Steps[None]:
        """Release what the member had in its last session, as far as that is still to be done."""
        while (left := self._left.get((node_id, key))) is not None:
            try:
                next(left)
            except StopIteration:
                del self._left[node_id, key]
            else:
                yield

    def ending(self, node_id: int, session: ShareSession) -> Steps[None]:
        """The member ends its session, unless another took its place: what it has is released."""
        sessions = self._partitions.sessions_of(node_id)
        if sessions.get(session.key) is session:
            sessions.remove(session.key)
            self._left[node_id, session.key] = self._releasing(session)
            yield from self.finishing(node_id, session.key)

    def connection_closed(self, node_id: int, connection: object) -> None:
        """A client is gone, and so is the session that it had; if its group has no other, what
        is in flight is forgotten."""
        sessions = self._partitions.sessions_of(node_id)
        key = sessions.connection_closed(connection)
        if key is None:
            return
        session = sessions.get(key)
        if session is not None and session.connection is connection:
            self._partitions.counts.evictions += 1
            sessions.remove(key)
        else:
            session = None
        before = self._left.get((node_id, key))
        self._left[node_id, key] = self._closing(node_id, key, session, before)
        steps = self.finishing(node_id, key)
        for number, _ in enumerate(steps, 1):
            if number == _AT_ONCE:
                self._later(steps)
                return

    def _closing(
        self,
        node_id: int,
        key: SessionKey,
        session: ShareSession | None,
        before: Steps[None] | None,
    ) -> Steps[None]:
        if before is not None:
            yield from before
        if session is not None:
            yield from self._releasing(session)
        sessions = self._partitions.sessions_of(node_id)
        for some in cut(self._partitions.opened()):
            if sessions.has_group(key.group_id):
                return
            for share in some:
                if share.key.group_id == key.group_id:
                    self._partitions.drop_if_led_by(node_id, share.key)
            yield

    def _releasing(self, session: ShareSession) -> Steps[None]:
        for where in list(session.partitions):
            self._release(session.key, where)
            yield
        yield from release_dict(session.partitions)

    def _release(self, key: SessionKey, where: TopicPartitionId) -> None:
        share_key = SharePartitionKey(key.group_id, where.topic_id, where.partition)
        share = self._partitions.get(share_key)
        if share is None:
            return
        try:
            release_all(share, key.member_id)
        except KafkaError as error:
            _logger.warning(
                "share partition %s: what a member had is not released: %s", share_key, error
            )
            self._partitions.drop_if_fenced(share_key, error)
