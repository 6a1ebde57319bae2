"""The referee itself: a broker with one fault planted into its answers is caught by the scripts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.differential.pair import Difference, Pair
from conformance.differential.side import Side
from conformance.differential.test_fetch import test_a_session
from conformance.differential.test_metadata import test_by_id
from conformance.differential.test_produce import test_a_batch
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.compression import Compression


class FaultySide(Side):
    """The broker under test, with a fault: what `plant` does to every answer of `api`."""

    def __init__(self, side: Side, api: ApiKey, plant: Callable[[Any], None]) -> None:
        super().__init__(side.broker)
        self.api, self.plant = api, plant

    def receive(self, api: ApiKey, version: int, connection: str = "main") -> Any:
        answer = super().receive(api, version, connection)
        if api is self.api and answer is not None and connection == "main":
            self.plant(answer)
        return answer


def later_offset(answer: Any) -> None:
    for topic in answer.responses:
        for partition in topic.partition_responses:
            partition.base_offset += partition.base_offset >= 0


def no_session(answer: Any) -> None:
    answer.session_id = 0


def another_epoch(answer: Any) -> None:
    for topic in answer.topics:
        for partition in topic.partitions:
            partition.leader_epoch += 1


FAULTS: dict[str, tuple[ApiKey, Callable[[Any], None], Callable[[Pair, str], None]]] = {
    "an offset too high": (
        ApiKey.PRODUCE,
        later_offset,
        lambda pair, topic: test_a_batch(pair, topic, 9, Compression.NONE),
    ),
    "no fetch session": (
        ApiKey.FETCH,
        no_session,
        lambda pair, topic: test_a_session(pair, topic, 12),
    ),
    "another leader epoch": (
        ApiKey.METADATA,
        another_epoch,
        lambda pair, topic: test_by_id(pair, topic, 12),
    ),
}


@pytest.fixture
def faulty(pair: Pair, request: pytest.FixtureRequest) -> Pair:
    api, plant, _ = FAULTS[request.param]
    return Pair(pair.reference, FaultySide(pair.tested, api, plant))


@pytest.mark.parametrize("faulty", FAULTS, indirect=True)
def test_by_scripts(faulty: Pair, topic: str, request: pytest.FixtureRequest) -> None:
    _, _, script = FAULTS[request.node.callspec.params["faulty"]]
    with pytest.raises(Difference):
        script(faulty, topic)
    faulty.tested.close()
