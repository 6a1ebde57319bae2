"""A broker says all of itself when it registers, and knows which refusals are final."""

from __future__ import annotations

from uuid import UUID

import pytest

from kafkalite.quorum.registration import Registration, RegistrationRefused
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.broker_registration import Listener

LISTENER = Listener(name="PLAINTEXT", host="here", port=9092, security_protocol=0)


def registration(previous_broker_epoch: int = -1) -> Registration:
    return Registration(
        1,
        "cluster",
        listeners=[LISTENER],
        features={"metadata.version": (7, 25), "kraft.version": (0, 1)},
        directory_ids=[UUID(int=9), UUID(int=8)],
        rack="r",
        previous_broker_epoch=previous_broker_epoch,
    )


def test_a_request_has_all_of_it() -> None:
    request = registration(previous_broker_epoch=5).request()
    assert (request.broker_id, request.cluster_id, request.rack) == (1, "cluster", "r")
    assert request.listeners == [LISTENER]
    assert [
        (each.name, each.min_supported_version, each.max_supported_version)
        for each in request.features
    ] == [("metadata.version", 7, 25), ("kraft.version", 0, 1)]
    assert request.log_dirs == [UUID(int=8), UUID(int=9)]
    assert request.previous_broker_epoch == 5
    assert not request.is_migrating_zk_broker


def test_an_incarnation_is_one_process() -> None:
    one, other = registration(), registration()
    assert one.request().incarnation_id == one.request().incarnation_id == one.incarnation_id
    assert one.incarnation_id != other.incarnation_id


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (ErrorCode.INCONSISTENT_CLUSTER_ID, "another cluster"),
        (ErrorCode.UNSUPPORTED_VERSION, "kafka-features"),
        (ErrorCode.INVALID_REGISTRATION, "of another broker"),
    ],
)
def test_a_final_refusal_ends_a_start_and_no_running_broker(code: ErrorCode, told: str) -> None:
    with pytest.raises(RegistrationRefused, match=told):
        registration().refused(code, is_first=True)
    registration().refused(code, is_first=False)


def test_a_refusal_is_told_once_until_another_comes(caplog: pytest.LogCaptureFixture) -> None:
    one = registration()
    in_use, other = ErrorCode.DUPLICATE_BROKER_REGISTRATION, ErrorCode.NOT_CONTROLLER
    for code in (in_use, in_use, other, other, in_use):
        one.refused(code, is_first=True)
    lines = [record.getMessage() for record in caplog.records]
    assert lines == [
        "node id 1 is in use: waiting for the session of its last broker to end",
        "the controllers refuse this broker for now: NOT_CONTROLLER",
        "node id 1 is in use: waiting for the session of its last broker to end",
    ]
