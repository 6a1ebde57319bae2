"""A quorum with a leader, and a channel to it whose answers are given in turn."""

from __future__ import annotations

import trio
import trio.testing

from kafkalite.peers.link import Address, connect_tcp
from kafkalite.quorum.channel import ControllerChannel

A, B = Address("a", 1), Address("b", 2)


class Quorum:
    def __init__(self, leader: Address | None) -> None:
        self.leader_address = leader


class Answers:
    """In the place of a channel's link: what is answered, in turn."""

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[Address, object]] = []

    async def ask(self, address: Address, body: object, *, timeout_seconds: float) -> object:
        self.asked.append((address, body))
        await trio.sleep(0.01)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def channel(quorum: Quorum, *answers: object) -> tuple[ControllerChannel, Answers]:
    made, link = ControllerChannel("test", quorum, connect_tcp), Answers(*answers)
    made._link = link
    return made, link
