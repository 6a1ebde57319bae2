"""Requests of the stories of all APIs whose bytes had accidents on their way: a bit, a piece, a
length that is another.

Both brokers get the same bytes: a request that would name what each side calls otherwise is left
out, and so is one that waits, or that by accident is a change to everybody's.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import Any

from hypothesis import strategies as st

from conformance.differential.broker_side import CLIENT_ID, with_length
from conformance.differential.generated_requests.references import resolved
from conformance.differential.generated_requests.requests import Step, steps
from conformance.differential.generated_requests.telling import tell_steps
from conformance.differential.generated_requests.world import PARKS, World
from conformance.harness.messages import fitting
from conformance.harness.random_messages import broken
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import decode_request, decode_response, encode_request
from kafkalite.wire.errors import ProtocolViolation
from kafkalite.wire.schema import fields_of

CORRELATION_ID = 77
# The API, its version, and the number of the request stay as they are.
WHOLE_BYTES = struct.calcsize(">hhi")
# Kafka's parser takes any negative length for null where it may be null, drops bits that no varint
# has, and does not compare the size of a tagged field that it knows with what it read.
STRICTER = ("a length of -", "longer than 32 bits", "as it says")
NOT_DAMAGED = PARKS | {
    ApiKey.ADD_RAFT_VOTER,
    ApiKey.ALTER_CLIENT_QUOTAS,
    ApiKey.ALTER_CONFIGS,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS,
    ApiKey.API_VERSIONS,
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    ApiKey.INIT_PRODUCER_ID,
    ApiKey.REMOVE_RAFT_VOTER,
    ApiKey.SHARE_GROUP_HEARTBEAT,
    ApiKey.STREAMS_GROUP_HEARTBEAT,
    ApiKey.UNREGISTER_BROKER,
    ApiKey.UPDATE_FEATURES,
    ApiKey.WRITE_TXN_MARKERS,
}
MOST_PARTITIONS, MOST_WAIT_MS, ENOUGH_MS = 50, 300, 10_000


@dataclass(frozen=True)
class Accident:
    """A request, and the number that its accidents come from."""

    step: Step
    number: int


STORIES = st.lists(st.builds(Accident, steps(), st.integers(0, 2**63)), min_size=40, max_size=90)


class Damaged(World):
    """The world of a story of damaged requests."""

    def tell(self, story: Iterable[Any]) -> None:
        tell_steps(story, self.take_damaged)

    def take_damaged(self, accident: Accident) -> None:
        step = accident.step
        if step.api in NOT_DAMAGED:
            return
        one, other = (self.encoded(side, step) for side in self.pair.sides)
        if one != other:
            return
        damaged = one[:WHOLE_BYTES] + broken(
            Random(accident.number), one[WHOLE_BYTES:], one[WHOLE_BYTES:]
        )
        if not is_harmless(damaged):
            return
        answers = []
        for side in self.pair.sides:
            side.send_bytes(with_length(damaged))
            frame = side.receive_frame()
            answers.append(frame and decode_response(step.api, step.version, frame)[1])
        self.compare(step, answers)

    def encoded(self, side: Any, step: Step) -> bytes:
        """The request without its length."""
        message = fitting(resolved(step.body, self.memories[side]), step.version)
        chunks = encode_request(step.api, step.version, CORRELATION_ID, CLIENT_ID, message)
        return b"".join(map(bytes, chunks))[4:]


def is_harmless(data: bytes) -> bool:
    """False for a request that both take otherwise on purpose, or that changes or waits too
    much."""
    try:
        return is_small(decode_request(data).body)
    except ProtocolViolation as violation:
        return not any(reason in violation.reason for reason in STRICTER)


def is_small(message: Any) -> bool:
    for field in fields_of(type(message)):
        value = getattr(message, field.name)
        match field.name:
            case "max_wait_ms":
                is_fine = 0 <= value <= MOST_WAIT_MS
            case "timeout_ms":
                is_fine = ENOUGH_MS <= value <= 30_000
            case "acks":
                is_fine = value != 0
            case "configuration_keys":  # all of a server's are its own
                is_fine = bool(value)
            case "records":
                is_fine = value is not None
            case "num_partitions" | "count":
                is_fine = value <= MOST_PARTITIONS
            case "allow_auto_topic_creation":
                is_fine = not value
            case "name" | "topic":
                is_fine = not (isinstance(value, str) and value.startswith("__"))
            case _:
                is_fine = True
        parts = value if isinstance(value, list) else [value]
        if not is_fine or not all(is_small(part) for part in parts if is_message(part)):
            return False
    return True


def is_message(value: Any) -> bool:
    return hasattr(type(value), "__wire_fields__")
