"""The source of the ids that a broker gives out: chance, or a seed that repeats them."""

from __future__ import annotations

import random
from functools import partial
from typing import Final
from uuid import UUID, uuid4

from kafkalite.wire.kafka_uuid import new_kafka_uuid

_MOST_SESSION: Final = 2**31


class Ids:
    """Ids of topics, members, client instances, fetch sessions, ACLs and delegation tokens.

    With a `seed` the n-th id of each kind is the same each time; `start` counts how often the
    cluster was started, as ids of before must not come again.
    """

    def __init__(self, seed: int | None = None, start: int = 0) -> None:
        self._seed = seed
        self._start = start
        self._chances: dict[str, random.Random] = {}

    def uuid(self, kind: str) -> UUID:
        """A new id. Those of one kind do not depend on how many there were of others."""
        if self._seed is None:
            return uuid4()
        return UUID(int=self._chance(kind).getrandbits(128), version=4)

    def session(self) -> int:
        """A number for a fetch session, above 0; may be in use."""
        if self._seed is None:
            return random.randrange(1, _MOST_SESSION)
        return self._chance("session").randrange(1, _MOST_SESSION)

    def _chance(self, kind: str) -> random.Random:
        chance = self._chances.get(kind)
        if chance is None:
            text = f"{self._seed}/{self._start}/{kind}"
            chance = self._chances[kind] = random.Random(text)
        return chance


def seeded_id(seed: int | None, kind: str = "cluster") -> str | None:
    """The cluster id of a seed, or another of its kind; None without one."""
    return None if seed is None else new_kafka_uuid(partial(Ids(seed).uuid, kind))
