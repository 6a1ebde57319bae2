"""ApiVersions: what is offered at all, and the features."""

from typing import Any

import pytest

from conformance.differential.pair import Pair
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.api_versions import ApiVersionsRequest

NAMED = ApiVersionsRequest(client_software_name="referee", client_software_version="1.0")


@pytest.mark.parametrize("version", range(5))
def test_what_is_offered_is_offered_in_the_same_versions(pair: Pair, version: int) -> None:
    """An API may be missing (it is not there yet), but no range may be another one."""
    reference, tested = (
        side.ask(ApiKey.API_VERSIONS, version, NAMED) for side in (pair.reference, pair.tested)
    )
    expected = ranges(reference)
    offered = ranges(tested)
    assert {key: expected.get(key) for key in offered} == offered
    reference.api_keys = tested.api_keys = []
    for answer in (reference, tested):
        answer.finalized_features_epoch = min(answer.finalized_features_epoch, 0)
    pair.compare(f"ApiVersions v{version}", reference, tested)


def ranges(answer: Any) -> dict[int, tuple[int, int]]:
    return {a.api_key: (a.min_version, a.max_version) for a in answer.api_keys}


@pytest.mark.parametrize("name", ["", "-", "a b", "a-", "a.b-c", "x" * 1000])
def test_names_of_clients(pair: Pair, name: str) -> None:
    for request in (
        ApiVersionsRequest(client_software_name=name, client_software_version="1"),
        ApiVersionsRequest(client_software_name="a", client_software_version=name),
    ):
        reference, tested = (
            side.ask(ApiKey.API_VERSIONS, 3, request) for side in (pair.reference, pair.tested)
        )
        assert reference.error_code == tested.error_code
        assert bool(reference.api_keys) == bool(tested.api_keys)
