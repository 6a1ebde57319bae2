"""Apache Kafka refuses the broken messages that we refuse, and no others, but for what is said
here."""

from __future__ import annotations

from random import Random

import pytest

from conformance.harness.messages import every_version
from conformance.harness.random_messages import broken, random_message
from conformance.harness.referee import Referee, RefereeRefuses
from kafkalite.wire.errors import ProtocolViolation
from kafkalite.wire.message_codec import build_body, join, parse_body

# Our parser is stricter in two. Kafka takes any negative length for null where it may be null, and
# does not compare the size of a tagged field that it knows with what it read.
STRICTER = ("a length of -", "as it says")


@pytest.mark.parametrize("seed", [1, 2])
def test_kafka_refuses_what_we_refuse(kafka: Referee, seed: int) -> None:
    random = Random(seed)
    agreed = {True: 0, False: 0}
    for class_, version in every_version():
        encoded = join(build_body(random_message(random, class_, version), version))
        damaged = broken(random, encoded, encoded)
        try:
            parse_body(class_, version, damaged)
            ours = ""
        except ProtocolViolation as error:
            ours = error.reason
        try:
            kafka.ask(class_.__name__, version, damaged)
            theirs = ""
        except RefereeRefuses as error:
            theirs = str(error)
        if any(reason in ours for reason in STRICTER):
            continue
        assert bool(ours) == bool(theirs), (class_, version, damaged.hex(), ours, theirs)
        agreed[not ours] += 1
    assert min(agreed.values()) > 50, "the breaking is too strong or too weak to test anything"
