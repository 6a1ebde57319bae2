"""A recording told again to a broker of its own: the same frames in the same order.

A request is sent when all that passed before it has passed again, at the time that the cluster's
clock showed then. Ids that the broker gives out are replaced by those it gives out now
(given_out.py). All else in the answers is compared, field by field.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import trio

from kafkalite.config import BrokerConfig
from kafkalite.control.advance import advance
from kafkalite.control.cluster import ControlledCluster
from kafkalite.control.faults.matching import API_NAMES
from kafkalite.control.given_out import GivenOut
from kafkalite.control.recording import ANSWERED, ASKED, Passed, Recording, Tape
from kafkalite.control.secrets import without_secrets
from kafkalite.control.sightings import Difference, Replayed
from kafkalite.control.spy.frames import answer_of
from kafkalite.control.spy.jsonable import message_as_json
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import Request, decode_request, decode_response, encode_request
from kafkalite.wire.errors import ProtocolViolation

if TYPE_CHECKING:
    from kafkalite.wire.fields import InMemory

# A broker that has not answered by then does not answer.
_PATIENCE_SECONDS: Final = 20.0
_RECEIVE_BYTES: Final = 1 << 16
_MOST_DIFFERENCES: Final = 100


async def replay(recording: Recording, root: Path, patience: float = _PATIENCE_SECONDS) -> Replayed:
    """Tell a recording again, with data below `root`. Raises StartError, ConfigError, Problem."""
    configs = {
        **recording.configs,
        "kafkalite.nodes": str(recording.nodes),
        "listeners": "PLAINTEXT://127.0.0.1:0",
    }
    cluster = ControlledCluster("replay", BrokerConfig(configs), root)

    def fill(directory: Path) -> None:
        directory.mkdir(parents=True)
        with tarfile.open(fileobj=io.BytesIO(recording.data)) as archive:
            archive.extractall(directory, filter="data")

    cluster.begin_with(fill)
    cluster.open()
    tape = Tape(cluster.clock.now_ms)
    async with trio.open_nursery() as nursery:
        await nursery.start(cluster.run)
        cluster.spy.record_on(tape)
        teller = _Teller(cluster, tape, nursery, patience)
        await teller.tell(recording.tape)
        cluster.stop()
        await cluster.ended.wait()
        nursery.cancel_scope.cancel()
    return Replayed(teller.requests, teller.answers, teller.differences)


@dataclass(slots=True)
class _Teller:
    """Tells frames again, and compares."""

    cluster: ControlledCluster
    tape: Tape
    nursery: trio.Nursery
    patience: float
    requests: int = 0
    answers: int = 0
    differences: list[Difference] = field(default_factory=list[Difference])
    _given_out: GivenOut = field(default_factory=GivenOut)
    _streams: dict[int, trio.SocketStream] = field(default_factory=dict[int, trio.SocketStream])
    _closed: set[int] = field(default_factory=set[int])
    _asked: dict[int, Request] = field(default_factory=dict[int, Request])
    # The number that a request has now; its number in the recording is the key.
    _numbers: dict[int, int] = field(default_factory=dict[int, int])
    # Requests before whose answers something else passed.
    _waited: set[int] = field(default_factory=set[int])

    async def tell(self, tape: list[Passed]) -> None:
        """Tell all of it."""
        clock = self.cluster.clock
        if tape:
            clock.freeze()
            clock.skew(tape[0].cluster_ms - clock.now_ms())
        self._waited = {
            each.number
            for each, after in pairwise(tape)
            if each.kind == ASKED and after.number != each.number
        }
        for passed in tape:
            by_ms = passed.cluster_ms - clock.now_ms()
            if by_ms > 0:
                await advance(self.cluster.broker, clock, by_ms, members="expire")
            if passed.kind == ASKED:
                await self._ask(passed)
            else:
                await self._hear(passed)

    async def _ask(self, passed: Passed) -> None:
        stream = await self._stream(passed)
        frame = self._translated(passed)
        if passed.connection in self._closed:
            self._differs(passed, "", "the connection is closed")
            return
        wanted = self.tape.last_seq + 1
        try:
            await stream.send_all(len(frame).to_bytes(4, "big") + frame)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            self._closed.add(passed.connection)
        await self._until(lambda: self.tape.last_seq >= wanted or passed.connection in self._closed)
        if self.tape.last_seq < wanted:
            self._differs(passed, "", "it is not taken")
            return
        self.requests += 1
        self._numbers[passed.number] = wanted

    async def _until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds, but not for ever."""
        with trio.move_on_after(self.patience):
            while not holds():
                grown = trio.Event()
                self.tape.grown = grown.set
                await grown.wait()

    async def _stream(self, passed: Passed) -> trio.SocketStream:
        found = self._streams.get(passed.connection)
        if found is None:
            listeners = self.cluster.broker.listeners
            listener = next((x for x in listeners if x.node_id == passed.node), listeners[0])
            found = await trio.open_tcp_stream("127.0.0.1", listener.advertised_port)
            self._streams[passed.connection] = found
            self.nursery.start_soon(self._drain, found, passed.connection)
        return found

    async def _drain(self, stream: trio.SocketStream, connection: int) -> None:
        """The tape has the answers: they need not be read here."""
        async with stream:
            try:
                while await stream.receive_some(_RECEIVE_BYTES):
                    pass
            except trio.BrokenResourceError:
                pass
        self._closed.add(connection)
        self.tape.grown()

    def _translated(self, passed: Passed) -> bytes:
        """The frame, with the ids of now. One that does not parse goes as it is."""
        try:
            request = decode_request(passed.frame)
        except ProtocolViolation:
            return passed.frame
        self._asked[passed.number] = request
        if not self._given_out.put_into(request.body):
            return passed.frame
        key, version = request.api_key, request.api_version
        chunks = encode_request(
            key, version, request.correlation_id, request.client_id, request.body
        )
        return b"".join(bytes(cast("InMemory", each)) for each in chunks)[4:]

    async def _hear(self, passed: Passed) -> None:
        number = self._numbers.get(passed.number)
        if number is None:
            return  # it could not be asked
        await self._until(lambda: self._outcome(number) != "waiting")
        self.answers += 1
        entry = self.tape.get(number)
        now = b"" if entry is None else answer_of(entry)
        if passed.kind != ANSWERED or not now:
            if bool(now) != (passed.kind == ANSWERED):
                self._differs(passed, "", "an answer now" if now else "no answer now")
            return
        self._compare(passed, now)

    def _outcome(self, number: int) -> str:
        entry = self.tape.get(number)
        return "waiting" if entry is None else entry.outcome

    def _compare(self, passed: Passed, now: bytes) -> None:
        request = self._asked.get(passed.number)
        if request is None:
            if passed.frame != now:
                self._differs(passed, "", "other bytes")
            return
        one, other = _answer(request, passed.frame), _answer(request, now)
        if request.api_key is ApiKey.FETCH and passed.number in self._waited:
            even_out(one, other)
        self._given_out.learn(one, other)
        for path, how in self._given_out.differences(one, other):
            self._differs(passed, path.lstrip("."), how)

    def _differs(self, passed: Passed, path: str, how: str) -> None:
        if len(self.differences) < _MOST_DIFFERENCES:
            request = self._asked.get(passed.number)
            api = "" if request is None else API_NAMES[request.api_key]
            self.differences.append(Difference(passed.number, api, path, how))


def _answer(request: Request, frame: bytes) -> Any:
    """An answer as JSON."""
    key, version = request.api_key, request.api_version
    try:
        _, answer = decode_response(key, version, memoryview(frame)[4:])
        return message_as_json(without_secrets(answer), version)
    except ProtocolViolation as error:
        return {"undecodable": str(error)}


def even_out(one: Any, other: Any) -> None:
    """Leave of two answers to a Fetch that waited the records that both have.

    A Fetch that waits is answered soon after an append, with all that came until then.
    """
    for topic, topic_now in zip(one["responses"], other["responses"], strict=False):
        for each, now in zip(topic["partitions"], topic_now["partitions"], strict=False):
            count = min(len(each["records"] or ()), len(now["records"] or ()))
            if len(each["records"] or ()) != len(now["records"] or ()):
                for name in ("high_watermark", "last_stable_offset", "aborted_transactions"):
                    now[name] = each[name]
                for shown in (each, now):
                    shown["records"] = (shown["records"] or [])[:count]
