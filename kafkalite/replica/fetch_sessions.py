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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from uuid import UUID

from kafkalite.replica.fetch_target import (
    DroppedTargets,
    FetchTarget,
    PartitionResponse,
    TargetKey,
    key_of,
)
from kafkalite.requests.slices import Steps, cut, release_dict
from kafkalite.wire.api_keys import FETCH_BY_ID_SINCE
from kafkalite.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from kafkalite.wire.messages.fetch import FetchRequestRow

NO_SESSION_ID: Final = 0
FIRST_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
_NO_SESSION_YET: Final = (FIRST_EPOCH, FINAL_EPOCH)
_MAX_EPOCH: Final = 2**31 - 1
REPLICA_STATE_SINCE: Final = 15
_PARTS: Final = 8
# A session unused for so long gives way to any other; one younger than that is never pushed out by
# a larger one (Kafka: min.incremental.fetch.session.eviction.ms).
EVICTION_SECONDS: Final = 120.0


def next_epoch(epoch: int) -> int:
    """The epoch of a session's next request; the one after the last is 1."""
    return epoch + 1 if epoch < _MAX_EPOCH else 1


@dataclass(slots=True)
class FetchSession:
    """The partitions of one session. `epoch` is the one its next request must carry."""

    session_id: int
    uses_topic_ids: bool
    is_of_broker: bool
    created_at: float
    used_at: float
    targets: dict[TargetKey, FetchTarget]
    epoch: int = 1

    def update(self, wanted: Sequence[FetchTarget]) -> None:
        """Add and change partitions as an incremental request says."""
        for target in wanted:
            key = key_of(target, self.uses_topic_ids)
            self.targets.setdefault(key, target).wanted = target.wanted

    def forget(self, name: str, topic_id: UUID, indexes: Sequence[int]) -> None:
        """Forget partitions of a topic."""
        for index in indexes:
            self.targets.pop((topic_id if self.uses_topic_ids else name, index), None)


class FetchContext:
    """A Fetch and its session. This class is a Fetch without one: it is answered whole.

    `tell` says what there is to tell, and changes nothing: a client that is over its quota is told
    nothing of it. Else the session remembers that it is told (`remember`, then `finish`).
    """

    __slots__ = ("targets",)

    def __init__(self, targets: Sequence[FetchTarget]) -> None:
        self.targets = targets

    def tell(self, responses: Sequence[PartitionResponse]) -> Sequence[PartitionResponse]:
        """The partitions' responses that the client has to be told.

        Raises KafkaError (INVALID_FETCH_SESSION_EPOCH) when the session went on without us.
        """
        return responses

    def remember(self, told: Sequence[PartitionResponse]) -> None:
        """These of the responses of `tell` are told."""

    def finish(self) -> int:
        """All is told: the session id. Raises as `tell` does."""
        return NO_SESSION_ID

    def tell_nothing(self) -> int:
        """The client has to wait: the session id that it is told instead. Raises as `tell` does."""
        return NO_SESSION_ID


class OpeningFetch(FetchContext):
    """A Fetch that is answered whole, and asks for a session of what it names."""

    __slots__ = ("_cache", "_is_of_broker", "_told", "_uses_topic_ids")

    def __init__(
        self,
        targets: Sequence[FetchTarget],
        cache: FetchSessionCache,
        *,
        uses_topic_ids: bool,
        is_of_broker: bool,
    ) -> None:
        self.targets = targets
        self._cache = cache
        self._is_of_broker = is_of_broker
        self._uses_topic_ids = uses_topic_ids
        self._told: dict[TargetKey, FetchTarget] = {}

    def remember(self, told: Sequence[PartitionResponse]) -> None:
        for target, row in told:
            target.remember(row)
            self._told[key_of(target, self._uses_topic_ids)] = target

    def finish(self) -> int:
        return self._cache.open(
            self._told, uses_topic_ids=self._uses_topic_ids, is_of_broker=self._is_of_broker
        )


class IncrementalFetch(FetchContext):
    """A Fetch inside a session: answered with what its client does not know yet."""

    __slots__ = ("expected_epoch", "session")

    def __init__(self, session: FetchSession) -> None:
        # A copy: the session may be changed by another connection while this Fetch is parked.
        self.targets = list(session.targets.values())
        self.session = session
        self.expected_epoch = session.epoch

    def tell(self, responses: Sequence[PartitionResponse]) -> Sequence[PartitionResponse]:
        self._check_epoch()
        return [each for each in responses if each[0].must_tell(each[1])]

    def remember(self, told: Sequence[PartitionResponse]) -> None:
        session = self.session
        self._check_epoch()
        for target, row in told:
            target.remember(row)
            if row[10]:
                # To the end of the line, so that a small max_bytes does not starve the others.
                key = key_of(target, session.uses_topic_ids)
                if session.targets.pop(key, None) is not None:
                    session.targets[key] = target

    def finish(self) -> int:
        self._check_epoch()
        return self.session.session_id

    def tell_nothing(self) -> int:
        return self.finish()

    def _check_epoch(self) -> None:
        if self.session.epoch != self.expected_epoch:
            raise KafkaError(ErrorCode.INVALID_FETCH_SESSION_EPOCH)


def random_id() -> int:
    """A number for a session, which may be in use."""
    return random.randrange(1, 2**31)


class FetchSessionCache:
    """The sessions of one node, at most `slots` of them. `new_id` makes their numbers.

    There are eight parts, as in Kafka, each for an eighth of the slots, rounded down, and of the
    numbers. New sessions go to them in turn. When its part is full, a new session takes the place
    of one that was not used for two minutes, or else of the smallest one that is two minutes old
    and smaller than the new one; or it is not opened. A broker's takes the place of the smallest of
    a consumer, whatever its age and size.
    """

    def __init__(
        self,
        slots: int,
        clock: Callable[[], float],
        new_id: Callable[[], int] = random_id,
        part_count: int = _PARTS,
    ) -> None:
        self._slots_of_a_part = slots // part_count
        self._ids_of_a_part = _MAX_EPOCH // part_count
        self._clock = clock
        self._new_id = new_id
        # Least recently used first.
        self._parts: list[dict[int, FetchSession]] = [{} for _ in range(part_count)]
        self._turns = 0
        self._dropped = DroppedTargets()

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def covered(self, session_id: int) -> list[TargetKey]:
        """The partitions of a session, by topic id or name; none if there is no such session."""
        found = (part[session_id] for part in self._parts if session_id in part)
        return [key for session in found for key in session.targets]

    def _part_of(self, session_id: int) -> dict[int, FetchSession]:
        """The part of a session with this number. Apache Kafka fails for one that belongs to none
        (FetchSessionCache.getCacheShard). Raises KafkaError(UNKNOWN_SERVER_ERROR)."""
        index = abs(session_id) // self._ids_of_a_part * (-1 if session_id < 0 else 1)
        if not 0 <= index < len(self._parts):
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        return self._parts[index]

    def begin(self, request: FetchRequestRow, api_version: int) -> FetchContext:
        """The partitions this request fetches. Raises KafkaError with FETCH_SESSION_ID_NOT_FOUND,
        INVALID_FETCH_SESSION_EPOCH, FETCH_SESSION_TOPIC_ID_ERROR or UNKNOWN_SERVER_ERROR.
        """
        self._dropped.free_some()
        targets = [
            FetchTarget(topic, topic_id, wanted[0], wanted)
            for topic, topic_id, partitions in request[9]
            for wanted in partitions
        ]
        if len(targets) > 1:
            targets = _each_once(targets)
        if request[8] in _NO_SESSION_YET:
            return self._begin(request, api_version, targets)
        session = self._session_of(request, api_version)
        session.update(targets)
        for topic in request[10]:
            session.forget(*topic)
        return self._continue(request, session, targets)

    def beginning(self, request: FetchRequestRow, api_version: int) -> Steps[FetchContext]:
        """`begin` in slices. Meanwhile the session is in no epoch that a request can have."""
        self._dropped.free_some()
        is_first = request[8] in _NO_SESSION_YET
        session = None if is_first else self._session_of(request, api_version)
        if session is not None:
            session.epoch = FIRST_EPOCH
        once: dict[tuple[str, UUID, int], FetchTarget] = {}
        for topic, topic_id, partitions in request[9]:
            for some in cut(partitions):
                yield
                for wanted in some:
                    index = wanted[0]
                    once[topic, topic_id, index] = FetchTarget(topic, topic_id, index, wanted)
        targets = list(once.values())
        yield from release_dict(once)
        if session is None:
            return self._begin(request, api_version, targets)
        for few in cut(targets):
            yield
            session.update(few)
        for name, topic_id, indexes in request[10]:
            for gone in cut(indexes):
                yield
                session.forget(name, topic_id, gone)
        if self._part_of(session.session_id).get(session.session_id) is not session:
            raise KafkaError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        return self._continue(request, session, targets)

    def _begin(
        self, request: FetchRequestRow, api_version: int, targets: Sequence[FetchTarget]
    ) -> FetchContext:
        part = self._part_of(request[7])
        if request[7] in part:
            self._drop(part, request[7])
        if request[8] == FINAL_EPOCH:
            return FetchContext(targets)
        replica_id = request[1] if api_version < REPLICA_STATE_SINCE else request[2][0]
        return OpeningFetch(
            targets,
            self,
            uses_topic_ids=api_version >= FETCH_BY_ID_SINCE,
            is_of_broker=replica_id >= 0,
        )

    def _session_of(self, request: FetchRequestRow, api_version: int) -> FetchSession:
        session = self._part_of(request[7]).get(request[7])
        if session is None:
            raise KafkaError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != request[8]:
            raise KafkaError(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.uses_topic_ids != (api_version >= FETCH_BY_ID_SINCE):
            raise KafkaError(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        return session

    def _continue(
        self, request: FetchRequestRow, session: FetchSession, targets: Sequence[FetchTarget]
    ) -> FetchContext:
        part = self._part_of(session.session_id)
        del part[session.session_id]
        if not session.targets:
            # A partition both wanted and forgotten is answered once more.
            return FetchContext(targets)
        part[session.session_id] = session
        session.used_at = self._clock()
        epoch = request[8]
        session.epoch = next_epoch(epoch)
        return IncrementalFetch(session)

    def open(
        self, targets: dict[TargetKey, FetchTarget], *, uses_topic_ids: bool, is_of_broker: bool
    ) -> int:
        """Open a session; its id, or NO_SESSION_ID if there is no place for it."""
        index = self._turns % len(self._parts)
        self._turns += 1
        part = self._parts[index]
        if not self._make_place(part, len(targets), is_of_broker):
            self._dropped.add(targets)
            return NO_SESSION_ID
        session_id = NO_SESSION_ID
        while session_id == NO_SESSION_ID or session_id in part:
            session_id = index * self._ids_of_a_part + self._new_id() % self._ids_of_a_part
        now = self._clock()
        part[session_id] = FetchSession(session_id, uses_topic_ids, is_of_broker, now, now, targets)
        return session_id

    def _drop(self, sessions: dict[int, FetchSession], session_id: int) -> None:
        self._dropped.add(sessions.pop(session_id).targets)

    def _make_place(
        self, sessions: dict[int, FetchSession], partition_count: int, is_of_broker: bool
    ) -> bool:
        """Source: FetchSessionCacheShard.tryEvict."""
        if len(sessions) < self._slots_of_a_part:
            return True
        if not sessions:
            return False
        now = self._clock()
        oldest = next(iter(sessions.values()))
        if now - oldest.used_at > EVICTION_SECONDS:
            self._drop(sessions, oldest.session_id)
            return True
        evictable = [
            ((each.is_of_broker, len(each.targets)), each)
            for each in sessions.values()
            if now - each.created_at > EVICTION_SECONDS or (is_of_broker and not each.is_of_broker)
        ]
        value, smallest = min(evictable, key=lambda found: found[0], default=(None, None))
        if value is None or smallest is None or value > (is_of_broker, partition_count):
            return False
        self._drop(sessions, smallest.session_id)
        return True


def _each_once(targets: list[FetchTarget]) -> list[FetchTarget]:
    """One target for each partition: the last one, if it is named twice."""
    once = {(target.topic, target.topic_id, target.index): target for target in targets}
    return targets if len(once) == len(targets) else list(once.values())
