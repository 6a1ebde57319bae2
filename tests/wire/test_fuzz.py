"""A bounded run of the fuzzer, always the same one; `make fuzz` runs longer."""

from __future__ import annotations

from random import Random

import pytest

from conformance.harness.random_messages import broken
from kafkalite.wire.codec import encode_request
from kafkalite.wire.message_codec import join
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalite.wire.schema import Kind, message_of
from tests.wire.fuzz import (
    BYTES_ANYWAY,
    MOST_BYTES_PER_BYTE,
    MOST_SECONDS,
    cases,
    measure,
    one_round,
)


@pytest.mark.slow
def test_broken_frames() -> None:
    found = cases()
    one_round(
        Random(0), found, measure_each=1000
    )  # makes the parsers, which are not to be measured
    valid, count = one_round(Random(1), found, measure_each=4)
    assert 0.05 < valid / count < 0.6, "the breaking is too strong or too weak to test anything"


@pytest.mark.parametrize("version", [3, 9, 13])
def test_records_are_not_copied_for_a_broken_frame(version: int) -> None:
    """A frame of mostly records takes at most four times its size, broken in any way."""
    random = Random(2)
    partitions = [PartitionProduceData(index, random.randbytes(16384)) for index in range(16)]
    body = ProduceRequest(topic_data=[TopicProduceData("t", partition_data=partitions)])
    frame = join(encode_request(0, version, 7, "fuzz", body))[4:]
    case = (ProduceRequest, version)
    measure(case, frame[:-1])
    for _ in range(50):
        seconds, peak = measure(case, broken(random, frame, frame))
        assert seconds <= MOST_SECONDS
        assert peak <= 4 * len(frame)


@pytest.mark.slow
@pytest.mark.parametrize("fill", [b"\0", b"\1", b"\2", b"\x7f", b"\x80", b"\xff"])
def test_bodies_of_one_byte_over_and_over(fill: bytes) -> None:
    """Counts and lengths that claim much are refused before anything is made for them."""
    for class_, version in cases():
        message = message_of(class_)
        if message.kind is Kind.REQUEST:
            head = message.key.to_bytes(2, "big") + version.to_bytes(2, "big") + bytes(6)
            frame = head + fill * 20000
            seconds, peak = measure((class_, version), frame)
            assert seconds <= MOST_SECONDS, (class_, version)
            assert peak <= MOST_BYTES_PER_BYTE * len(frame) + BYTES_ANYWAY, (class_, version)
