"""The bounded form of `make crash`."""

import random

from conformance.conftest import NewBroker
from conformance.crash import PROPERTIES, crash

KILLS = 6


def test_killed_at_random_while_clients_work(new_broker: NewBroker) -> None:
    seed = random.randrange(1 << 32)
    wrong = crash(new_broker(PROPERTIES), KILLS, random.Random(seed))
    assert wrong is None, f"seed {seed}: {wrong}"
