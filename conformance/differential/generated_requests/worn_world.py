"""The world of stories about ends: transactional ids whose producers have few epochs left."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from conformance.differential.comparison import Pair
from conformance.differential.generated_requests.clock_world import IDS, Clocks
from conformance.differential.generated_requests.telling import Enough
from conformance.differential.prepared import Ids
from conformance.differential.transactional import Transactions
from conformance.harness.broker import SMALL
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

OFFSETS = "__consumer_offsets"
OFFSETS_PARTITIONS = int(SMALL["offsets.topic.num.partitions"])
HIGHEST = 2
DOWN, UP = 2, 1


class Remembering(Transactions):
    """Remembers all that its producer was, in order."""

    def __init__(self, pair: Pair, topic: str, transactional_id: str, ids: tuple[int, int]) -> None:
        super().__init__(pair, topic, transactional_id)
        self.ids = dict.fromkeys(self.sides, ids)
        self.before = [dict(self.ids)]

    def take(self, answers: tuple[Any, Any]) -> None:
        super().take(answers)
        if self.ids != self.before[-1]:
            self.before.append(dict(self.ids))

    @contextlib.contextmanager
    def as_before(self, back: int) -> Iterator[None]:
        """Be what it was so many changes ago. What it is told then counts."""
        now, self.ids = self.ids, dict(self.before[max(0, len(self.before) - 1 - back)])
        asked_as = dict(self.ids)
        yield
        if self.ids == asked_as:
            self.ids = now


@dataclass
class Worn(Clocks):
    """Two transactional ids of those that were prepared; `left` are those that no story had."""

    ids: Ids
    left: Iterator[str]
    level: int = field(default=HIGHEST)

    def open(self) -> None:
        self.open_topic()
        self.finalize(HIGHEST)
        self.producers = {}
        for number in IDS:
            name = next(self.left, None)
            if name is None:
                raise Enough
            self.producers[number] = Remembering(self.pair, self.topic, name, self.ids[name])

    def at_level(self, version: int, older: int) -> int:
        """The version, or the last one of the first generation at a level that knows no other.

        A client goes by the level. Of one that does not Apache Kafka refuses all that comes later,
        until it starts again.
        """
        return version if self.level else min(version, older)

    def finalize(self, level: int) -> None:
        """Finalize transaction.version at a level."""
        kind = DOWN if level < self.level else UP
        update = FeatureUpdateKey(
            feature="transaction.version", max_version_level=level, upgrade_type=kind
        )
        request = UpdateFeaturesRequest(feature_updates=[update])
        self.pair.ask(ApiKey.UPDATE_FEATURES, 1, request)
        self.pair.settle()
        self.level = level
