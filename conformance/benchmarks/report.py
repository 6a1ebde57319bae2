"""docs/benchmarks.md: its generated parts are written anew, what people wrote around them stays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from conformance.benchmarks.results import OURS, THEIRS, Results, is_met, ratios, spread
from conformance.benchmarks.table import MEASURES, Bar, Figure, Measure, Plot

ROOT = Path(__file__).parent.parent.parent
DOCUMENT = ROOT / "docs" / "benchmarks.md"
RESULTS = ROOT / "docs" / "benchmarks.json"
# Measured on the same machine when hot APIs had short ways of their own.
BEFORE = ROOT / "docs" / "benchmarks-before.json"
# Measured without the compiled build.
PURE = ROOT / "docs" / "benchmarks-pure.json"


def number(value: float, digits: int) -> str:
    return f"{value:,.{digits}f}"


def bar_text(bar: Bar | None) -> str:
    if bar is None:
        return ""
    limit = f"{bar.limit:g}"
    always = " in each round" if bar.in_each_round else ""
    return f"{bar.best.value} {limit if bar.is_absolute else limit + 'x'}{always}"


def verdict(figure: Figure, by_broker: dict[str, list[float]]) -> str:
    met = is_met(figure, by_broker)
    return "" if met is None else "met" if met else "**not met**"


def values_text(figure: Figure, by_broker: dict[str, list[float]], broker: str) -> str:
    found = spread(by_broker.get(broker, []))
    return "" if found is None else number(found.median, figure.digits)


def ratio_text(by_broker: dict[str, list[float]]) -> str:
    found = spread(ratios(by_broker))
    if found is None:
        return ""
    return f"{found.lowest:.2f} / **{found.median:.2f}** / {found.highest:.2f}"


def median_text(figure: Figure, by_broker: dict[str, list[float]]) -> str:
    """The median of another run: the ratio, or the figure where the bar is absolute."""
    absolute = figure.bar is not None and figure.bar.is_absolute
    found = spread(by_broker.get(OURS, []) if absolute else ratios(by_broker))
    return "" if found is None else number(found.median, figure.digits if absolute else 2)


def rows(
    measure: Measure, results: Results, others: Sequence[Results], brokers: list[str]
) -> list[list[str]]:
    """Cells, a row for each figure. `others` are runs of which the median is shown."""
    samples = results.samples(measure)
    if samples is None:
        return []
    found = []
    title = results.title(measure)
    medians = [other.samples(measure) or {} for other in others]
    for figure in measure.figures:
        by_broker = samples.get(figure.name, {})
        values = [values_text(figure, by_broker, broker) for broker in brokers]
        bar, kept = bar_text(figure.bar), verdict(figure, by_broker)
        beside = [median_text(figure, other.get(figure.name, {})) for other in medians]
        found.append([title, figure.name, *values, ratio_text(by_broker), *beside, bar, kept])
        title = ""
    return found


def brokers_in(results: Results) -> list[str]:
    measured = {
        broker
        for measure in MEASURES
        for by_broker in (results.samples(measure) or {}).values()
        for broker in by_broker
    }
    return [OURS, THEIRS, *sorted(measured - {OURS, THEIRS})]


def header(brokers: list[str]) -> list[str]:
    names = ["Apache Kafka" if broker == THEIRS else broker for broker in brokers]
    return [
        "measure",
        "figure",
        *names,
        "ratio: min / median / max",
        "pure Python",
        "before",
        "bar",
        "",
    ]


def tables(results: Results) -> str:
    others = (Results(PURE), Results(BEFORE))
    brokers = brokers_in(results)
    head = header(brokers)
    lines = [
        f"| {' | '.join(head)} |",
        "|---|---|" + "--:|" * len(brokers) + "---|--:|--:|---|---|",
    ]
    for measure in MEASURES:
        lines += [f"| {' | '.join(cells)} |" for cells in rows(measure, results, others, brokers)]
    return "\n".join(lines)


def plots(results: Results) -> str:
    shown = [
        f"![{measure.title}]({measure.plot.file})"
        for measure in MEASURES
        if measure.plot is not None and results.samples(measure) is not None
    ]
    return "\n\n".join(shown)


def where(results: Results) -> str:
    facts = results.machine
    if not facts:
        return "Nothing is measured yet."
    what = facts.get("kafkalite", "kafkalite")
    where_it_ran = f"{facts['cores']} cores of an {facts['processor']}, {facts['kernel']}"
    return f"{what} on {where_it_ran}, {facts['python']}; Apache Kafka 4.3.1 with a heap of 768 MB."


def written(text: str, results: Results) -> str:
    """The document with its generated parts made new."""
    parts = {"machine": where, "results": tables, "plots": plots}
    for name, make in parts.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        before, found, rest = text.partition(begin)
        _, closed, after = rest.partition(end)
        if not found or not closed:
            raise ValueError(f"{DOCUMENT.name} has no place for {name!r}")
        text = f"{before}{begin}{make(results)}\n{end}{after}"
    return text


def write(results: Results, document: Path = DOCUMENT) -> None:
    """Write the document, and a picture for every plotted measure."""
    template = document if document.exists() else DOCUMENT
    document.write_text(written(template.read_text(), results))
    for measure in MEASURES:
        samples = results.samples(measure)
        if measure.plot is not None and samples is not None:
            draw(measure, measure.plot, samples, document.parent / measure.plot.file)


def draw(
    measure: Measure, plot: Plot, samples: dict[str, dict[str, list[float]]], path: Path
) -> None:
    """A curve for each broker; a figure whose name is a number is a point."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot

    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": measure.name})
    figure, axes = pyplot.subplots(figsize=(6, 3))
    sizes = [each.name for each in measure.figures if each.name.isdigit()]
    for broker in (OURS, THEIRS, "kfake"):
        points = [
            (int(size), samples[size][broker][0])
            for size in sizes
            if samples.get(size, {}).get(broker)
        ]
        if points:
            axes.plot(*zip(*points, strict=True), marker="o", label=broker)
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.set_xlabel(plot.x_label)
    axes.set_ylabel(plot.y_label)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, format="svg", metadata={"Date": None})
    pyplot.close(figure)
