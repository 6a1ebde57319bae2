"""Stories in which transactional ids are idle for so long that they are forgotten, and their
producers go on as if they were not."""

from __future__ import annotations

import time
from dataclasses import dataclass

from hypothesis import strategies as st

from conformance.differential.generated_requests import clock_world
from conformance.differential.generated_requests.clock_stories import (
    CommitOffsets,
    End,
    Fetch,
    Init,
    Produce,
)
from conformance.differential.generated_requests.clock_world import (
    IDS,
    PARTITIONS,
    TICK_MS,
    TICKS_SECONDS,
    Clocks,
    See,
    Step,
)
from conformance.differential.generated_requests.vocabulary import of, often

# Longer than all that happens between two waits.
EXPIRATION_MS = 4000
PROPERTIES = clock_world.PROPERTIES | {
    "transactional.id.expiration.ms": str(EXPIRATION_MS),
    "transaction.remove.expired.transaction.cleanup.interval.ms": str(TICK_MS),
}


@dataclass(frozen=True)
class Idle(Step):
    """Ids that have no open transaction are forgotten."""

    def tell(self, clocks: Clocks) -> None:
        time.sleep(EXPIRATION_MS / 1000 + TICKS_SECONDS)
        for producer in clocks.producers.values():
            producer.state()


@dataclass(frozen=True)
class Add(Step):
    """A partition is added, or asked for, without a record."""

    number: int
    version: int
    is_asked_only: bool
    bump: int

    def tell(self, clocks: Clocks) -> None:
        producer = clocks.producers[self.number]
        producer.add(self.version, bump=self.bump, verify=self.is_asked_only)
        producer.state()


_number, _partition = of(*IDS), of(*PARTITIONS)
_bump = often(0, 1, -1, times=6)
_is_second = of(True, False)
_later = st.one_of(
    *[
        st.builds(
            Produce,
            number=_number,
            partition=_partition,
            count=st.integers(1, 3),
            is_second=_is_second,
            bump=_bump,
            more=often(0, 1, -1, 100, times=6),
        )
    ]
    * 3,
    st.builds(CommitOffsets, _number, _is_second, _bump, st.integers(0, 9)),
    st.builds(Add, _number, of(3, 4, 5), st.booleans(), _bump),
    *[st.builds(Init, _number, st.integers(0, 5), st.booleans(), _bump)] * 2,
    *[st.builds(End, _number, of(3, 4, 5), st.booleans(), _bump)] * 3,
    st.builds(Fetch, st.integers(0, 20), of(0, 1)),
    st.builds(See),
)
_part = st.lists(_later, min_size=2, max_size=7)
STORIES = st.lists(_part, min_size=2, max_size=4).map(
    lambda parts: [step for part in parts for step in (*part, Idle())]
)
