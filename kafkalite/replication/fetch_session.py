"""A fetch session as its client: after the first Fetch only what changed is named (KIP-227).

A leader that has forgotten the session says so, and the next Fetch names everything once more.
Source: FetchSessionHandler.
"""

from __future__ import annotations

from typing import Final
from uuid import UUID

from kafkalite.wire.messages.fetch import FetchPartition, FetchTopic, ForgottenTopic

Key = tuple[UUID, int]

NO_SESSION: Final = 0
_FIRST_EPOCH: Final = 0
_LAST_EPOCH: Final = 0x7FFFFFFF


class FetchSessionHandler:
    """The leader's memory of our last Fetch."""

    def __init__(self) -> None:
        self.session_id = NO_SESSION
        self.epoch = _FIRST_EPOCH
        self._known: dict[Key, FetchPartition] = {}

    def ask(
        self, wanted: dict[Key, FetchPartition]
    ) -> tuple[list[FetchTopic], list[ForgottenTopic]]:
        """The partitions to name in the next Fetch so that the leader reads all of `wanted`."""
        named: dict[UUID, FetchTopic] = {}
        forgotten: dict[UUID, ForgottenTopic] = {}
        for (topic_id, index), partition in wanted.items():
            if self._known.get((topic_id, index)) != partition:
                topic = named.setdefault(topic_id, FetchTopic(topic_id=topic_id))
                topic.partitions.append(partition)
        for topic_id, index in self._known.keys() - wanted.keys():
            gone = forgotten.setdefault(topic_id, ForgottenTopic(topic_id=topic_id))
            gone.partitions.append(index)
        self._known = dict(wanted)
        return list(named.values()), list(forgotten.values())

    def answered(self, session_id: int) -> None:
        """The Fetch was answered. `session_id` 0: the leader keeps no session for us."""
        if session_id == NO_SESSION:
            self.reset()
            return
        self.session_id = session_id
        self.epoch = 1 if self.epoch == _LAST_EPOCH else self.epoch + 1

    def reset(self) -> None:
        """Begin again with all partitions."""
        self.session_id = NO_SESSION
        self.epoch = _FIRST_EPOCH
        self._known = {}
