"""A second opinion: kafka-python reads what we write, field by field, and writes the same bytes
again.

Its codec is made from Kafka's schemas in another way than ours. It does not have every API; those
that it lacks have one referee only (conformance/java_codec).
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any
from uuid import UUID

import kafka.protocol
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.api_message import ApiMessage

from conformance.harness.messages import every_message, every_version, few, instances, name_of
from kafkalite.wire.fields import NO_UUID
from kafkalite.wire.message_codec import build_body, join, parse_body
from kafkalite.wire.schema import Kind, fields_of, message_of

LACKING = {
    *("AllocateProducerIds", "AlterPartition", "AssignReplicasToDirs", "BrokerHeartbeat"),
    *("BrokerRegistration", "Envelope", "FetchSnapshot"),
    *("AddRaftVoter", "AlterShareGroupOffsets", "ConsumerGroupDescribe", "ConsumerGroupHeartbeat"),
    *("CreateDelegationToken", "DeleteShareGroupOffsets", "DeleteShareGroupState"),
    *("DescribeDelegationToken", "DescribeShareGroupOffsets", "ExpireDelegationToken"),
    *("GetTelemetrySubscriptions", "InitializeShareGroupState", "PushTelemetry"),
    *("ReadShareGroupState", "ReadShareGroupStateSummary", "RemoveRaftVoter"),
    *("RenewDelegationToken", "ShareAcknowledge", "ShareFetch", "ShareGroupDescribe"),
    *("ShareGroupHeartbeat", "StreamsGroupDescribe", "StreamsGroupHeartbeat", "UnregisterBroker"),
    *("WriteShareGroupState",),
}


def their_classes() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for module in pkgutil.walk_packages(kafka.protocol.__path__, "kafka.protocol."):
        if ".old" not in module.name and "generate" not in module.name:
            for name, value in vars(importlib.import_module(module.name)).items():
                if isinstance(value, type) and issubclass(value, ApiMessage):
                    found[name] = value
    return found


THEIRS = their_classes()
KINDS = (Kind.REQUEST, Kind.RESPONSE)
CASES = [case for case in every_version() if case[0].__name__ in THEIRS]


def test_what_it_lacks() -> None:
    ours = {class_.__name__ for class_ in every_message() if message_of(class_).kind in KINDS}
    lacking = ours - set(THEIRS)
    assert lacking == {f"{name}{kind}" for name in LACKING for kind in ("Request", "Response")}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=name_of)
@few
@given(data=st.data())
def test_it_reads_what_we_write(case: tuple[type[Any], int], data: st.DataObject) -> None:
    class_, version = case
    value = data.draw(instances(class_, version))
    if class_.__name__ == "ApiVersionsResponse":
        value.error_code = 0  # it reads version 0 when there is an error, as KIP-511 has it
    encoded = join(build_body(value, version))
    theirs = THEIRS[class_.__name__].decode(encoded, version=version)
    assert_same(value, theirs, version)
    theirs._header = None  # which it sets only on what it made itself
    again = bytes(theirs.encode())
    assert parse_body(class_, version, again) == value
    assert again == encoded


def assert_same(ours: Any, theirs: Any, version: int) -> None:
    for field in fields_of(type(ours)):
        if field.is_in(version) and not field.name.endswith("authorized_operations"):
            mine, other = getattr(ours, field.name), getattr(theirs, field.name)
            if other is None and field.tag is not None:  # a tagged struct that did not come
                assert mine == field.make_default()
            elif isinstance(mine, list):
                assert len(mine) == len(other)
                for one, two in zip(mine, other, strict=True):
                    assert_same_value(one, two, version)
            else:
                assert_same_value(mine, other, version)


def assert_same_value(ours: Any, theirs: Any, version: int) -> None:
    if hasattr(ours, "unknown_tagged_fields"):
        assert_same(ours, theirs, version)
    elif isinstance(ours, UUID):
        assert ours == (theirs or NO_UUID)
    else:
        assert ours == theirs
