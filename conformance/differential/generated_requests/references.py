"""Placeholders in a story for what only a broker knows, resolved on each side by its own answers.

References find the group or the transactional id they belong to in the message around them, so that
"the generation" is the one of the group that the request is about.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any
from uuid import UUID, uuid5

from kafkalite.wire.api_keys import ApiKey

NOBODY = UUID(int=0xDEAD)


@dataclass
class Memory:
    """The answers of one side so far."""

    prefix: str
    log_directory: str
    now_ms: int
    topic_ids: dict[str, UUID] = field(default_factory=dict)
    old_topic_ids: dict[str, UUID] = field(default_factory=dict)
    members: dict[tuple[str, str], str] = field(default_factory=dict)
    generations: dict[str, int] = field(default_factory=dict)
    member_epochs: dict[tuple[str, str], int] = field(default_factory=dict)
    heartbeats: dict[tuple[str, str], ApiKey] = field(default_factory=dict)
    """By which heartbeats a member was heard last; members of classic groups have none."""
    producers: dict[str, tuple[int, int]] = field(default_factory=dict)
    sessions: dict[str, tuple[int, int]] = field(default_factory=dict)
    subscription_ids: dict[UUID, int] = field(default_factory=dict)
    assigned: dict[tuple[str, str], list[Any]] = field(default_factory=dict)
    """The partitions that a member of a group was told last, as they were told."""


@dataclass(frozen=True)
class Around:
    """The names that the message around a reference is about."""

    group: str = ""
    transactional_id: str = ""
    member_id: str = ""


class Reference:
    """Resolved before a request is sent, on each side for itself."""

    def resolve(self, memory: Memory, around: Around) -> Any:
        raise NotImplementedError


@dataclass(frozen=True)
class Name(Reference):
    """A name that this story has for itself: `t0` is `w17-t0`."""

    name: str

    def resolve(self, memory: Memory, around: Around) -> str:
        return memory.prefix + self.name


@dataclass(frozen=True)
class Pattern(Reference):
    """A regular expression about the names of this story."""

    rest: str

    def resolve(self, memory: Memory, around: Around) -> str:
        return memory.prefix + self.rest


@dataclass(frozen=True)
class TopicId(Reference):
    """The id of a topic; of the one before it, when `old`. While there is none, one that nothing
    has.

    Not the same for two, for a request would name it twice; and not zero: of two partitions of a
    topic with that id, Apache Kafka's Fetch trips over the name.
    """

    name: str
    old: bool = False

    def resolve(self, memory: Memory, around: Around) -> UUID:
        ids = memory.old_topic_ids if self.old else memory.topic_ids
        nobodys = UUID(int=zlib.crc32(f"{self.name} {self.old}".encode()) << 8)
        return ids.get(memory.prefix + self.name, nobodys)


@dataclass(frozen=True)
class ClientInstance(Reference):
    """The id of a client that pushes its metrics: one that no other story has."""

    slot: str

    def resolve(self, memory: Memory, around: Around) -> UUID:
        return uuid5(NOBODY, memory.prefix + self.slot)


@dataclass(frozen=True)
class SubscriptionId(Reference):
    """The subscription id that a client was given; 0 before."""

    slot: str

    def resolve(self, memory: Memory, around: Around) -> int:
        client = ClientInstance(self.slot).resolve(memory, around)
        return memory.subscription_ids.get(client, 0)


@dataclass(frozen=True)
class Moment(Reference):
    """So many milliseconds after the story's first record."""

    later_ms: int

    def resolve(self, memory: Memory, around: Around) -> int:
        return memory.now_ms + self.later_ms


@dataclass(frozen=True)
class Member(Reference):
    """The member id that `slot` got in the group around; before it got one "", or one of its
    own."""

    slot: str
    names_itself: bool = False

    def resolve(self, memory: Memory, around: Around) -> str:
        first = f"{memory.prefix}{self.slot}" if self.names_itself else ""
        return memory.members.get((around.group, self.slot), first)


@dataclass(frozen=True)
class Generation(Reference):
    """The last generation seen of the group around, and so many more."""

    more: int = 0

    def resolve(self, memory: Memory, around: Around) -> int:
        return memory.generations.get(around.group, 0) + self.more


@dataclass(frozen=True)
class MemberEpoch(Reference):
    """The epoch of the member around, in the group around, and so many more."""

    more: int = 0

    def resolve(self, memory: Memory, around: Around) -> int:
        return memory.member_epochs.get((around.group, around.member_id), 0) + self.more


@dataclass(frozen=True)
class ProducerId(Reference):
    """The producer id of a transactional id: the one around, or the one named."""

    of: str = ""
    more: int = 0

    def resolve(self, memory: Memory, around: Around) -> int:
        return producer(self.of, memory, around)[0] + self.more


@dataclass(frozen=True)
class ProducerEpoch(Reference):
    of: str = ""
    more: int = 0

    def resolve(self, memory: Memory, around: Around) -> int:
        return max(-1, producer(self.of, memory, around)[1] + self.more)


def producer(of: str, memory: Memory, around: Around) -> tuple[int, int]:
    key = memory.prefix + of if of else around.transactional_id
    # before there is one: an id that nobody has, not the same for two
    return memory.producers.get(key, (424_242 + zlib.crc32(key[-2:].encode()) % 1000, 0))


@dataclass(frozen=True)
class SessionId(Reference):
    """The fetch session kept under `slot`; 0 when there is none."""

    slot: str

    def resolve(self, memory: Memory, around: Around) -> int:
        return memory.sessions.get(self.slot, (0, 0))[0]


@dataclass(frozen=True)
class SessionEpoch(Reference):
    slot: str
    more: int = 0

    def resolve(self, memory: Memory, around: Around) -> int:
        return memory.sessions.get(self.slot, (0, 0))[1] + self.more


@dataclass(frozen=True)
class LogDirectory(Reference):
    def resolve(self, memory: Memory, around: Around) -> str:
        return memory.log_directory


def resolved(value: Any, memory: Memory, around: Around = Around()) -> Any:
    """The message with every reference replaced; what holds none is not copied."""
    if isinstance(value, Reference):
        return value.resolve(memory, around)
    if isinstance(value, list):
        return [resolved(item, memory, around) for item in value]
    if not is_dataclass(value) or isinstance(value, type):
        return value
    around = around_in(value, memory, around)
    copied = object.__new__(type(value))
    for each in fields(value):
        setattr(copied, each.name, resolved(getattr(value, each.name), memory, around))
    return copied


def around_in(message: Any, memory: Memory, around: Around) -> Around:
    """The names that count inside a message: the nearest ones outside a field."""
    group, transactional_id = around.group, around.transactional_id
    named = getattr(message, "group_id", None)
    if isinstance(named, Name):
        group = named.resolve(memory, around)
    for name in ("transactional_id", "v3_and_below_transactional_id"):
        named = getattr(message, name, None)
        if isinstance(named, Name):
            transactional_id = named.resolve(memory, around)
    around = Around(group, transactional_id, around.member_id)
    member = getattr(message, "member_id", None)
    if isinstance(member, Member):
        around = Around(group, transactional_id, member.resolve(memory, around))
    return around
