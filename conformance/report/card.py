"""The report card as text: docs/compatibility.json in Markdown, and its summary for the README."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from conformance.clients.matrix import CLIENTS, SPARKS, Client

RESULT = Path(__file__).parent.parent.parent / "docs" / "compatibility.json"
FOLDERS = {"scenarios": "Real clients", "spark": "Spark's own connector"}

WHERE = "[The report card](docs/compatibility.md) names each; `make report` runs it."

Result = Mapping[str, Any]


def result() -> Result:
    return json.loads(RESULT.read_text())


def once_run(name: str) -> Callable[[Callable[[], str]], Callable[[], str]]:
    """A part of the card that needs what `make report NAME` writes."""

    def decorate(part: Callable[[], str]) -> Callable[[], str]:
        return lambda: part() if name in result() else f"Not run yet: `make report REPORT={name}`."

    return decorate


def counts(run: Result) -> tuple[int, int]:
    """Passed, and run at all."""
    passed = sum(len(file["passed"]) for file in run["files"].values())
    return passed, passed + sum(len(file["failed"]) for file in run["files"].values())


def of(passed: int, ran: int) -> str:
    return str(passed) if passed == ran else f"**{passed} of {ran}**"


def minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


@once_run("scenarios")
def scenarios() -> str:
    """A line per file of scenarios."""
    return files_of("scenarios")


@once_run("spark")
def spark() -> str:
    """A line per file of Spark's scenarios."""
    return files_of("spark")


def files_of(name: str) -> str:
    """The passed tests of each file on either broker."""
    runs = result()[name]
    lines = ["| scenarios | on Apache Kafka | on kafkalite |", "|---|--:|--:|"]
    for path in sorted({path for run in runs.values() for path in run["files"]}):
        files = [runs[kind]["files"].get(path) for kind in ("kafka", "kafkalite")]
        title = next(file["title"] for file in files if file)
        cells = [
            of(len(file["passed"]), len(file["passed"]) + len(file["failed"])) if file else "-"
            for file in files
        ]
        lines.append(f"| [{title}](../{path}) | {cells[0]} | {cells[1]} |")
    totals = [of(*counts(runs[kind])) for kind in ("kafka", "kafkalite")]
    took = [minutes(runs[kind]["seconds"]) for kind in ("kafka", "kafkalite")]
    lines += [f"| all | {totals[0]} | {totals[1]} |", f"| took | {took[0]} | {took[1]} |"]
    return "\n".join([*lines, *(f"- {line}" for line in remarks(runs))])


def remarks(runs: Result) -> Iterator[str]:
    """Every test that failed or was left out, by name."""
    for kind, title in (("kafka", "Apache Kafka"), ("kafkalite", "kafkalite")):
        for path, file in runs[kind]["files"].items():
            for outcome in ("failed", "left out"):
                for name in file[outcome]:
                    yield f"{outcome} on {title}: `{Path(path).name}::{name}`"


def outcome_of(client: Client, run: Result) -> str:
    for file in run["files"].values():
        for outcome in ("passed", "failed", "left out"):
            if any(name.endswith(f"[{client}]") for name in file[outcome]):
                return "yes" if outcome == "passed" else f"**{outcome}**"
    return "not run"


@once_run("clients")
def clients() -> str:
    """A line per version of a client: what it was asked to do, and whether it did."""
    runs = result()["clients"]
    lines = [
        "| client | version | did | on Apache Kafka | on kafkalite |",
        "|---|---|---|---|---|",
    ]
    for client in (*CLIENTS, *SPARKS):
        cells = (outcome_of(client, runs["kafka"]), outcome_of(client, runs["kafkalite"]))
        steps = ", ".join(client.steps)
        lines.append(f"| {client.name} | {client.version} | {steps} | {' | '.join(cells)} |")
    return "\n".join(lines)


@once_run("differential")
def differences() -> str:
    """The referee's figures by source of the requests, and every difference that is left."""
    run = result()["differential"]
    lines = [
        "| requests | sent to both | APIs x versions | fields compared | differences | took |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {name} | {source['requests']:,} | {source['apis_and_versions']} "
        f"| {source['fields']:,} | {len(source['differences'])} | {minutes(source['seconds'])} |"
        for name, source in run["sources"].items()
    ]
    left = [each for source in run["sources"].values() for each in source["differences"]]
    lines += ["", *(f"- left: {each}" for each in left)]
    lines += [f"- served and not compared: {each}" for each in run["not_compared"]]
    lines += ["", "| accepted | where | met | reason |", "|---|---|--:|---|"]
    lines += [
        f"| {'order' if each.get('is_order') else 'value'} | `{each['api']}` "
        f"`{each['path'].replace('|', '&#124;')}` | {each['count']:,} | {each['reason']} |"
        for each in run["accepted"]
    ]
    lines += ["", "| not compared | values | reason |", "|---|--:|---|"]
    lines += [
        f"| {each['what']} | {each['count']:,} | {each['reason']} |"
        for each in run.get("masked", ())
    ]
    return "\n".join(lines)


@once_run("itself")
def with_itself() -> str:
    """One sentence about the run in which the referee has Apache Kafka on both sides."""
    run = result()["itself"]
    sources = run["sources"].values()
    left = [each for source in sources for each in source["differences"]]
    requests, fields = (sum(each[name] for each in sources) for name in ("requests", "fields"))
    sentence = (
        f"Apache Kafka compared with itself: {requests:,} requests, {fields:,} fields of answers, "
        f"{len(left)} differences."
    )
    return "\n".join([sentence, *(f"- left: {each}" for each in left)])


def summary() -> str:
    """The summary for the README."""
    card = result()
    lines = [
        f"| against Apache Kafka {card['kafka']} | Apache Kafka | kafkalite |",
        "|---|--:|--:|",
    ]
    for name, title in (*FOLDERS.items(), ("clients", "Versions of clients")):
        if name in card:
            cells = [of(*counts(card[name][kind])) for kind in ("kafka", "kafkalite")]
            lines.append(f"| {title}: passed | {cells[0]} | {cells[1]} |")
    return "\n".join([*lines, "", compared(), WHERE])


@once_run("differential")
def compared() -> str:
    """One sentence about the differential run."""
    run = result()["differential"]
    requests, fields, left = (
        sum(count(source) for source in run["sources"].values())
        for count in (
            lambda source: source["requests"],
            lambda source: source["fields"],
            lambda source: len(source["differences"]),
        )
    )
    versions = sum(len(versions) for versions in run["apis"].values())
    return (
        f"The same {requests:,} requests to both, in {len(run['apis'])} APIs "
        f"and {versions} versions, {fields:,} fields of answers compared: "
        f"{left} differences left, {len(run['accepted'])} kinds accepted "
        f"and {len(run.get('masked', ()))} not compared, each with its reason."
    )
