"""Questions to other brokers that go together: one request to each broker is under way at a time.

Those that come meanwhile go in the next. Source: AddPartitionsToTxnManager,
TransactionMarkerChannelManager, PersisterStateManager.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

import trio

from kafkalite.peers.link import Address, Connect, Link, PeerGone
from kafkalite.wire.errors import ErrorCode

Codes = Mapping[Any, ErrorCode]
"""Outcomes by what was asked about: partitions, or share partitions."""


class Question:
    """A question about partitions; `codes` are the answer."""

    def __init__(self, partitions: Collection[Any]) -> None:
        self.partitions = partitions
        self.codes: Codes | None = None

    def failed(self, code: ErrorCode) -> None:
        """The same answer for all."""
        self.codes = dict.fromkeys(self.partitions, code)


Q = TypeVar("Q", bound=Question)
Q_contra = TypeVar("Q_contra", bound=Question, contravariant=True)


class Kind(Protocol[Q_contra]):
    """A kind of request: how many questions become one, and one answer that of each."""

    def is_separate(self, question: Q_contra, chosen: Sequence[Q_contra]) -> bool:
        """True if a question may not go in a request with those."""
        ...

    def request(self, questions: Sequence[Q_contra]) -> object: ...

    def take(self, questions: Sequence[Q_contra], answer: Any) -> None:
        """Give the questions their codes. One without gets NETWORK_EXCEPTION."""
        ...


class SharedRequests(Generic[Q]):
    """Questions of one kind; `name` is the client id at the other brokers."""

    def __init__(self, name: str, kind: Kind[Q], timeout_seconds: float, connect: Connect) -> None:
        self._name = name
        self._kind = kind
        self._timeout_seconds = timeout_seconds
        self._connect = connect
        self._channels: dict[Address, _Channel[Q]] = {}

    async def ask(self, address: Address, question: Q) -> Codes:
        """The answer of one broker; NETWORK_EXCEPTION: it gave none. In a task."""
        channel = self._channels.get(address)
        if channel is None:
            link = Link(self._name, self._connect)
            channel = _Channel(address, link, self._kind, self._timeout_seconds)
            self._channels[address] = channel
        return await channel.ask(question)

    async def close(self) -> None:
        """Give the connections back."""
        for channel in self._channels.values():
            await channel.close()


class _Channel(Generic[Q]):
    """The requests to one broker. The question whose turn it is sends all that wait."""

    def __init__(self, address: Address, link: Link, kind: Kind[Q], timeout_seconds: float) -> None:
        self._address = address
        self._link = link
        self._kind = kind
        self._timeout_seconds = timeout_seconds
        self._waiting: list[Q] = []
        self._turn = trio.Lock()

    async def close(self) -> None:
        await self._link.close()

    async def ask(self, question: Q) -> Codes:
        self._waiting.append(question)
        try:
            async with self._turn:
                while question.codes is None:
                    await self._send(self._next())
        finally:
            if question in self._waiting:
                self._waiting.remove(question)
        return question.codes

    def _next(self) -> Sequence[Q]:
        chosen: list[Q] = []
        left: list[Q] = []
        for each in self._waiting:
            (left if self._kind.is_separate(each, chosen) else chosen).append(each)
        self._waiting = left
        return chosen

    async def _send(self, questions: Sequence[Q]) -> None:
        try:
            answer = await self._link.ask(
                self._address,
                self._kind.request(questions),
                timeout_seconds=self._timeout_seconds,
            )
            self._kind.take(questions, answer)
        except PeerGone:
            pass
        finally:
            for each in questions:
                if each.codes is None:  # also where the task of the one that sends has ended
                    each.failed(ErrorCode.NETWORK_EXCEPTION)
