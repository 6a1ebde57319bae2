"""Subscriptions in JoinGroup and assignments in SyncGroup, by which classic consumers tell each
other what they read. The broker reads them once members of the other protocol come (KIP-848)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from conformance.differential.generated_requests.references import (
    Around,
    Generation,
    Memory,
    Name,
    Reference,
    resolved,
)
from kafkalite.wire.messages import consumer_protocol_assignment, consumer_protocol_subscription
from kafkalite.wire.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from kafkalite.wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from kafkalite.wire.messages.stored import encode

SUBSCRIBED = bytes.fromhex("0000 00000000 ffffffff")
SUBSCRIBED_TOO = bytes.fromhex("0000 00000000 00000001 2a")


@dataclass(frozen=True)
class Encoded(Reference):
    """A message with references in it, as the bytes of a version of it."""

    message: Any
    version: int

    def resolve(self, memory: Memory, around: Around) -> bytes:
        return encode(resolved(self.message, memory, around), self.version)


_versions = st.sampled_from((0, 1, 2, 3, 3))
_owned: tuple[tuple[tuple[str, list[int]], ...], ...] = (
    *[()] * 4,
    (("t0", [0]),),
    (("t0", [1]),),
    (("t0", [0, 1]),),
    (("t1", [0]),),
    (("t0", [0]), ("t1", [0])),
    (("t0", [7]),),
    (("t3", [0]),),
)
_subscriptions = st.builds(
    Encoded,
    st.builds(
        ConsumerProtocolSubscription,
        topics=st.sampled_from(
            [["t0"]] * 6 + [["t0", "t1"]] * 2 + [["t1"], ["t3"], ["t0", "t3"], []]
        ).map(lambda names: list(map(Name, names))),
        user_data=st.sampled_from((None, None, b"", b"*")),
        owned_partitions=st.sampled_from(_owned).map(
            lambda pairs: [
                consumer_protocol_subscription.TopicPartition(Name(name), list(partitions))
                for name, partitions in pairs
            ]
        ),
        generation_id=st.sampled_from((-1, Generation(), Generation(-1))),
        rack_id=st.sampled_from((None, None, "", "r")),
    ),
    _versions,
)
# Their names, in the order in which a member prefers them. No name twice: Apache Kafka counts it
# twice, falls over it when the join completes, and never answers.
_names = st.sampled_from(
    [("range",)] * 6
    + [
        ("range", "roundrobin"),
        ("roundrobin", "range"),
        ("roundrobin",),
        ("cooperative-sticky", "range"),
    ]
)
_opaque = st.sampled_from(
    [
        (("range", SUBSCRIBED),),
        (("range", SUBSCRIBED),),
        (("range", SUBSCRIBED_TOO),),
        (("range", SUBSCRIBED), ("roundrobin", SUBSCRIBED_TOO)),
        (("roundrobin", SUBSCRIBED), ("range", SUBSCRIBED)),
        (("roundrobin", SUBSCRIBED),),
        (),
    ]
)
_telling = st.builds(
    lambda names, subscription: tuple((name, subscription) for name in names),
    _names,
    _subscriptions,
)
PROTOCOLS = st.one_of(_opaque, _telling, _telling)

ASSIGNMENTS = st.one_of(
    st.sampled_from((b"assigned", b"", b"more")),
    st.builds(
        Encoded,
        st.builds(
            ConsumerProtocolAssignment,
            assigned_partitions=st.sampled_from(_owned).map(
                lambda pairs: [
                    consumer_protocol_assignment.TopicPartition(Name(name), list(partitions))
                    for name, partitions in pairs
                ]
            ),
            user_data=st.sampled_from((None, None, b"", b"*")),
        ),
        _versions,
    ),
)
