"""Fetch sessions (KIP-227): the broker remembers which partitions a consumer fetches.

A full Fetch (session epoch 0) names all its partitions and asks for a session; the incremental ones
after it (epochs 1, 2, ...) name only what changed, and are answered only with partitions that have
something to say: data, an error, a high watermark or log start offset the client was not yet told.

    request epoch   session id    what it means
    -1              any           no session; the one named is closed
    0               0             no session yet: all partitions follow, please open one
    0               n             the same, and the one named is closed
    n > 0           n             incremental; the epoch must be the next one

A session knows its partitions by topic id (Fetch v13+) or by name, never both. Sources: KIP-227,
kafka.server.FetchSession and FetchSessionCache.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from uuid import UUID

from kafkalite.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from kafkalite.wire.messages.fetch import FetchPartition, FetchRequest, PartitionData

NO_SESSION_ID: Final = 0
FIRST_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
_MAX_EPOCH: Final = 2**31 - 1
_FIRST_TOPIC_ID_VERSION: Final = 13
# A session unused for so long gives way to any other; one younger than that is never pushed out by
# a larger one (Kafka: min.incremental.fetch.session.eviction.ms).
EVICTION_SECONDS: Final = 120.0

TargetKey = tuple[str | UUID, int]


@dataclass(slots=True)
class FetchTarget:
    """One partition that is fetched: where from, and what its client was last told about it."""

    topic: str
    topic_id: UUID
    index: int
    wanted: FetchPartition
    told_high_watermark: int = -1
    told_log_start_offset: int = -1
    known_as: str = ""
    """Where the client gives an id, the topic's name when it was last there: of a topic that is gone
    a session says so, and not that the id is unknown."""

    def must_tell(self, answer: PartitionData) -> bool:
        """Whether an incremental response has to carry `answer`; remembers what it says."""
        told = (
            bool(answer.records)
            or answer.high_watermark != self.told_high_watermark
            or answer.log_start_offset != self.told_log_start_offset
            or answer.error_code != ErrorCode.NONE
            or answer.preferred_read_replica != -1
            or answer.diverging_epoch.epoch >= 0
        )
        self.remember(answer)
        return told

    def remember(self, answer: PartitionData) -> None:
        # After an error the partition has to be mentioned again when the error is gone.
        failed = answer.error_code != ErrorCode.NONE
        self.told_high_watermark = -1 if failed else answer.high_watermark
        self.told_log_start_offset = answer.log_start_offset


@dataclass(slots=True)
class FetchSession:
    """What one session covers. `epoch` is the one its next request must carry."""

    session_id: int
    uses_topic_ids: bool
    created_at: float
    used_at: float
    targets: dict[TargetKey, FetchTarget]
    epoch: int = 1

    def update(self, request: FetchRequest) -> None:
        """Add, change and forget partitions as an incremental request says."""
        targets = self.targets
        for target in _targets(request):
            key = _key(target, self.uses_topic_ids)
            known = targets.setdefault(key, target)
            known.wanted = target.wanted
        for topic in request.forgotten_topics_data:
            name = topic.topic_id if self.uses_topic_ids else topic.topic
            for index in topic.partitions:
                targets.pop((name, index), None)


@dataclass(slots=True)
class SessionlessFetch:
    """A Fetch that keeps nothing: answered whole."""

    targets: Iterable[FetchTarget]
    answered: Callable[[list[tuple[FetchTarget, PartitionData]]], int] = field(
        default=lambda answers: NO_SESSION_ID
    )

    def finish(
        self, answers: list[tuple[FetchTarget, PartitionData]]
    ) -> tuple[int, list[tuple[FetchTarget, PartitionData]]]:
        """The session id and the partitions that the response has to carry."""
        return self.answered(answers), answers


@dataclass(slots=True)
class IncrementalFetch:
    """A Fetch inside a session: answered with what its client does not know yet."""

    session: FetchSession
    expected_epoch: int

    @property
    def targets(self) -> Iterable[FetchTarget]:
        # A copy: the session may be changed by another connection while this Fetch is parked.
        return list(self.session.targets.values())

    def finish(
        self, answers: list[tuple[FetchTarget, PartitionData]]
    ) -> tuple[int, list[tuple[FetchTarget, PartitionData]]]:
        """The session id and the partitions that the response has to carry.

        Raises KafkaError (INVALID_FETCH_SESSION_EPOCH) when the session went on without us.
        """
        session = self.session
        if session.epoch != self.expected_epoch:
            raise KafkaError(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        told: list[tuple[FetchTarget, PartitionData]] = []
        for target, answer in answers:
            if not target.must_tell(answer):
                continue
            told.append((target, answer))
            if answer.records:
                # To the end of the line, so that a small max_bytes does not starve the others.
                key = _key(target, session.uses_topic_ids)
                if session.targets.pop(key, None) is not None:
                    session.targets[key] = target
        return session.session_id, told


FetchContext = SessionlessFetch | IncrementalFetch


class FetchSessionCache:
    """The sessions of one node, at most `slots` of them.

    When full, a new session takes the place of one that was not used for two minutes, or else of
    the smallest one that is two minutes old and smaller than the new one; or it is not opened.
    """

    def __init__(self, slots: int, clock: Callable[[], float]) -> None:
        self._slots = slots
        self._clock = clock
        self._sessions: dict[int, FetchSession] = {}  # least recently used first

    def __len__(self) -> int:
        return len(self._sessions)

    def covered(self, session_id: int) -> list[TargetKey]:
        """The partitions of a session, by topic id or name; none if there is no such session."""
        session = self._sessions.get(session_id)
        return [] if session is None else list(session.targets)

    def begin(self, request: FetchRequest, api_version: int) -> FetchContext:
        """What this request fetches. Raises KafkaError with FETCH_SESSION_ID_NOT_FOUND,
        INVALID_FETCH_SESSION_EPOCH or FETCH_SESSION_TOPIC_ID_ERROR.
        """
        if request.session_epoch in (FIRST_EPOCH, FINAL_EPOCH):
            self._sessions.pop(request.session_id, None)
            targets = _targets(request)
            if request.session_epoch == FINAL_EPOCH:
                return SessionlessFetch(targets)
            uses_topic_ids = api_version >= _FIRST_TOPIC_ID_VERSION
            return SessionlessFetch(targets, lambda answers: self._open(answers, uses_topic_ids))
        return self._continue(request, api_version)

    def _continue(self, request: FetchRequest, api_version: int) -> FetchContext:
        session = self._sessions.get(request.session_id)
        if session is None:
            raise KafkaError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != request.session_epoch:
            raise KafkaError(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.uses_topic_ids != (api_version >= _FIRST_TOPIC_ID_VERSION):
            raise KafkaError(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        session.update(request)
        del self._sessions[session.session_id]
        if not session.targets:
            # What was both wanted and forgotten is answered once more.
            return SessionlessFetch(_targets(request))
        self._sessions[session.session_id] = session
        session.used_at = self._clock()
        session.epoch = session.epoch + 1 if session.epoch < _MAX_EPOCH else 1
        return IncrementalFetch(session, session.epoch)

    def _open(self, answers: list[tuple[FetchTarget, PartitionData]], uses_topic_ids: bool) -> int:
        if not self._make_place(len(answers)):
            return NO_SESSION_ID
        session_id = random.randrange(1, 2**31)
        while session_id in self._sessions:
            session_id = random.randrange(1, 2**31)
        now = self._clock()
        targets: dict[TargetKey, FetchTarget] = {}
        for target, answer in answers:
            target.remember(answer)
            targets[_key(target, uses_topic_ids)] = target
        self._sessions[session_id] = FetchSession(session_id, uses_topic_ids, now, now, targets)
        return session_id

    def _make_place(self, partition_count: int) -> bool:
        sessions = self._sessions
        if len(sessions) < self._slots:
            return True
        if not sessions:
            return False
        now = self._clock()
        oldest = next(iter(sessions.values()))
        if now - oldest.used_at > EVICTION_SECONDS:
            del sessions[oldest.session_id]
            return True
        evictable = [s for s in sessions.values() if now - s.created_at > EVICTION_SECONDS]
        smallest = min(evictable, key=lambda session: len(session.targets), default=None)
        if smallest is None or len(smallest.targets) > partition_count:
            return False
        del sessions[smallest.session_id]
        return True


def _targets(request: FetchRequest) -> list[FetchTarget]:
    """One for each partition: of one named twice, what was said last."""
    targets = [
        FetchTarget(topic.topic, topic.topic_id, partition.partition, partition)
        for topic in request.topics
        for partition in topic.partitions
    ]
    once = {(target.topic, target.topic_id, target.index): target for target in targets}
    return targets if len(once) == len(targets) else list(once.values())


def _key(target: FetchTarget, uses_topic_ids: bool) -> TargetKey:
    return (target.topic_id if uses_topic_ids else target.topic, target.index)
