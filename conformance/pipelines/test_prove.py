"""The exactly-once proof with Spark's own connector; and that it fails when it must."""

import os
from pathlib import Path

import pytest

from conformance.spark.session import connector_jars
from kafkalite.spark.proof.proving import prove

# A proof starts Spark's JVM once for each driver that is killed, and once more.
LONG = bool(os.environ.get("ROWS"))


def jars() -> str:
    return ",".join(connector_jars())


def test_it_holds(tmp_path: Path) -> None:
    records, kills = (200_000, 8) if LONG else (4_000, 2)
    verdict = prove(
        tmp_path / "proof",
        seed=3,
        records=records,
        partitions=2,
        kills=kills,
        jars=jars(),
        seconds=60 if LONG else 3,
    )
    assert verdict.problems == []
    assert verdict.parquet_rows == verdict.acknowledged == records
    assert len(verdict.kills) == kills
    # It is through: it says its verdict again, and no other proof takes its place.
    assert prove(tmp_path / "proof", seed=3, records=records, partitions=2, kills=kills) == verdict


@pytest.mark.skipif(not LONG, reason="make pipelines ROWS=2000000: a minute for each bug")
@pytest.mark.parametrize(
    ("bug", "says"),
    [
        ("lost-batch", "the Kafka sink lacks, of partition"),
        (
            "repeated-batch",
            "sent for offset",
        ),  # and acknowledged behind the batch that is there twice
    ],
)
def test_it_fails_when_the_broker_has_a_bug(tmp_path: Path, bug: str, says: str) -> None:
    verdict = prove(
        tmp_path / "proof",
        seed=3,
        records=8_000,
        partitions=2,
        kills=2,
        jars=jars(),
        seconds=5,
        plant=bug,
    )
    assert not verdict.holds
    assert f"{bug} planted" in verdict.kills
    assert any(says in problem for problem in verdict.problems)
