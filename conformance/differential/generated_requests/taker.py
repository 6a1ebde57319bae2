"""A member of a share group in a story, and the records that it has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.differential.share_requests import RENEW, Member


@dataclass
class Taker:
    """A member, and the records that it has acquired, as first and last offset of each batch."""

    member: Member
    acquired: list[tuple[int, int]] = field(default_factory=list)
    held: set[tuple[int, int]] = field(default_factory=set)
    """The acquired batches of which nothing was said."""
    unsaid: set[tuple[int, int]] = field(default_factory=set)
    """The acquired batches of which something is being said."""

    def say(self, said: Iterable[tuple[int, ...]]) -> None:
        """Note what is said of offsets: first, last and types. A renewal gives nothing up."""
        for first, last, *types in said:
            if set(types) == {RENEW}:
                continue
            left = {each for each in self.held if each[1] < first or last < each[0]}
            self.unsaid |= self.held - left
            self.held = left

    def begin_anew(self) -> None:
        """The session is over."""
        self.member.epoch = 0
        self.acquired.clear()
        self.held.clear()

    def learn(self, before: int, answer: Any) -> None:
        """Take in an answer. After one that is an error the session is as before."""
        if answer is None or answer.error_code:
            self.member.epoch = before
            self.held |= self.unsaid
            self.unsaid.clear()
            return
        self.unsaid.clear()
        acquired = [
            (each.first_offset, each.last_offset)
            for topic in answer.responses
            for partition in topic.partitions
            for each in getattr(partition, "acquired_records", ())
        ]
        self.acquired += acquired
        self.held.update(acquired)


@dataclass(frozen=True)
class Said:
    """An acknowledgement of a batch acquired before (`which` counts back), or of any offsets."""

    which: int | None
    first: int
    count: int
    types: tuple[int, ...]

    def batch(self, acquired: Sequence[tuple[int, int]]) -> tuple[int, ...]:
        if self.which is None or not acquired:
            first, last = self.first, self.first + self.count - 1
        else:
            first, last = acquired[-1 - self.which % len(acquired)]
        types = self.types
        if len(types) > 1:  # one for each offset
            types = (types * (last - first + 1))[: max(1, last - first + 1)]
        return (first, last, *types)
