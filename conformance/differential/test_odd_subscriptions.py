"""Subscriptions of classic members whose bytes after the topics are missing, or are too many.

kafka-go, Faust, NestJS and Platformatic's client say version 1 and leave out its field.
"""

from collections.abc import Callable

import pytest

from conformance.differential.comparison import Pair
from conformance.differential.group_requests import PROTOCOL, join, sync
from conformance.differential.test_consumer_groups import beat, describe, joining
from conformance.differential.test_consumer_groups import join as join_as
from conformance.differential.test_group_offsets import committing
from conformance.differential.test_offsets_of_members import deleting
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from kafkalite.wire.messages.describe_groups import DescribeGroupsRequest
from kafkalite.wire.messages.join_group import JoinGroupRequestProtocol
from kafkalite.wire.messages.stored import encode


def subscription(version: int, topic: str, rest: bytes = b"", says: int | None = None) -> bytes:
    """A subscription of a version that says another one, and goes on with `rest`."""
    whole = encode(ConsumerProtocolSubscription(topics=[topic]), version)
    said = whole[:2] if says is None else says.to_bytes(2, "big", signed=True)
    return said + whole[2:] + rest


@pytest.mark.parametrize(
    "odd",
    [
        lambda topic: subscription(0, topic, says=1),
        lambda topic: subscription(0, topic, says=9),
        lambda topic: subscription(0, topic, says=-1),
        lambda topic: subscription(0, topic, b"more"),
        lambda topic: b"",
    ],
    ids=["no owned partitions", "version 9", "version -1", "too long", "empty"],
)
def test_deleting_offsets(pair: Pair, topic: str, group: str, odd: Callable[[str], bytes]) -> None:
    """The coordinator knows the topics, and so those whose offsets may go."""
    pair.create_topic(topic, 2)
    pair.ask(ApiKey.OFFSET_COMMIT, 9, committing(9, group, topic, 0, 1))
    generation = join(pair, group, 9, protocols={"range": odd(topic)}).generation_id
    sync(pair, group, 5, generation, to={"a": b"mine"}, **PROTOCOL)
    for name in (topic, f"{topic}-other"):
        pair.ask(ApiKey.OFFSET_DELETE, 0, deleting(group, **{name: [0]}))


@pytest.mark.parametrize(
    "odd",
    [
        lambda topic: subscription(1, topic, b"more"),
        lambda topic: subscription(0, topic, says=1),
        lambda topic: subscription(3, topic, says=9),
    ],
    ids=["too long", "no owned partitions", "version 9"],
)
def test_a_classic_member_of_a_consumer_group(
    pair: Pair, topic: str, group: str, odd: Callable[[str], bytes]
) -> None:
    """It joins one; and its own group is to become one.

    The new member there wants another topic: who gets the one partition would depend on the
    ids that the brokers make up.
    """
    other = f"{topic}-other"
    pair.create_topic(topic)
    pair.create_topic(other)
    protocol = JoinGroupRequestProtocol(name="cooperative-sticky", metadata=odd(topic))
    beat(pair, group, **joining(topic))
    join_as(pair, group, topic, "c-1", protocols=[protocol])
    describe(pair, group)
    before = f"{group}-classic"
    join_as(pair, before, topic, "", group_instance_id="i", protocols=[protocol])
    beat(pair, before, **joining(other))
    pair.ask(ApiKey.DESCRIBE_GROUPS, 5, DescribeGroupsRequest(groups=[before]))
