"""A recording told again to both brokers: the same requests in the same order, on as many connections.

What the recorded broker had given out (topic ids, member ids, producer ids, fetch sessions) is replaced by
what the broker asked has given out at the same place. Names begin with RECORDED in the recording, and
with REPLAYED, which is as long, when it is told again.
"""

from __future__ import annotations

import struct
from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any

import crc32c

from conformance.differential.pair import Pair
from conformance.differential.side import Side
from conformance.differential.stories.world import CHANGES, NOT_YET
from conformance.harness.recording_proxy import Passed
from kafkalite.apis import APIS
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import Request, decode_request, decode_response
from kafkalite.wire.messages.describe_transactions import DescribeTransactionsRequest
from kafkalite.wire.records import iterate_batches

RECORDED, REPLAYED = "recorded-", "replayed-"
GIVEN_OUT = {"topic_id", "member_id", "leader", "producer_id", "session_id"}
_PRODUCER_ID = slice(43, 51)


class Replay:
    """One recording, on both sides of a pair."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.known: dict[Side, dict[Any, Any]] = {side: {} for side in pair.sides}
        self.waiting: dict[str, deque[Request]] = defaultdict(deque)

    def tell(self, recording: Iterable[Passed]) -> None:
        """Raises Difference."""
        for side in self.pair.sides:
            side.forget()
            side.names.prefix = REPLAYED
        for passed in recording:
            connection = f"recorded {passed.connection}"
            frame = passed.frame.replace(RECORDED.encode(), REPLAYED.encode())
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
                body = self.translated(request.body, self.known[side])
                side.send(request.api_key, request.api_version, body, connection)

    def hear(self, connection: str, frame: bytes) -> None:
        request = self.waiting[connection].popleft()
        api, version = request.api_key, request.api_version
        if api not in APIS:
            return
        recorded = decode_response(api, version, frame)[1]
        answers = [side.receive(api, version, connection) for side in self.pair.sides]
        for side, answer in zip(self.pair.sides, answers, strict=True):
            self.learn(recorded, answer, self.known[side])
            for topic in getattr(answer, "topics", ()) if api is ApiKey.METADATA else ():
                side.names.topic_ids[topic.topic_id] = f"id of {topic.name}"
        self.pair.compare(f"{api.name} v{version}", *answers, api=api, version=version)
        if api in CHANGES:
            self.pair.settle()
        elif api in (ApiKey.END_TXN, ApiKey.INIT_PRODUCER_ID) and request.body.transactional_id:
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
        """What stands at the same place in both answers is the same thing."""
        if isinstance(recorded, list) and isinstance(answer, list):
            for one, other in zip(recorded, answer, strict=False):
                self.learn(one, other, known, name)
        elif is_dataclass(recorded) and type(recorded) is type(answer):
            for field in fields(recorded):
                self.learn(
                    getattr(recorded, field.name), getattr(answer, field.name), known, field.name
                )
        elif name in GIVEN_OUT:
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
        name = name.removeprefix("v3_and_below_")
        return known.get((name, value), value) if name in GIVEN_OUT else value

    def batch(self, data: bytes, known: dict[Any, Any]) -> bytes:
        """The batch with the producer's id of now."""
        recorded = int.from_bytes(data[_PRODUCER_ID], "big", signed=True)
        given = known.get(("producer_id", recorded), recorded)
        if given == recorded:
            return data
        checked = data[21:43] + struct.pack(">q", given) + data[51:]
        return data[:17] + struct.pack(">I", crc32c.crc32c(checked)) + checked
