"""Write the generated parts of the documents: `make docs`. A test holds them to the code.

A generated part stands between `<!-- name -->` and `<!-- /name -->`.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path

from conformance.report import card
from kafkalite.__main__ import main as kafkalite
from kafkalite.apis import APIS
from kafkalite.config import BROKER_CONFIGS, GROUP_CONFIGS, TOPIC_CONFIGS, ConfigDef
from kafkalite.config.profiles import PROFILES
from kafkalite.config.sources import built_in, own_defaults
from kafkalite.control.verbs import VERBS
from kafkalite.group_coordinator import classic_group, modern_member
from kafkalite.metrics.table import METRICS
from kafkalite.spark.audit.findings import KINDS
from kafkalite.wire.api_keys import ApiKey

ROOT = Path(__file__).parent.parent


def api_name(key: ApiKey) -> str:
    return "".join(word.capitalize() for word in key.name.split("_"))


def apis() -> str:
    lines = ["| key | API | versions |", "|---|---|---|"]
    for key, api in sorted(APIS.items()):
        lines.append(f"| {key} | {api_name(api.key)} | {api.min_version}-{api.max_version} |")
    return "\n".join(lines)


def command_help() -> str:
    os.environ["COLUMNS"] = "96"
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        kafkalite(["--help"])
    return f"```\n{out.getvalue().rstrip()}\n```"


def profile_of_tests() -> str:
    lines = ["| config | with the profile | Apache Kafka |", "|---|--:|--:|"]
    for name, value in PROFILES["test"].items():
        default = BROKER_CONFIGS[name].default
        if name == "log.retention.ms":
            default = f"{BROKER_CONFIGS['log.retention.hours'].default} hours"
        lines.append(f"| `{name}` | {value} | {default} |")
    return "\n".join(lines)


def findings() -> str:
    lines = ["| finding | | what it means |", "|---|---|---|"]
    lines += [f"| `{kind}` | {severity} | {text} |" for kind, (severity, text) in KINDS.items()]
    return "\n".join(lines)


def shown(default: str | None) -> str:
    return "none" if default is None else f"`{default}`" if default else ""


def shown_default(name: str, config: ConfigDef) -> str:
    """kafkalite's own default on one node, and Kafka's where that is another."""
    ours = {**built_in({}), **own_defaults({})}.get(name)
    if ours is None or ours == config.default:
        return shown(config.default)
    return f"{shown(ours)} (Kafka: {shown(config.default)})"


def configs(table: Mapping[str, ConfigDef]) -> str:
    lines = [
        "| config | type | default | allowed | here | what it does |",
        "|---|---|---|---|---|---|",
    ]
    for name, config in sorted(table.items()):
        if config.internal:
            continue
        default = shown_default(name, config) if table is BROKER_CONFIGS else shown(config.default)
        valid = f"`{config.valid}`" if config.valid else ""
        cells = [
            f"`{name}`",
            config.type.name.lower(),
            default,
            valid.replace("|", "\\|"),
            config.support.value,
            config.documentation.replace("|", "\\|"),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def metrics() -> str:
    lines = ["| metric | kind | labels | what it tells |", "|---|---|---|---|"]
    for metric in METRICS.values():
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        lines.append(f"| `{metric.name}` | {metric.kind.value} | {labels} | {metric.meaning} |")
    return "\n".join(lines)


def verbs() -> str:
    lines = ["| verb | HTTP, below `/v1` | what it does |", "|---|---|---|"]
    for name, verb in VERBS.items():
        sentence = " ".join(verb.doc.partition("\n\n")[0].split()).replace("|", "\\|")
        lines.append(f"| `{name.replace('.', ' ')}` | `{verb.method} {verb.path}` | {sentence} |")
    return "\n".join(lines)


def diagram(transitions: Mapping[Enum, Mapping[Enum, Enum]]) -> str:
    """A state machine's table, drawn."""
    arrows = [
        f"    {state.name} --> {after.name}: {event.value}"
        for state, row in transitions.items()
        for event, after in row.items()
        if after is not state
    ]
    return "\n".join(["```mermaid", "stateDiagram-v2", *arrows, "```"])


PARTS: dict[str, dict[str, Callable[[], str]]] = {
    "README.md": {
        "profile": profile_of_tests,
        "apis": apis,
        "help": command_help,
        "report card": card.summary,
    },
    "docs/compatibility.md": {
        "scenarios": card.scenarios,
        "spark": card.spark,
        "clients": card.clients,
        "differential": card.differences,
        "itself": card.with_itself,
    },
    "group_coordinator/README.md": {
        "classic groups": lambda: diagram(classic_group.TRANSITIONS),
        "modern members": lambda: diagram(modern_member.TRANSITIONS),
    },
    "docs/pipelines.md": {"audit findings": findings},
    "docs/metrics.md": {"metrics": metrics},
    "docs/testing.md": {"verbs": verbs},
    "docs/configs.md": {
        "broker": lambda: configs(BROKER_CONFIGS),
        "topic": lambda: configs(TOPIC_CONFIGS),
        "group": lambda: configs(GROUP_CONFIGS),
    },
}


def generated(name: str) -> str:
    """The whole text of a document, its generated parts made new."""
    text = (ROOT / name).read_text()
    for part, make in PARTS[name].items():
        between = re.compile(rf"(<!-- {part} -->\n).*?(\n<!-- /{part} -->)", re.DOTALL)
        if not between.search(text):
            raise SystemExit(f"{name} has no place for {part!r}")
        made = make()
        text = between.sub(lambda found, made=made: found[1] + made + found[2], text)
    return text


def main() -> int:
    for name in PARTS:
        (ROOT / name).write_text(generated(name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
