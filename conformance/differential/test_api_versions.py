"""ApiVersions: what is offered at all, and the features."""

import pytest

from conformance.differential.broker_side import with_length
from conformance.differential.comparison import Pair
from conformance.harness.raw import header
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import decode_response
from kafkalite.wire.messages.api_versions import ApiVersionsRequest

NAMED = ApiVersionsRequest(client_software_name="referee", client_software_version="1.0")


@pytest.mark.parametrize("version", range(5))
def test_what_is_offered_is_offered_in_the_same_versions(pair: Pair, version: int) -> None:
    """An API may be missing (plain.py leaves it out), but no range may be another one."""
    pair.ask(ApiKey.API_VERSIONS, version, NAMED)


@pytest.mark.parametrize("name", ["", "-", "a b", "a-", "a.b-c", "x" * 1000])
def test_names_of_clients(pair: Pair, name: str) -> None:
    for request in (
        ApiVersionsRequest(client_software_name=name, client_software_version="1"),
        ApiVersionsRequest(client_software_name="a", client_software_version=name),
    ):
        pair.ask(ApiKey.API_VERSIONS, 3, request)


@pytest.mark.parametrize("version", [5, 99, 32767, -1])
def test_a_version_of_the_future_is_answered_in_the_first(pair: Pair, version: int) -> None:
    """So that a client of any age learns what there is, and goes on."""
    flexible = version > 0
    start = header(ApiKey.API_VERSIONS, version, 7, flexible=flexible)
    frame = with_length(start + b"whatever is in it then")
    answers = []
    for side in pair.sides:
        side.send_bytes(frame)
        answer = side.receive_frame()
        answers.append(answer and decode_response(ApiKey.API_VERSIONS, 0, answer)[1])
    pair.compare("API_VERSIONS", *answers, api=ApiKey.API_VERSIONS, version=0)
    pair.ask(ApiKey.API_VERSIONS, 3, NAMED)
