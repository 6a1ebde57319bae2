"""The proof of queues, short: `make queue-proof` is the same for 20 minutes."""

import random
from pathlib import Path

import pytest

from conformance.queue_proof.__main__ import prove
from conformance.queue_proof.judge import Judge

SECONDS = 15
CLUSTER_SECONDS = 12
FORGETFUL = ("-m", "conformance.queue_proof.forgetful")


def test_accepted_records_never_come_again(pytestconfig: pytest.Config, tmp_path: Path) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    assert prove(pytestconfig.getoption("--broker"), SECONDS, seed, tmp_path) is None


@pytest.mark.xdist_group("cluster")
@pytest.mark.long
@pytest.mark.parametrize("kind", ["cluster", "mixed"])
def test_accepted_records_never_come_again_from_three_brokers(
    pytestconfig: pytest.Config, tmp_path: Path, kind: str
) -> None:
    if pytestconfig.getoption("--broker") != "kafkalite":
        pytest.skip("its brokers are of the kinds that it names, whatever --broker says")
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    assert prove(kind, CLUSTER_SECONDS, seed, tmp_path, node_count=3) is None


def test_a_broker_that_forgets_is_found_out(pytestconfig: pytest.Config, tmp_path: Path) -> None:
    if pytestconfig.getoption("--broker") != "kafkalite":
        pytest.skip("the fault is planted into kafkalite")
    wrong = prove("kafkalite", SECONDS, 1, tmp_path, program=FORGETFUL)
    assert wrong is not None
    assert "acknowledged for good" in wrong


def judge_of(tmp_path: Path) -> Judge:
    return Judge(tmp_path, lock_seconds=10e-9)


@pytest.mark.parametrize(
    ("lines", "verdict"),
    [
        ("delivered 1 0 7 7\ndone 2 0 7 7\n", None),
        # The second worker may have had it before: it came at any time after 1.
        ("delivered 0 0 7 7\ndone 2 0 7 7\ndelivered 1 0 7 7\n", None),
        ("delivered 0 0 7 7\ndone 2 0 7 7\ndelivered 3 0 7 7\n", "delivered again"),
        ("delivered 3 0 7 7\ndone 2 0 7 7\n", "delivered again"),
        ("delivered 0 0 7 7\ndone 2 0 7 7\ndelivered 1 0 7 7\ndone 3 0 7 7\n", "twice"),
        ("done 2 0 7 7\n", "never delivered"),
        ("delivered 1 0 7 8\n", "8 was delivered"),
        ("delivered 0 0 7 7\ndone 2 0 7 7\ndelivered 3 0 7", None),  # half a line
        ("delivered 0 0 7 7\ndone 2 0 7 7\ndelivered 3 1 7 7\n", None),
        ("delivered 0 0 8 8\ndelivered 0 0 7 7\n", "after, 8"),
        ("delivered 0 0 7 7\ndelivered 0 0 7 7\n", "after, 7"),
        ("delivered 0 0 8 8\ndelivered 0 1 7 7\n", None),
        ("delivered 0 0 8 8\nleft 1 0 8 8\ndelivered 2 0 7 7\n", None),
    ],
)
def test_the_judge(tmp_path: Path, lines: str, verdict: str | None) -> None:
    judge = judge_of(tmp_path)
    journal = tmp_path / "1.journal"
    # It grows between two looks.
    journal.write_text(lines[:20])
    judge.read()
    journal.write_text(lines)
    judge.read()
    assert (judge.verdict is None) == (verdict is None)
    assert verdict is None or (judge.verdict is not None and verdict in judge.verdict)


@pytest.mark.parametrize(
    ("second", "kills", "is_wrong"),
    [
        ((0, 9), [], True),
        ((0, 10), [], False),  # its lock may have run out, and what is behind is not looked at
        ((0, 9), [(5, 6)], False),  # its session may have ended
        ((0, 9), [(10, 12)], True),
        ((4, 9), [(2, 3)], True),
        ((4, 9), [(2, 5)], False),
    ],
)
def test_confirmed_twice(
    tmp_path: Path, second: tuple[int, int], kills: list[tuple[int, int]], is_wrong: bool
) -> None:
    delivered, confirmed = second
    (tmp_path / "a.journal").write_text("delivered 7 0 7 7\ndone 8 0 7 7\n")
    lines = f"delivered {delivered} 0 7 7\ndone {confirmed} 0 7 7\n"
    (tmp_path / "b.journal").write_text(lines)
    judge = judge_of(tmp_path)
    judge.kills = kills
    judge.read()
    assert (judge.verdict is not None) == is_wrong
    assert judge.late == 1
    assert judge.done == {0: 1}


def test_the_first_of_two_confirmations_counts(tmp_path: Path) -> None:
    (tmp_path / "a.journal").write_text("delivered 0 0 7 7\ndone 30 0 7 7\n")
    (tmp_path / "b.journal").write_text("delivered 0 0 7 7\ndone 20 0 7 7\n")
    judge = judge_of(tmp_path)
    judge.read()
    assert judge.verdict is None
    (tmp_path / "c.journal").write_text("delivered 25 0 7 7\n")
    judge.read()
    assert judge.verdict is not None
    assert "delivered again" in judge.verdict


def test_the_judge_reads_all_journals(tmp_path: Path) -> None:
    (tmp_path / "a.journal").write_text("delivered 1 0 7 7\ndelivered 1 1 7 7\ndone 2 0 7 7\n")
    (tmp_path / "b.journal").write_text("delivered 1 1 7 7\ndone 2 1 7 7\n")
    judge = judge_of(tmp_path)
    judge.read()
    assert judge.verdict is None
    assert judge.done == {0: 1, 1: 1}
    assert judge.reached == {0: 8, 1: 8}
    assert (judge.deliveries, judge.again) == (3, 1)


@pytest.mark.parametrize(
    ("lines", "unclear"),
    [
        (["delivered 1"], 1),  # the worker may have been killed
        (["delivered 1", "lost 2"], 1),
        (["delivered 1", "lost 2", "delivered 3", "left 4"], 1),
        (["delivered 1", "lost 2", "delivered 3", "done 4"], 0),
        (["delivered 1", "done 2"], 0),
        # It must come again, to whomever.
        (["delivered 1", "left 2"], 0),
    ],
)
def test_what_may_be_done(tmp_path: Path, lines: list[str], unclear: int) -> None:
    text = "".join(f"{line} 0 7 7\n" for line in lines)
    (tmp_path / "a.journal").write_text(text)
    judge = judge_of(tmp_path)
    judge.read()
    assert judge.verdict is None
    assert sum(judge.unclear.values()) == unclear
