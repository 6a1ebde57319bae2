"""An answer is given again to the same heartbeat, to no other, and not once anything changed."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from kafkalite.group_coordinator.callers import Caller
from kafkalite.group_coordinator.steady_answers import SteadyAnswer
from kafkalite.group_coordinator.timers import Timer
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkalite.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kafkalite.wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from kafkalite.wire.rows import SharedResponse, row_of, rows_of
from tests.group_coordinator.in_memory import Context
from tests.group_coordinator.share_consumers import ShareConsumer
from tests.group_coordinator.share_consumers import settle as settle_share
from tests.group_coordinator.streams_instances import PLAIN, instances, settle

ERROR_CODE, MEMBER_EPOCH, INTERVAL_MS = 1, 4, 5
REQUEST = ("group", "member", 3, None)


@pytest.mark.parametrize(
    ("caller", "request_row", "configs", "fits"),
    [
        (Context(1), REQUEST, {}, True),
        (Context(1), ("group", "member", 4, None), {}, False),
        (Context(0), REQUEST, {}, False),
        (Context(1, "another"), REQUEST, {}, False),
        (Context(1, client_host="10.0.0.9"), REQUEST, {}, False),
        (Context(1), REQUEST, {"share.session.timeout.ms": "50000"}, False),
    ],
    ids=["same", "request", "version", "client id", "host", "configs"],
)
def test_an_answer_fits_the_same_heartbeat_only(
    caller: Caller, request_row: tuple[Any, ...], configs: dict[str, str], fits: bool
) -> None:
    answer = SteadyAnswer(
        Context(1), REQUEST, {}, Timer(lambda: None), 45.0, SharedResponse((0, 0))
    )
    assert answer.fits(caller, request_row, configs) is fits


class Beats:
    """The same heartbeat of one member, as rows."""

    def __init__(self, world: Any, kind: str, request: object) -> None:
        self.requests = getattr(world.coordinator, kind)
        self.row = rows_of(request)

    def beat(self, **caller: Any) -> Any:
        return self.requests.heartbeat(Context(1, **caller), self.row)


async def consumer_beats(world: Any) -> Beats:
    world.config.group_consumer_assignment_interval_ms = 0
    await world.start()
    consumer = world.consumer()
    for _ in range(3):
        assert await consumer.beat() == ErrorCode.NONE
    request = ConsumerGroupHeartbeatRequest(
        group_id="group", member_id=consumer.member_id, member_epoch=consumer.epoch
    )
    return Beats(world, "consumer", request)


async def share_beats(world: Any) -> Beats:
    await world.start(group_share_assignment_interval_ms=0)
    consumer = ShareConsumer(world, "a")
    await settle_share(consumer)
    request = ShareGroupHeartbeatRequest(
        group_id="queue", member_id="a", member_epoch=consumer.epoch
    )
    return Beats(world, "share", request)


async def streams_beats(world: Any) -> Beats:
    await world.start(
        group_streams_initial_rebalance_delay_ms=0, group_streams_assignment_interval_ms=0
    )
    (instance,) = instances(world, "a", topology=PLAIN)
    settle(instance)
    request = StreamsGroupHeartbeatRequest(
        group_id="app",
        member_id="a",
        member_epoch=instance.epoch,
        active_tasks=None,
        standby_tasks=None,
        warmup_tasks=None,
    )
    return Beats(world, "streams", request)


ALL = pytest.mark.parametrize(
    "begin", [consumer_beats, share_beats, streams_beats], ids=["consumer", "share", "streams"]
)


@ALL
async def test_the_answer_is_given_again_and_the_session_begins_anew(
    autojump_clock: object, world: Any, begin: Any
) -> None:
    member = await begin(world)
    first = member.beat()
    assert isinstance(first, SharedResponse)
    written = len(world.log.batches)
    for _ in range(3):
        await trio.sleep(40)
        assert member.beat() is first
    assert len(world.log.batches) == written
    assert (first.row[ERROR_CODE], first.row[INTERVAL_MS]) == (ErrorCode.NONE, 5_000)
    await trio.sleep(46)
    assert refusal(member.beat()) == ErrorCode.UNKNOWN_MEMBER_ID


@ALL
async def test_a_group_s_config_and_another_caller_are_heard_of(
    autojump_clock: object, world: Any, begin: Any
) -> None:
    member = await begin(world)
    first = member.beat()
    kind = {"queue": "share", "app": "streams"}.get(member.row[0], "consumer")
    world.group_configs[member.row[0]] = {f"{kind}.heartbeat.interval.ms": "9000"}
    answer = row_of(member.beat())
    assert answer[INTERVAL_MS] == 9_000
    assert row_of(member.beat(client_id="other")) is not first.row


@ALL
async def test_a_changed_topic_ends_it(autojump_clock: object, world: Any, begin: Any) -> None:
    member = await begin(world)
    first = member.beat()
    world.set_partitions("orders", 6)
    answer = member.beat()
    assert answer is not first
    await trio.sleep(1.1)
    epochs = {epoch_of(answer), epoch_of(member.beat())}
    assert max(epochs) > first.row[MEMBER_EPOCH] or refusal(answer) != ErrorCode.NONE


@ALL
async def test_a_node_that_no_longer_coordinates_says_so(
    autojump_clock: object, world: Any, begin: Any
) -> None:
    member = await begin(world)
    member.beat()
    for partition in range(world.log.partition_count):
        world.log.leaders[partition] = 2
    assert refusal(member.beat()) == ErrorCode.NOT_COORDINATOR


async def test_a_shutdown_of_the_application_is_told_to_all(
    autojump_clock: object, world: Any
) -> None:
    member = await streams_beats(world)
    first = member.beat()
    shutdown = list(member.row)
    shutdown[-1] = True
    member.requests.heartbeat(Context(1), tuple(shutdown))
    assert member.beat() is not first


def refusal(answer: Any) -> int:
    code: int = getattr(answer, "response", None) and answer.response.error_code
    return code if code is not None else row_of(answer)[ERROR_CODE]


def epoch_of(answer: Any) -> int:
    response = getattr(answer, "response", None)
    epoch: int = row_of(answer)[MEMBER_EPOCH] if response is None else response.member_epoch
    return epoch
