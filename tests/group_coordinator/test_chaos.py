"""Fifty members of both protocols come, go, crash, pause and change their minds, topics grow, the
coordinator restarts; in virtual time, with one seed one course of events.

These rules hold whatever happens. No two members that are in touch with the coordinator have one
partition. No committed offset goes back. Once it is quiet, the group converges, and each partition
has exactly one owner.
"""

import random

import pytest
import trio

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.consumer_protocol_assignment import (
    ConsumerProtocolAssignment,
    TopicPartition,
)
from kafkalite.wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from kafkalite.wire.messages.stored import decode, encode

pytestmark = pytest.mark.usefixtures("size")

RETRIABLE = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.ILLEGAL_GENERATION,
)
MEMBERS = 50


class Truth:
    """The owners of partitions and the committed offsets, seen from outside."""

    def __init__(self, world):
        self.world = world
        self.members = set()
        self.committed = {}
        self.born = 0

    def check_owners(self):
        owners = {}
        for member in self.members:
            if member.in_touch:
                for partition in member.partitions:
                    other = owners.setdefault(partition, member)
                    assert other is member, f"{partition} belongs to two members"
        return owners

    async def progress(self, member, identity):
        """A member commits for what it has, from where the last one stopped."""
        for topic, index in member.rng.sample(
            sorted(member.partitions), min(2, len(member.partitions))
        ):
            offset = await self.world.committed(topic, index) + 1
            (error_code,) = await self.world.commit((topic, index, offset), **identity)
            if error_code == ErrorCode.NONE:
                assert offset > self.committed.get((topic, index), -1), "an offset went back"
                self.committed[topic, index] = offset


class Player:
    """A member with a life of its own."""

    def __init__(self, truth, rng):
        self.truth = truth
        self.world = truth.world
        self.rng = rng
        self.in_touch = False
        self.scope = trio.CancelScope()
        self.paused_until = 0.0
        self.topics = self.choose_topics()
        self.serial = truth.born
        truth.born += 1
        truth.members.add(self)

    def choose_topics(self):
        return self.rng.choice([["orders"], ["payments"], ["orders", "payments"]])

    async def run(self):
        with self.scope:
            while True:
                await self.live()
        self.in_touch = False
        self.truth.members.discard(self)

    async def breathe(self, seconds):
        await trio.sleep(seconds * self.rng.uniform(0.8, 1.0))
        pause = self.paused_until - trio.current_time()
        if pause > 0:
            self.in_touch = False  # it may be fenced meanwhile, and cannot know
            await trio.sleep(pause)

    def crash(self):
        self.in_touch = False
        self.truth.members.discard(self)
        self.scope.cancel()


class ConsumerPlayer(Player):
    def __init__(self, truth, rng):
        super().__init__(truth, rng)
        self.begin()

    def begin(self):
        self.member = self.world.consumer(topics=self.topics, rebalance_timeout_ms=20_000)
        self.wants = None

    @property
    def partitions(self):
        return {p for p in self.member.partitions if p[0] is not None}

    async def live(self):
        fields = {}
        if self.wants is not None:
            fields["subscribed_topic_names"] = self.member.topics = self.wants
            self.wants = None
        error_code = await self.member.beat(**fields)
        self.in_touch = error_code == ErrorCode.NONE
        self.truth.check_owners()
        if error_code == ErrorCode.NONE:
            epoch = self.member.epoch
            identity = {"member_id": self.member.member_id, "generation_id_or_member_epoch": epoch}
            await self.truth.progress(self, identity)
            await self.breathe(self.member.interval or 5)
        elif error_code == ErrorCode.UNKNOWN_SERVER_ERROR:
            # Fatal to a client: its application makes another.
            self.begin()
            await trio.sleep(0.5)
        else:
            assert error_code in (
                *RETRIABLE,
                ErrorCode.FENCED_MEMBER_EPOCH,
                ErrorCode.UNKNOWN_MEMBER_ID,
            )
            await trio.sleep(0.5)

    def change_mind(self):
        self.topics = self.wants = self.choose_topics()

    async def leave(self):
        self.crash()
        await self.member.leave()


class ClassicPlayer(Player):
    """Eager: it lets go of everything before it joins."""

    def __init__(self, truth, rng):
        super().__init__(truth, rng)
        self.member = self.world.member(rebalance_timeout_ms=20_000)
        self.partitions = set()

    def change_mind(self):
        self.topics = self.choose_topics()

    async def live(self):
        self.partitions = set()
        topics = self.topics
        subscription = encode(ConsumerProtocolSubscription(topics=topics), 1)
        self.member.protocols = [("range", subscription)]
        response = await self.member.join()
        if response.error_code == ErrorCode.NONE:
            error_code = await self.sync(response)
            counts = dict(self.world.topics.counts)
            while (
                error_code == ErrorCode.NONE
                and self.topics == topics
                and not (joined_as_leader(response) and counts != self.world.topics.counts)
            ):
                await self.breathe(3)
                error_code = await self.member.heartbeat()
                self.in_touch = error_code == ErrorCode.NONE
                if self.in_touch:
                    self.truth.check_owners()
                    await self.progress()
        else:
            error_code = response.error_code
        self.in_touch = False
        if error_code == ErrorCode.UNKNOWN_MEMBER_ID:
            self.member.member_id = ""
        if error_code in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE):
            await trio.sleep(0.5)
        assert error_code in (
            *RETRIABLE,
            ErrorCode.NONE,
            ErrorCode.MEMBER_ID_REQUIRED,
            ErrorCode.UNKNOWN_MEMBER_ID,
        )

    async def sync(self, joined):
        assignments = {}
        if joined.members:
            wanted = {
                m.member_id: decode(ConsumerProtocolSubscription, m.metadata).topics
                for m in joined.members
            }
            assignments = self.divided(wanted)
        response = await self.member.sync(assignments)
        if response.error_code == ErrorCode.NONE and response.assignment:
            assignment = decode(ConsumerProtocolAssignment, response.assignment)
            self.partitions = {
                (topic.topic, index)
                for topic in assignment.assigned_partitions
                for index in topic.partitions
            }
            self.in_touch = True
            self.truth.check_owners()
            await self.progress()
        return response.error_code

    def divided(self, wanted):
        """Assign as the leader of a classic group does."""
        shares = {member_id: {} for member_id in wanted}
        for topic in ("orders", "payments"):
            subscribers = [m for m in wanted if topic in wanted[m]]
            for index in range(self.world.topics.partition_count(topic) if subscribers else 0):
                member_id = subscribers[index % len(subscribers)]
                shares[member_id].setdefault(topic, []).append(index)
        return {
            member_id: encode(
                ConsumerProtocolAssignment(
                    assigned_partitions=[
                        TopicPartition(topic=topic, partitions=indexes)
                        for topic, indexes in share.items()
                    ]
                ),
                1,
            )
            for member_id, share in shares.items()
        }

    async def progress(self):
        identity = {
            "member_id": self.member.member_id,
            "generation_id_or_member_epoch": self.member.generation_id,
        }
        await self.truth.progress(self, identity)

    async def leave(self):
        self.crash()
        if self.member.member_id:
            await self.member.leave()


def joined_as_leader(response):
    """The members that must see that topics have grown."""
    return response.leader == response.member_id


async def disturb(world, truth, rng, kinds, players):
    """One thing that happens."""
    match rng.choice(["come"] * 3 + ["leave", "crash", "pause", "change", "grow", "restart"]):
        case "come" if len(truth.members) < MEMBERS:
            player = rng.choice(kinds)(truth, rng)
            players.start_soon(player.run)
        case "grow" if world.topics.counts["orders"] < 40:
            world.set_partitions("orders", world.topics.counts["orders"] + 1)
        case "restart" if rng.random() < 0.3:
            world.coordinator.stop()
            await world.start()
        case kind if truth.members:
            player = rng.choice(sorted(truth.members, key=lambda p: p.serial))
            if kind == "leave":
                await player.leave()
            elif kind == "crash":
                player.crash()
            elif kind == "pause":
                player.paused_until = trio.current_time() + rng.uniform(1, 100)
            elif kind == "change":
                player.change_mind()
        case _:
            pass


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    "kinds",
    [(ClassicPlayer,), (ConsumerPlayer,), (ClassicPlayer, ConsumerPlayer)],
    ids=["classic", "consumer", "both"],
)
async def test_whatever_happens(autojump_clock, world, kinds, seed):
    rng = random.Random(seed)
    truth = Truth(world)
    async with trio.open_nursery() as players:
        for _ in range(20):
            players.start_soon(rng.choice(kinds)(truth, rng).run)
        for _ in range(120):
            await trio.sleep(rng.expovariate(1 / 2.0))
            await disturb(world, truth, rng, kinds, players)
        world.set_partitions("payments", 3)
        for member in truth.members:
            member.paused_until = 0.0
        await trio.sleep(200)
        converged(world, truth)
        players.cancel_scope.cancel()


def converged(world, truth):
    owners = truth.check_owners()
    group = world.group()
    assert group.state.value == "Stable"
    assert len(group.members) == len(truth.members)
    assert all(member.in_touch for member in truth.members)
    wanted = {topic for member in truth.members for topic in member.topics}
    assert set(owners) == {
        (topic, index) for topic in wanted for index in range(world.topics.counts[topic])
    }
    for partition, member in owners.items():
        assert partition[0] in member.topics
    assert len(truth.committed) > 6
