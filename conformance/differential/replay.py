"""A recording told again to both brokers: the same requests in the same order, on as many
connections.

What the recorded broker had given out (topic ids, member ids, producer ids, fetch sessions) is
replaced by what the broker asked has given out at the same place. So is the name that everything
recorded begins with by another one, as long; and the times of records are moved into the past, so
that no clock calls them early.
"""

from __future__ import annotations

import struct
import time
from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any
from uuid import UUID

import crc32c

from conformance.differential.broker_side import Side
from conformance.differential.comparison import Pair, error_codes, wait_for_topic
from conformance.differential.generated_requests.world import CHANGES, NOT_YET, RETRY_SECONDS
from conformance.differential.recordings.files import NAME
from conformance.harness.recording_proxy import Passed
from kafkalite.apis import APIS
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import Request, decode_request, decode_response
from kafkalite.wire.messages.describe_transactions import DescribeTransactionsRequest
from kafkalite.wire.record_batch import iterate_batches

GIVEN_OUT = {"topic_id", "member_id", "leader", "producer_id", "session_id"}
# After these, markers may be on their way.
ENDS = {ApiKey.END_TXN, ApiKey.INIT_PRODUCER_ID}
NOTHING = {None, "", 0, -1, UUID(int=0)}
UNKNOWN_TOPIC_OR_PARTITION = 3
# The time of the first record told again; where it and the producer's id stand in a batch.
BEGINS_MS = 1_700_000_000_000
_TIMES, _PRODUCER_ID = slice(27, 43), slice(43, 51)
_AFTER_CRC = 21


class Replay:
    """One recording on both sides of a pair; what it is about is called `name`, as long as NAME."""

    def __init__(self, pair: Pair, name: str) -> None:
        assert len(name) == len(NAME), name
        self.pair, self.name = pair, name
        self.known: dict[Side, dict[Any, Any]] = {side: {} for side in pair.sides}
        self.waiting: dict[str, deque[Request]] = defaultdict(deque)
        self.earlier_ms = 0

    def tell(self, recording: Iterable[Passed]) -> None:
        """Raises Difference."""
        for side in self.pair.sides:
            side.forget()
            side.names.prefix = self.name
        for passed in recording:
            connection = f"recorded {passed.connection}"
            frame = passed.frame.replace(NAME.encode(), self.name.encode())
            if passed.is_request:
                self.ask(connection, frame)
            else:
                self.hear(connection, frame)

    def ask(self, connection: str, frame: bytes) -> None:
        request = decode_request(frame)
        is_answered = not (request.api_key is ApiKey.PRODUCE and request.body.acks == 0)
        if is_answered:
            self.waiting[connection].append(request)
        if request.api_key in APIS:
            for side in self.pair.sides:
                self.send(side, request, connection)

    def send(self, side: Side, request: Request, connection: str) -> None:
        body = self.translated(request.body, self.known[side])
        side.send(request.api_key, request.api_version, body, connection)

    def hear(self, connection: str, frame: bytes) -> None:
        request = self.waiting[connection].popleft()
        api, version = request.api_key, request.api_version
        if api not in APIS:
            return
        recorded = decode_response(api, version, frame)[1]
        answers = [self.answer(side, request, connection) for side in self.pair.sides]
        for side, answer in zip(self.pair.sides, answers, strict=True):
            self.learn(recorded, answer, self.known[side])
            for topic in getattr(answer, "topics", ()) if api is ApiKey.METADATA else ():
                if topic.topic_id.int:
                    side.names.topic_ids[topic.topic_id] = f"id of {topic.name}"
        self.pair.compare(f"{api.name} v{version}", *answers, api=api, version=version)
        self.settle(request, answers[0])

    def answer(self, side: Side, request: Request, connection: str) -> Any:
        """The answer, asked again for as long as it is "not yet", and nothing else is under way."""
        deadline = time.monotonic() + RETRY_SECONDS
        while True:
            answer = side.receive(request.api_key, request.api_version, connection)
            is_known = not error_codes(answer) & NOT_YET
            if is_known or self.waiting[connection] or time.monotonic() > deadline:
                return answer
            time.sleep(0.002)
            self.send(side, request, connection)

    def settle(self, request: Request, answer: Any) -> None:
        """Wait for what becomes true only after the answer."""
        if request.api_key in CHANGES:
            self.pair.settle()
        elif request.api_key is ApiKey.METADATA and request.body.allow_auto_topic_creation:
            for topic in answer.topics if answer is not None else ():
                if topic.error_code == UNKNOWN_TOPIC_OR_PARTITION and topic.name:
                    for side in self.pair.sides:
                        wait_until_made(side, topic.name)
        elif request.api_key in ENDS and request.body.transactional_id:
            self.settle_transaction(request.body.transactional_id)

    def settle_transaction(self, transactional_id: str) -> None:
        request = DescribeTransactionsRequest(transactional_ids=[transactional_id])
        for side in self.pair.sides:
            side.until(
                ApiKey.DESCRIBE_TRANSACTIONS,
                0,
                request,
                lambda answer: (
                    not any(
                        state.transaction_state.startswith("Prepare") or state.error_code in NOT_YET
                        for state in answer.transaction_states
                    )
                ),
            )

    def learn(self, recorded: Any, answer: Any, known: dict[Any, Any], name: str = "") -> None:
        """Two values at the same place in both answers stand for the same thing."""
        if isinstance(recorded, list) and isinstance(answer, list):
            for one, other in zip(recorded, answer, strict=False):
                self.learn(one, other, known, name)
        elif is_dataclass(recorded) and type(recorded) is type(answer):
            for field in fields(recorded):
                self.learn(
                    getattr(recorded, field.name), getattr(answer, field.name), known, field.name
                )
        elif name in GIVEN_OUT and recorded not in NOTHING and answer not in NOTHING:
            known[name, recorded] = answer

    def translated(self, value: Any, known: dict[Any, Any], name: str = "") -> Any:
        if isinstance(value, list):
            return [self.translated(item, known, name) for item in value]
        if is_dataclass(value) and not isinstance(value, type):
            copied = object.__new__(type(value))
            for field in fields(value):
                part = self.translated(getattr(value, field.name), known, field.name)
                setattr(copied, field.name, part)
            return copied
        if name == "records" and value is not None:
            return b"".join(self.batch(bytes(b.buffer), known) for b in iterate_batches(value))
        if name == "timestamp" and value > BEGINS_MS:
            return value - self.earlier_ms
        name = name.removeprefix("v3_and_below_")
        return known.get((name, value), value) if name in GIVEN_OUT else value

    def batch(self, data: bytes, known: dict[Any, Any]) -> bytes:
        """The batch with the producer's id of now, and times of long ago."""
        times = struct.unpack(">qq", data[_TIMES])
        self.earlier_ms = self.earlier_ms or times[0] - BEGINS_MS
        recorded = int.from_bytes(data[_PRODUCER_ID], "big", signed=True)
        checked = (
            data[_AFTER_CRC : _TIMES.start]
            + struct.pack(">qq", *(each - self.earlier_ms for each in times))
            + struct.pack(">q", known.get(("producer_id", recorded), recorded))
            + data[_PRODUCER_ID.stop :]
        )
        return data[: _AFTER_CRC - 4] + struct.pack(">I", crc32c.crc32c(checked)) + checked


def wait_until_made(side: Side, name: str) -> None:
    """Metadata makes topics after it has answered that they are not there."""
    deadline = time.monotonic() + 15
    while not side.topic_id(name).int:
        assert time.monotonic() < deadline, f"{side.broker.kind} does not make {name}"
        time.sleep(0.002)
    wait_for_topic(side, name, 1)
