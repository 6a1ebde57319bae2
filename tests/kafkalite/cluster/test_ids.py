"""Ids by chance, and by a seed that repeats them."""

from __future__ import annotations

from uuid import UUID

from kafkalite.cluster.ids import Ids, seeded_id


def drawn(ids: Ids) -> list[UUID | int]:
    return [ids.uuid("topic"), ids.uuid("member"), ids.uuid("topic"), ids.session()]


def test_a_seed_repeats_them() -> None:
    assert drawn(Ids(7)) == drawn(Ids(7))
    assert len({*drawn(Ids(7)), *drawn(Ids(8)), *drawn(Ids(7, start=1))}) == 12


def test_one_kind_does_not_move_another() -> None:
    one, other = Ids(7), Ids(7)
    one.uuid("member")
    assert one.uuid("topic") == other.uuid("topic")
    assert one.session() == other.session()


def test_without_a_seed_they_are_chance() -> None:
    assert len({*drawn(Ids()), *drawn(Ids())}) == 8


def test_they_are_what_kafka_takes() -> None:
    for ids in (Ids(), Ids(7)):
        assert {ids.uuid("topic").version for _ in range(50)} == {4}
        assert all(0 < ids.session() < 2**31 for _ in range(50))


def test_a_cluster_id_is_of_the_seed() -> None:
    assert seeded_id(None) is None
    assert seeded_id(7) == seeded_id(7) != seeded_id(8)
    assert len(seeded_id(7) or "") == 22
    directories = {seeded_id(7, f"directory {number}") for number in range(2)}
    assert len(directories | {seeded_id(7)}) == 3
