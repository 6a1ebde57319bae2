"""A broker's life: the states are a table, each left by what an answer says."""

from __future__ import annotations

from uuid import UUID

import pytest
import trio

from kafkalite.quorum.channel import NoController
from kafkalite.quorum.lifecycle import TRANSITIONS, Lifecycle, LifeState
from kafkalite.quorum.registration import Registration, RegistrationRefused
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)
from kafkalite.wire.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)

Answer = BrokerHeartbeatResponse | BrokerRegistrationResponse | NoController


class Controllers:
    """Answers as it is told to, one answer after the other; the last of a kind is repeated."""

    def __init__(self, *heartbeats: Answer, registrations: tuple[Answer, ...] = ()) -> None:
        self.heartbeats = list(heartbeats)
        self.registrations = list(registrations or [BrokerRegistrationResponse(broker_epoch=5)])
        self.asked: list[tuple[float, object]] = []

    async def ask(self, body: object, *, timeout_seconds: float) -> Answer:
        self.asked.append((trio.current_time(), body))
        is_heartbeat = isinstance(body, BrokerHeartbeatRequest)
        answers = self.heartbeats if is_heartbeat else self.registrations
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, NoController):
            await trio.sleep(timeout_seconds)
            raise answer
        await trio.sleep(0.001)
        return answer

    def heard(self, kind: type) -> list[object]:
        return [body for _, body in self.asked if isinstance(body, kind)]


def lifecycle(controllers: Controllers) -> Lifecycle:
    registration = Registration(
        1, "cluster", listeners=[], features={}, directory_ids=[UUID(int=200)]
    )
    return Lifecycle(registration, controllers, metadata_offset=lambda: 9)


def beat(**fields: bool | int) -> BrokerHeartbeatResponse:
    return BrokerHeartbeatResponse(**fields)


BEHIND, CAUGHT_UP = beat(is_caught_up=False), beat(is_caught_up=True)
UNFENCED = beat(is_caught_up=True, is_fenced=False)
GO = beat(is_caught_up=True, is_fenced=False, should_shut_down=True)


def test_every_state_can_end() -> None:
    for state in LifeState:
        reached, frontier = {state}, {state}
        while frontier:
            frontier = {to for each in frontier for to in TRANSITIONS[each]} - reached
            reached |= frontier
        assert LifeState.SHUTTING_DOWN in reached


async def test_a_whole_life(autojump_clock: trio.testing.MockClock) -> None:
    controllers = Controllers(BEHIND, BEHIND, CAUGHT_UP, CAUGHT_UP, UNFENCED, UNFENCED, GO)
    life = lifecycle(controllers)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(life.run)
        await life.caught_up.wait()
        assert (life.state, life.broker_epoch) == (LifeState.RECOVERY, 5)
        life.ready()
        await life.unfenced.wait()
        assert life.state is LifeState.RUNNING
        life.begin_shutdown()
        assert life.state is LifeState.PENDING_CONTROLLED_SHUTDOWN
        await life.may_go.wait()
    beats = controllers.heard(BrokerHeartbeatRequest)
    assert [each.want_fence for each in beats[:3]] == [True] * 3
    assert not beats[-1].want_fence
    assert [each.cordoned_log_dirs for each in beats[:4]] == [None, None, None, []]
    assert beats[-1].want_shut_down
    assert {each.current_metadata_offset for each in beats} == {9}


async def test_while_starting_it_asks_often(autojump_clock: trio.testing.MockClock) -> None:
    controllers = Controllers(*[BEHIND] * 50, CAUGHT_UP)
    life = lifecycle(controllers)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(life.run)
        with trio.fail_after(1):
            await life.caught_up.wait()
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        (ErrorCode.INCONSISTENT_CLUSTER_ID, "another cluster"),
        (ErrorCode.UNSUPPORTED_VERSION, "feature"),
        (ErrorCode.INVALID_REGISTRATION, "log directory"),
    ],
)
async def test_some_refusals_are_final(
    autojump_clock: trio.testing.MockClock, code: ErrorCode, sentence: str
) -> None:
    refusal = BrokerRegistrationResponse(error_code=code)
    with pytest.raises(RegistrationRefused, match=sentence):
        await lifecycle(Controllers(BEHIND, registrations=(refusal,))).run()


async def test_others_pass(autojump_clock: trio.testing.MockClock) -> None:
    """The session of the last broker with this id ends some time."""
    taken = BrokerRegistrationResponse(error_code=ErrorCode.DUPLICATE_BROKER_REGISTRATION)
    granted = BrokerRegistrationResponse(broker_epoch=8)
    life = lifecycle(
        Controllers(CAUGHT_UP, registrations=(taken, NoController("none"), taken, granted))
    )
    async with trio.open_nursery() as nursery:
        nursery.start_soon(life.run)
        await life.caught_up.wait()
        assert life.broker_epoch == 8
        nursery.cancel_scope.cancel()


@pytest.mark.slow
async def test_no_controller_in_a_minute_is_the_end(autojump_clock: trio.testing.MockClock) -> None:
    began = trio.current_time()
    with pytest.raises(RegistrationRefused, match="60 s"):
        await lifecycle(Controllers(BEHIND, registrations=(NoController("none"),))).run()
    assert trio.current_time() - began == pytest.approx(60, abs=0.1)


async def test_a_registration_that_is_lost_is_made_anew(
    autojump_clock: trio.testing.MockClock,
) -> None:
    lost = beat(error_code=ErrorCode.STALE_BROKER_EPOCH)
    controllers = Controllers(
        CAUGHT_UP,
        lost,
        UNFENCED,
        registrations=(
            BrokerRegistrationResponse(broker_epoch=5),
            BrokerRegistrationResponse(broker_epoch=6),
        ),
    )
    life = lifecycle(controllers)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(life.run)
        await life.caught_up.wait()
        life.ready()
        await life.unfenced.wait()
        assert life.broker_epoch == 6
        first, second = controllers.heard(BrokerRegistrationRequest)
        assert first.incarnation_id == second.incarnation_id
        nursery.cancel_scope.cancel()


async def test_controllers_that_are_gone_for_a_while(
    autojump_clock: trio.testing.MockClock,
) -> None:
    controllers = Controllers(CAUGHT_UP, UNFENCED, *[NoController("gone")] * 20, UNFENCED)
    life = lifecycle(controllers)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(life.run)
        await life.caught_up.wait()
        life.ready()
        await trio.sleep(60)
        assert life.state is LifeState.RUNNING
        assert len(controllers.heartbeats) == 1
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("last", [NoController("gone"), CAUGHT_UP], ids=["gone", "silent"])
async def test_it_goes_after_five_minutes_although_it_still_leads(
    autojump_clock: trio.testing.MockClock, last: Answer
) -> None:
    life = lifecycle(Controllers(CAUGHT_UP, UNFENCED, last))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(life.run)
        await life.caught_up.wait()
        life.ready()
        await life.unfenced.wait()
        life.begin_shutdown()
        with trio.move_on_after(299):
            await life.may_go.wait()
        assert not life.may_go.is_set()
        with trio.fail_after(6):  # a heartbeat waits for its answer up to 2 s
            await life.may_go.wait()
