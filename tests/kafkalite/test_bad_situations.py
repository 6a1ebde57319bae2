"""Each bad situation that docs/cluster.md has an answer for has a test of it."""

from __future__ import annotations

from math import inf
from pathlib import Path
from typing import Any

import pytest
import trio

from kafkalite.config.storage_format import format_directory
from kafkalite.log.files import FILES
from kafkalite.log.meta_properties import read_meta_properties, write_meta_properties
from kafkalite.quorum_broker import QuorumBroker
from kafkalite.server.listener import StartError
from kafkalite.wire.errors import ErrorCode
from tests.kafkalite.replication import model_controller
from tests.kafkalite.replication.model_controller import fencing
from tests.kafkalite.test_quorum_broker import (
    ask,
    cluster,
    config,
    controllers,
    in_sync,
    produce,
    values,
)
from tests.kafkalite.until import until

ROOT = Path(__file__).parents[2]
HERE = "kafkalite/test_bad_situations.py"
# The beginning of the table's row, and the tests.
TESTS = {
    "the directory belongs to another cluster or node": [
        (HERE, "test_a_directory_of_another_cluster_or_node"),
        ("kafkalite/quorum/test_tail.py", "test_a_quorum_of_another_cluster_is_a_failure"),
        ("kafkalite/test_quorum_broker.py", "test_a_directory_that_is_not_formatted_is_refused"),
    ],
    "the node id is in use": [
        ("kafkalite/test_quorum_broker.py", "test_a_node_id_in_use_waits_for_the_session_to_end")
    ],
    "a feature is finalized above": [
        ("kafkalite/quorum/test_lifecycle.py", "test_some_refusals_are_final"),
        ("kafkalite/quorum/test_registration.py", "test_a_final_refusal_ends_a_start"),
    ],
    "the controllers are gone": [(HERE, "test_controllers_that_are_gone")],
    "the loop is blocked": [(HERE, "test_a_stall_longer_than_the_session")],
    "a log that has no replica here": [
        ("kafkalite/test_quorum_broker.py", "test_strays_are_set_aside")
    ],
    "a full disk": [("kafkalite/test_failing_cluster.py", "test_a_full_disk_is_over_when_it_is")],
    "a broken disk": [
        ("kafkalite/test_failing_cluster.py", "test_a_broken_disk_ends_no_broker"),
        ("kafkalite/test_quorum_broker.py", "test_a_directory_that_fails_is_told_at_once"),
        (
            "kafkalite/test_quorum_broker.py",
            "test_a_start_without_a_directory_that_does_not_work",
        ),
        (
            "kafkalite/test_failing_cluster.py",
            "test_the_controllers_hear_of_a_log_that_cannot_be_opened",
        ),
    ],
    "a disk that was replaced": [
        (
            "kafkalite/replica/test_replicated_topics.py",
            "test_a_log_begins_again_where_its_disk_was_replaced",
        )
    ],
    "kill -9": [("kafkalite/replication/test_simulation.py", "test_nothing_acknowledged_is_lost")],
}


def test_each_has_its_test() -> None:
    text = (ROOT / "docs" / "cluster.md").read_text()
    _, _, rows = text.partition("### Bad situations")
    rows, _, _ = rows.partition("###")
    said = [row.split("|")[1].strip() for row in rows.splitlines() if row.startswith("| ")][1:]
    for row in said:
        assert any(row.startswith(each) for each in TESTS), row
    assert len(said) == len(TESTS)
    for tests in TESTS.values():
        for path, name in tests:
            assert f"def {name}" in (ROOT / "tests" / path).read_text()


async def outcome(broker: QuorumBroker, index: int) -> ErrorCode:
    """The outcome of one more record for a partition."""
    answer = await ask(broker, produce(index, b"v"))
    return ErrorCode(answer.responses[0].partition_responses[0].error_code)


@pytest.mark.parametrize("other", ["cluster", "node"])
async def test_a_directory_of_another_cluster_or_node(tmp_path: Path, other: str) -> None:
    async with controllers(1) as controller:
        settings = config(tmp_path, 1, controller, **{"kafkalite.cluster.id": "A" * 22})
        directory = tmp_path / "1"
        known = read_meta_properties(directory, FILES)
        assert known is not None
        (directory / "meta.properties").unlink()
        if other == "node":
            format_directory(directory, "A" * 22, 2, ignore_formatted=True)
        else:
            write_meta_properties(directory, known, FILES)
        with pytest.raises(StartError, match=r"meta\.properties|belongs"), QuorumBroker(settings):
            pass


async def test_controllers_that_are_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It serves on with the metadata that it has. When they are back, it is heard again."""
    monkeypatch.setattr(model_controller, "SESSION_SECONDS", inf)
    async with cluster(tmp_path, 2) as (controller, running):
        await in_sync(controller, running, 2)
        back, whole = trio.Event(), controller.serve

        async def silent(frame: bytes) -> bytes:
            await back.wait()
            return await whole(frame)

        controller.serve = silent  # type: ignore[method-assign]  # it stalls
        heard_at = controller.brokers[1].heard_at
        await trio.sleep(0.5)
        for index, state in enumerate(controller.states):
            assert await outcome(running[state.leader], index) is ErrorCode.NONE
            assert await values(running[state.leader], index) == [b"v"]
        assert controller.brokers[1].heard_at - heard_at < 0.5
        back.set()
        now = trio.current_time()
        await until(lambda: controller.brokers[1].heard_at > now)


async def test_a_stall_longer_than_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The controllers let others lead, until it is heard again."""
    monkeypatch.setattr(model_controller, "SESSION_SECONDS", inf)
    async with cluster(tmp_path, 2) as (controller, running):
        await in_sync(controller, running, 2)
        first = controller.states[0].leader
        lost = controller.brokers[first]
        heartbeat, stands_still = controller.heartbeat, True

        async def unheard(request: Any) -> Any:
            if stands_still and request.broker_id == first:
                await trio.sleep_forever()
            return await heartbeat(request)

        monkeypatch.setattr(controller, "heartbeat", unheard)
        async with controller.deciding:
            lost.fenced = True
            await controller.change_all([fencing(first, lost, fenced=1)])
        assert controller.states[0].leader == 3 - first
        stands_still = False
        await in_sync(controller, running, 2)
        assert await outcome(running[controller.states[0].leader], 0) is ErrorCode.NONE
