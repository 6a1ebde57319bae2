"""A client's quota, the clients measured with it, and the time that it waits."""

import tracemalloc
from math import nan

import pytest

from kafkalite.security.quotas import (
    CONNECTION_CREATION_RATE,
    PRODUCER_BYTE_RATE,
    AddressLimits,
    Entity,
    Limits,
)
from kafkalite.security.rates import Window
from tests.kafkalite.security.in_force import OneQuota, OneRate

WINDOW = Window()
ALICE: Entity = (("user", "alice"),)
LEVELS: list[Entity] = [
    (("client-id", "app"), ("user", "alice")),
    (("client-id", None), ("user", "alice")),
    ALICE,
    (("client-id", "app"), ("user", None)),
    (("client-id", None), ("user", None)),
    (("user", None),),
    (("client-id", "app"),),
    (("client-id", None),),
]


def quota(entities: dict[Entity, float]) -> OneQuota:
    made = OneQuota(PRODUCER_BYTE_RATE, WINDOW)
    made.replace({entity: {PRODUCER_BYTE_RATE: limit} for entity, limit in entities.items()})
    return made


@pytest.mark.parametrize("level", range(8))
def test_the_most_specific_quota_counts(level: int) -> None:
    made = quota({entity: 10.0 + number for number, entity in enumerate(LEVELS) if number >= level})
    assert made.most_in_window("alice", "app") == 10 * (10 + level)


def test_without_a_quota_nothing_is_measured() -> None:
    made = quota({})
    assert not made.is_active
    assert made.most_in_window("alice", "app") == 2**31 - 1
    assert made.record("alice", "app", 1e12, 0) == 0
    made.replace({ALICE: {PRODUCER_BYTE_RATE: 1.0}})
    assert made.record("alice", "app", 0, 0) == 0


def test_quotas_of_other_kinds_do_not_count() -> None:
    made = OneQuota(PRODUCER_BYTE_RATE, WINDOW)
    made.replace({ALICE: {"consumer_byte_rate": 1.0}})
    assert not made.is_active


def test_clients_of_one_user_share_its_quota() -> None:
    made = quota({ALICE: 100.0})
    assert made.record("alice", "one", 1000, 0) == 0
    assert made.record("alice", "two", 500, 0) == 5_000
    assert made.record("bob", "one", 10**9, 0) == 0


def test_clients_by_the_default_client_id_have_one_each() -> None:
    made = quota({(("client-id", None),): 100.0})
    assert made.record("alice", "one", 1500, 0) == 5_000
    assert made.record("alice", "two", 1000, 0) == 0


def test_a_new_limit_counts_at_once_for_what_was_measured() -> None:
    made = quota({ALICE: 100.0})
    made.record("alice", "a", 1500, 0)
    made.replace({ALICE: {PRODUCER_BYTE_RATE: 150.0}})
    assert made.record("alice", "a", 0, 0) == 0
    made.replace({})
    assert made.record("alice", "a", 10**9, 0) == 0


def test_what_was_not_used_is_given_back() -> None:
    made = quota({ALICE: 100.0})
    made.record("alice", "a", 1500, 0)
    made.unrecord("alice", "a", 1500, 0)
    assert made.record("alice", "a", 1000, 0) == 0


@pytest.mark.parametrize(
    ("limit", "most"), [(100.0, 1000), (0.19, 1), (2.0**60, 2**31 - 1), (nan, 0)]
)
def test_the_most_in_a_window(limit: float, most: int) -> None:
    made = quota({ALICE: limit})
    assert made.most_in_window("alice", "a") == most
    assert made.most_in_window("bob", "a") == 2**31 - 1


@pytest.mark.parametrize(
    ("entities", "waits"),
    [
        ([(("client-id", None),)], 0),
        ([(("client-id", None), ("user", "alice"))], 0),
        ([(("client-id", None), ("user", None))], 0),
        ([(("client-id", None), ("user", "alice")), (("client-id", None),)], 0),
        ([(("client-id", None), ("user", "alice")), (("user", None),)], 5_000),
        ([ALICE], 5_000),
    ],
    ids=["client", "user", "users", "both", "a user's", "user alone"],
)
def test_an_empty_client_id_is_none(entities: list[Entity], waits: int) -> None:
    """Its client is held by quotas of users alone."""
    made = quota(dict.fromkeys(entities, 100.0))
    assert made.record("alice", "", 1500, 0) == waits


@pytest.mark.parametrize(
    ("others", "new"),
    [
        ([(("client-id", "other"),)], (("client-id", "app"),)),
        ([(("user", "bob"),)], (("user", None),)),
        ([(("user", "bob"),), (("client-id", "other"),)], (("client-id", "app"),)),
        ([(("client-id", "x"), ("user", "bob"))], (("client-id", "app"), ("user", "alice"))),
    ],
    ids=["client ids", "users", "several kinds", "both"],
)
def test_what_was_used_before_a_quota_was_set_counts(others: list[Entity], new: Entity) -> None:
    """If others had one of its kind."""
    made = quota(dict.fromkeys(others, 100.0))
    assert made.record("alice", "app", 1500, 0) == 0
    made.replace({each: {PRODUCER_BYTE_RATE: 100.0} for each in (*others, new)})
    assert made.record("alice", "app", 0, 0) == 5_000


def test_tokens_are_per_client_and_come_back() -> None:
    made = quota({ALICE: 2.0})
    now = 10**9
    assert made.tokens_short_ms("alice", "a", now) is None
    made.take_tokens("alice", "a", 24, now)
    assert made.tokens_short_ms("alice", "b", now) == 1_000
    assert made.tokens_short_ms("alice", "b", now + 1_000) is None
    assert made.tokens_short_ms("bob", "b", now) is None


def test_the_bucket_of_who_had_no_quota_is_full() -> None:
    made = quota({ALICE: 1.0})
    made.take_tokens("alice", "a", 100, 0)
    made.replace({(("user", "bob"),): {PRODUCER_BYTE_RATE: 1.0}})
    made.take_tokens("alice", "a", 100, 1)
    made.replace({ALICE: {PRODUCER_BYTE_RATE: 1.0}})
    assert made.tokens_short_ms("alice", "a", 2) is None


def test_connections_by_address() -> None:
    rates = OneRate(WINDOW)
    rates.replace(
        {
            (("ip", "10.0.0.1"),): {CONNECTION_CREATION_RATE: 1.0},
            (("ip", None),): {CONNECTION_CREATION_RATE: 1000.0},
        }
    )
    waits = [rates.throttle_ms("10.0.0.1", 0) for _ in range(12)]
    assert waits[:10] == [0] * 10
    assert waits[10:] == [1_000, 1_000]  # 11 in ten seconds: one too many each time
    assert rates.throttle_ms("10.0.0.2", 0) == 0


@pytest.mark.parametrize("limit", [1e-7, nan])
def test_a_rate_below_one_lets_nobody_connect(limit: float) -> None:
    rates = OneRate(WINDOW)
    rates.replace({(("ip", None),): {CONNECTION_CREATION_RATE: limit}})
    assert rates.throttle_ms("10.0.0.1", 0) == 1_000


def test_connections_count_on_without_a_rate_in_between() -> None:
    """Connections that are made meanwhile do not."""
    rates = OneRate(WINDOW)
    quotas: dict[Entity, dict[str, float]] = {
        (("ip", "10.0.0.1"),): {CONNECTION_CREATION_RATE: 2.0}
    }
    rates.replace(quotas)
    assert [rates.throttle_ms("10.0.0.1", 0) for _ in range(12)] == [0] * 12
    rates.replace({})
    assert [rates.throttle_ms("10.0.0.1", 0) for _ in range(100)] == [0] * 100
    rates.replace({(("ip", None),): {CONNECTION_CREATION_RATE: 1.0}})
    assert rates.throttle_ms("10.0.0.1", 0) == 1_000
    rates.replace(quotas)
    assert [rates.throttle_ms("10.0.0.1", 0) > 0 for _ in range(9)] == [False] * 8 + [True]


def test_without_a_rate_anybody_may_connect() -> None:
    rates = OneRate(WINDOW)
    assert all(rates.throttle_ms("h", 0) == 0 for _ in range(1000))


def test_client_ids_that_clients_make_up_leave_little_behind() -> None:
    made = quota({(("client-id", None),): 100.0})
    tracemalloc.start()
    try:
        for number in range(1_000):
            made.record("alice", f"{number:x<30000}", 1, 0)
        assert tracemalloc.get_traced_memory()[0] < 5_000_000
    finally:
        tracemalloc.stop()
    long_id = "y" * 30_000
    assert made.record("alice", long_id, 1500, 0) == 5_000
    assert made.record("alice", long_id + "z", 900, 0) == 0


def test_a_crowd_of_clients_does_not_set_free_one_that_goes_on() -> None:
    made = quota({(("client-id", None),): 100.0})
    assert made.record("alice", "heavy", 1500, 0) == 5_000
    for number in range(30_000):
        made.record("mallory", f"client-{number}", 1, 0)
        if number % 1_000 == 0:
            made.record("alice", "heavy", 0, 0)
    assert made.record("alice", "heavy", 0, 0) == 5_000


def test_a_crowd_of_addresses_does_not_set_free_one_that_goes_on() -> None:
    rates = OneRate(WINDOW)
    rates.replace({(("ip", None),): {CONNECTION_CREATION_RATE: 1.0}})
    for _ in range(10):
        assert rates.throttle_ms("10.0.0.1", 0) == 0
    for number in range(30_000):
        rates.throttle_ms(f"fd00:0:0:0:0:0:0:{number:x}", 0)
        if number % 1_000 == 0:
            assert rates.throttle_ms("10.0.0.1", 0) > 0


def test_an_address_of_ipv6_may_be_written_short() -> None:
    rates = OneRate(WINDOW)
    rates.replace({(("ip", "::1"),): {CONNECTION_CREATION_RATE: 1.0}})
    assert [rates.throttle_ms("0:0:0:0:0:0:0:1", 0) > 0 for _ in range(11)] == [False] * 10 + [True]


def test_a_change_of_one_entity_leaves_the_others() -> None:
    limits = Limits(PRODUCER_BYTE_RATE)
    for number in range(5):
        limits.put((("user", f"u{number}"),), {PRODUCER_BYTE_RATE: number, "other": 1.0})
    limits.put((("client-id", None),), {PRODUCER_BYTE_RATE: 9.0})
    before = limits.revision
    limits.put((("user", "u3"),), {"other": 1.0})
    limits.put((("user", "u9"),), {})
    assert limits.revision == before + 1
    assert list(limits.by_entity.values()) == [0, 1, 2, 4, 9.0]
    assert limits.kinds == {("user",): 4, ("client-id",): 1}
    limits.put((("client-id", None),), {})
    assert set(limits.kinds) == {("user",)}


def test_an_address_with_several_names_has_the_last_limit() -> None:
    limits = AddressLimits()
    addresses = {"one": "10.0.0.1", "two": "10.0.0.1"}
    for name, limit in (("one", 1.0), ("two", 2.0), ("one", 3.0)):
        limits.put((("ip", name),), {CONNECTION_CREATION_RATE: limit}, addresses)
    assert limits.of("10.0.0.1") == 3
    limits.put((("ip", "one"),), {}, addresses)
    assert limits.of("10.0.0.1") == 2
    limits.put((("ip", "two"),), {}, addresses)
    limits.put((("ip", None),), {CONNECTION_CREATION_RATE: 7.0})
    assert limits.of("10.0.0.1") == 7
    limits.put((("ip", None),), {})
    assert limits.of("10.0.0.1") == float("inf")
