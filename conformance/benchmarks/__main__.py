"""kafkalite beside Apache Kafka 4.3.1, started in the same run and measured in turns: `make bench`.

Prints ratios kafkalite : Apache Kafka (minimum, median, maximum over the rounds), and keeps what
was measured in a JSON file and in docs/benchmarks.md. Ratios count; absolute figures are this
machine's.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path

from conformance.benchmarks.report import (
    DOCUMENT,
    RESULTS,
    bar_text,
    number,
    ratio_text,
    verdict,
    write,
)
from conformance.benchmarks.results import OURS, THEIRS, Results, Samples, spread
from conformance.benchmarks.sampling import NewBroker, NotHere, Sampler, Side, still
from conformance.benchmarks.table import BY_NAME, DRAWN, MEASURES, Measure, drawn_measure
from conformance.harness.kafkalite import Kafkalite


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m conformance.benchmarks", description=__doc__)
    parser.add_argument("--only", metavar="NAME,...", help="these measures (a prefix will do)")
    parser.add_argument(
        "--shape", type=int, metavar="SEED", help="the shape of requests that this seed draws"
    )
    parser.add_argument("--rounds", type=int, help="instead of each measure's own number")
    parser.add_argument("--quick", action="store_true", help="small and once: does it run?")
    parser.add_argument("--alone", action="store_true", help="kafkalite without Apache Kafka")
    parser.add_argument("--kfake", action="store_true", help="and franz-go's kfake, if Go is there")
    parser.add_argument("--list", action="store_true", help="name the measures, and end")
    parser.add_argument("--json", type=Path, default=RESULTS, help="where results are kept")
    parser.add_argument("--document", type=Path, default=DOCUMENT, help="where they are shown")
    parser.add_argument("--report", action="store_true", help="write the document, measure nothing")
    return parser.parse_args(arguments)


def chosen(only: str | None, seed: int | None = None) -> list[Measure]:
    """The measures whose name is, or begins with, one of those asked for.

    With a seed alone it is the shape that the seed draws. Without one, the day draws it.
    """
    if seed is not None and only is None:
        return [drawn_measure(seed)]
    measures = _named(only)
    today = int(time.strftime("%Y%m%d"))
    of_today = drawn_measure(today if seed is None else seed)
    return [of_today if each.name == DRAWN else each for each in measures]


def _named(only: str | None) -> list[Measure]:
    if only is None:
        return list(MEASURES)
    names = only.split(",")
    for name in names:
        if not any(known.startswith(name) for known in BY_NAME):
            raise SystemExit(f"no measure {name!r}; there are {', '.join(BY_NAME)}")
    begun = tuple(name for name in names if name not in BY_NAME)
    return [each for each in MEASURES if each.name in names or each.name.startswith(begun)]


def kinds(flags: argparse.Namespace) -> dict[str, NewBroker]:
    found: dict[str, NewBroker] = {OURS: Kafkalite}
    if not flags.alone:
        from conformance.harness.apache_kafka import ServerKafka

        found[THEIRS] = ServerKafka
    if flags.kfake:
        from conformance.benchmarks.kfake import Kfake

        found["kfake"] = Kfake
    return found


def taken(measure: Measure, sides: list[Side], rounds: int) -> Samples:
    """The samples of a measure, brokers in turns. A broker that cannot do it has none, and it is
    said."""
    module, _, name = measure.sampler.partition(":")
    new: Callable[..., Sampler] = getattr(
        importlib.import_module(f"conformance.benchmarks.{module}"), name
    )
    samples: Samples = {figure.name: {} for figure in measure.figures}
    with ExitStack() as stack:
        samplers: dict[str, Sampler] = {}
        for side in sides:
            with said(measure.name, side.kind):
                samplers[side.kind] = new(side, **measure.arguments)
                stack.callback(samplers[side.kind].close)
        for _ in range(rounds):
            for kind, sampler in list(samplers.items()):
                others = [side for side in sides if side.kind != kind and measure.is_still]
                with said(measure.name, kind), still(others) if others else nullcontext():
                    sampled = sampler.sample()
                    for figure in measure.figures:
                        if figure.name in sampled:
                            by_broker = samples[figure.name]
                            by_broker.setdefault(kind, []).append(sampled[figure.name])
    return samples


@contextmanager
def said(what: str, kind: str) -> Iterator[None]:
    """A failure inside ends this broker's part with one line, and with kafkalite the whole
    measure."""
    try:
        yield
    except Exception as error:
        if kind == OURS and not isinstance(error, NotHere):
            raise
        words = "".join(traceback.format_exception_only(error)).strip()
        print(f"{what}, {kind}: {words[:300]}")


def show(measure: Measure, samples: Samples) -> None:
    print(f"{measure.title}  [{measure.name}]")
    for figure in measure.figures:
        by_broker = samples[figure.name]
        values = []
        for broker, found in by_broker.items():
            middle = spread(found)
            values.append(f"{broker} {number(middle.median, figure.digits) if middle else '-'}")
        ratio = ratio_text(by_broker).replace("*", "") or "-"
        kept = verdict(figure, by_broker).replace("*", "")
        line = f"    {figure.name:28} {'  '.join(values):46} {ratio:22}"
        print(f"{line} {bar_text(figure.bar):9} {kept}".rstrip(), flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    flags = parse_arguments(arguments)
    if flags.list:
        print("\n".join(f"{measure.name:20} {measure.title}" for measure in MEASURES))
        return 0
    # The modules are compiled once, as pip does, not at every start.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    results = Results(flags.json)
    failed: list[str] = []
    if not flags.report:
        print(f"{'':33}{'medians':47}{'ratio: min/median/max':23}bar")
        with tempfile.TemporaryDirectory(prefix="benchmarks-") as directory, ExitStack() as stack:
            sides = [
                Side(kind, new, Path(directory) / kind, quick=flags.quick)
                for kind, new in kinds(flags).items()
            ]
            for side in sides:
                stack.callback(side.close)
            for measure in chosen(flags.only, flags.shape):
                rounds = flags.rounds or (1 if flags.quick else measure.rounds)
                began = time.monotonic()
                try:
                    samples = taken(measure, sides, rounds)
                except Exception:  # noqa: BLE001 - shown and named at the end
                    # The others are measured all the same, and the document is written.
                    failed.append(measure.name)
                    traceback.print_exc()
                    continue
                show(measure, samples)
                print(f"    in {time.monotonic() - began:.0f} s", flush=True)
                if not flags.quick or flags.json != RESULTS:
                    results.keep(measure, samples, time.strftime("%Y-%m-%d"))
    if not flags.quick or flags.document != DOCUMENT:
        write(results, flags.document)
    if failed:
        print(f"not measured: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
