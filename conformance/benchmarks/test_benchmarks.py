"""The benchmarks' machinery works; how fast anything is, no test says."""

import json
import math
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import combinations_with_replacement, islice
from pathlib import Path
from typing import cast

import pytest

from conformance.benchmarks.__main__ import chosen, main
from conformance.benchmarks.endless_load import Loaded
from conformance.benchmarks.growth import TIMES, steepest_rise
from conformance.benchmarks.open_page import VIEWS, Replay
from conformance.benchmarks.queues import Taking
from conformance.benchmarks.report import DOCUMENT, RESULTS, bar_text, written
from conformance.benchmarks.results import Results, is_met, ratios
from conformance.benchmarks.sampling import Side
from conformance.benchmarks.shape_frames import (
    FRAMES,
    MOST_BYTES,
    MOST_FRAMES,
    UNANSWERED,
    frames_of_each,
    most_frame_bytes,
)
from conformance.benchmarks.shaped import Shaped
from conformance.benchmarks.shapes import SHAPES, VERSIONS, Shape, drawn
from conformance.benchmarks.table import (
    MEASURES,
    Figure,
    always_at_most,
    at_least,
    at_most,
    no_more_than,
)
from conformance.benchmarks.window import (
    FIRST_LOOK,
    NONE_OPEN,
    OVERVIEW_OPEN,
    Verdict,
    by_turns,
    interval,
    judged,
)
from conformance.harness.kafkalite import Kafkalite
from kafkalite.testing import broker


@pytest.fixture(scope="module")
def side(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Side]:
    side = Side("kafkalite", Kafkalite, tmp_path_factory.mktemp("side"), quick=True)
    yield side
    side.close()


def test_one_measure_from_the_command_to_the_document(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept, document = tmp_path / "results.json", tmp_path / "benchmarks.md"
    flags = ["--quick", "--alone", "--only", "tiny-produce-8x16"]
    assert main([*flags, "--json", str(kept), "--document", str(document)]) == 0
    samples = json.loads(kept.read_text())["measures"]["tiny-produce-8x16"]["samples"]
    (rate,) = samples["requests/s"]["kafkalite"]
    assert rate > 0
    assert f"kafkalite {rate:,.0f}" in capsys.readouterr().out
    assert "| tiny Produce, 8 connections, 16 in flight | requests/s |" in document.read_text()


def test_the_document_shows_what_the_results_say() -> None:
    shown = DOCUMENT.read_text()
    assert shown == written(shown, Results(RESULTS)), "python -m conformance.benchmarks --report"


def test_a_bar_is_on_the_median_of_the_ratios_or_on_our_own_figure() -> None:
    by_broker = {"kafkalite": [1.0, 6.0, 4.0], "kafka": [2.0, 2.0, 2.0]}
    assert ratios(by_broker) == [0.5, 3.0, 2.0]
    assert is_met(Figure("x", at_least(2.0)), by_broker)
    assert not is_met(Figure("x", at_most(1.9)), by_broker)
    assert is_met(Figure("x", no_more_than(4.0)), by_broker)
    assert is_met(Figure("x"), by_broker) is None
    assert is_met(Figure("x", at_least(1.0)), {"kafkalite": [1.0]}) is None


def test_a_bar_may_be_on_the_ratio_of_each_round() -> None:
    by_broker = {"kafkalite": [1.0, 2.0, 3.0], "kafka": [10.0, 10.0, 10.0]}
    assert is_met(Figure("x", at_most(0.2)), by_broker)
    assert not is_met(Figure("x", always_at_most(0.2)), by_broker)
    assert is_met(Figure("x", always_at_most(0.3)), by_broker)
    assert bar_text(always_at_most(0.3)) == "<= 0.3x in each round"


def test_results_are_merged_by_measure(tmp_path: Path) -> None:
    first, second = MEASURES[0], MEASURES[1]
    for measure in (first, second, first):
        results = Results(tmp_path / "results.json")
        results.keep(measure, {figure.name: {"kafkalite": [1.0]} for figure in measure.figures}, "")
    again = Results(tmp_path / "results.json")
    assert again.samples(first)
    assert again.samples(second)
    assert again.samples(MEASURES[2]) is None


def test_measures_are_chosen_by_name_or_by_its_beginning() -> None:
    assert [each.name for each in chosen("latency")] == ["latency"]
    assert [each.name for each in chosen("fetch")] == ["fetch-1", "fetch-8"]
    assert [each.name for each in chosen(None)] == [each.name for each in MEASURES]
    with pytest.raises(SystemExit, match="no measure 'speed'"):
        chosen("speed")


def test_every_measure_has_a_name_of_its_own() -> None:
    assert len({measure.name for measure in MEASURES}) == len(MEASURES)


def test_every_row_is_repeated() -> None:
    assert TIMES >= 3
    assert [each.name for each in MEASURES if each.rounds < 3 and each.plot is None] == []


def test_growth_is_judged_at_every_step() -> None:
    assert steepest_rise([4.0, 2.0, 1.0]) == 0.5
    assert steepest_rise([2.0, 8.0, 1.0]) == 4.0
    assert steepest_rise([4.0, 1.0, 2.0, 3.0, 2.0]) == 3.0


def test_a_seed_draws_the_same_shape_again_and_other_seeds_others() -> None:
    shapes = [drawn(seed) for seed in range(200)]
    assert shapes == [drawn(seed) for seed in range(200)]
    assert {shape.api for shape in shapes} == set(VERSIONS)
    assert len(set(shapes)) > 150
    for shape in shapes:
        first, last = VERSIONS[shape.api]
        assert first <= shape.version <= last


def test_the_frames_of_no_shape_are_more_than_the_load_takes(side: Side) -> None:
    """A connection sends so many at a time of those without an answer."""
    for shape in map(drawn, range(3000)):
        if shape.api == "produce":
            each = frames_of_each(shape, MOST_FRAMES)
            assert each >= UNANSWERED
            assert each * shape.connections * most_frame_bytes(shape) <= MOST_BYTES
    shape = Shape("produce", 13, 4, 3, producer="idempotent", records=2)
    sampler = Shaped(side, shape=shape)
    made = FRAMES["produce"](shape, sampler.topics)
    assert max(map(len, made.frames)) <= most_frame_bytes(shape)
    sampler.close()


# `make test` asks the largest of each API, `make long` all of them.
LARGEST = {
    each.api: each for each in sorted(SHAPES, key=lambda each: each.topics * each.partitions)
}


@pytest.mark.parametrize(
    "shape",
    [
        pytest.param(each, id=each.name, marks=() if each in LARGEST.values() else pytest.mark.long)
        for each in SHAPES
    ],
)
def test_every_shape_of_the_table_is_answered_without_an_error(shape: Shape, side: Side) -> None:
    sampler = Shaped(side, shape=shape)
    assert sampler.sample()["requests/s"] > 0
    sampler.close()


@pytest.mark.parametrize("seed", range(8))
def test_drawn_shapes_are_answered_without_an_error(seed: int, side: Side) -> None:
    sampler = Shaped(side, shape=drawn(seed))
    assert sampler.sample()["requests/s"] > 0
    sampler.close()


def test_members_of_a_share_group_take_all_records(side: Side) -> None:
    sampler = Taking(side, members=2)
    assert min(sampler.sample().values()) > 0
    sampler.close()


def test_an_open_page_is_replayed() -> None:
    """Each question of both views gets an answer."""
    with broker(ui=True, profile="test") as running:
        assert running.ui_url is not None
        url, token = running.ui_url.split("/#token=")
        for asked in VIEWS.values():
            replay = Replay({"url": url, "token": token}, asked)
            deadline = time.monotonic() + 60
            with replay:
                while set(replay.took) < set(asked):
                    assert time.monotonic() < deadline
                    time.sleep(0.01)


def test_the_centre_lies_between_averages_of_pairs() -> None:
    """Tables of the signed-rank test at 99 % have its exact counts, which are a little higher."""
    assert interval([0.1] * 19) == (-math.inf, math.inf)
    for count, exact in ((20, 37), (30, 109), (40, 220), (50, 373)):
        values = [float(each**3) for each in range(count)]
        averages = sorted((a + b) / 2 for a, b in combinations_with_replacement(values, 2))
        low, high = interval(values[::-1])
        assert averages[exact - 4] < low <= averages[exact], count
        assert averages[-1 - exact] <= high < averages[3 - exact], count


@pytest.mark.parametrize(
    ("shares", "of_none", "of_page"),
    [
        ([-0.01, 0.01] * 10, Verdict.HOLDS, Verdict.HOLDS),
        ([0.01, 0.02] * 10, Verdict.FAILS, Verdict.HOLDS),
        ([0.04, 0.05] * 10, Verdict.FAILS, Verdict.FAILS),
        ([-0.04, 0.09] * 10, Verdict.UNDECIDED, Verdict.UNDECIDED),
        ([0.02] * 19, Verdict.UNDECIDED, Verdict.UNDECIDED),
    ],
)
def test_a_loss_is_decided_by_its_interval(
    shares: list[float], of_none: Verdict, of_page: Verdict
) -> None:
    assert (NONE_OPEN.verdict(shares), OVERVIEW_OPEN.verdict(shares)) == (of_none, of_page)


def test_a_page_is_compared_with_the_slices_around_it() -> None:
    """The load gets slower all the time, and loses a tenth to the page."""
    is_open = False

    @contextmanager
    def opened() -> Generator[None]:
        nonlocal is_open
        is_open = True
        yield
        is_open = False

    class Slowing:
        speed = 1000.0

        def slice(self, _: float) -> float:
            self.speed -= 10
            return self.speed * (0.9 if is_open else 1)

    shares = by_turns(cast("Loaded", Slowing()), opened, 1)
    assert list(islice(shares, 20)) == pytest.approx([0.1] * 20)


def test_a_loss_is_not_decided_before_the_first_look() -> None:
    taken = 0

    def shares() -> Iterator[float]:
        nonlocal taken
        while True:
            taken += 1
            yield 0.0

    assert judged(OVERVIEW_OPEN, shares(), 400, FIRST_LOOK) is Verdict.HOLDS
    assert taken == FIRST_LOOK
    taken = 0
    assert judged(OVERVIEW_OPEN, shares(), 19, FIRST_LOOK) is Verdict.UNDECIDED
    assert taken == 19
