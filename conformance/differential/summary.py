"""The summary of what a run of the referee has compared, for people and for the report card:
`--summary FILE`.

The file is JSON: `reference`, `tested`, `seconds`, and

- `sources`: for each source of requests (scripts, generated, recorded, three nodes) how many
  requests, fields and closed connections were compared, its `seconds`, and the `differences` found;
- `apis`: for each API name and version how many answers were compared (`not_compared` names those
  that are served and were not);
- `error_codes`: for each API the error codes that Apache Kafka gave in the answers compared;
- `accepted`: the differences that stay, each with its `reason` and how often it was met;
- `masked`: what is not compared, each with its `reason` and how many values of Apache Kafka's.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from conformance.differential.accepted import ACCEPTED, BY_CHANCE, MASKS
from conformance.differential.comparison import Pair, Tally
from conformance.harness.jars import KAFKA_VERSION
from kafkalite.apis import APIS
from kafkalite.wire.api_keys import ApiKey

PAIRS = pytest.StashKey[list[Pair]]()


def served() -> list[tuple[ApiKey, int]]:
    """Every API in every version that ApiVersions lists and answers."""
    return [
        (api.key, version)
        for api in APIS.values()
        for version in range(api.min_version, api.max_version + 1)
    ]


def write_summary(file: Path, pairs: Sequence[Pair], tested: str, seconds: float) -> None:
    """Write the file. Among several processes (`-n`) only the one that compared something
    writes."""
    if not pairs:
        return
    file.write_text(json.dumps(summary(pairs, tested, seconds), indent=1) + "\n")


def summary(pairs: Sequence[Pair], tested: str, seconds: float) -> dict[str, Any]:
    tallies = [(name, tally) for pair in pairs for name, tally in pair.tallies.items()]
    requests: Counter[tuple[ApiKey, int]] = Counter()
    codes: dict[str, set[int]] = {}
    met: Counter[Any] = Counter()
    for _, tally in tallies:
        requests += tally.requests
        met += tally.accepted
        for api, code in tally.errors:
            codes.setdefault(api.name, set()).add(code)
    apis: dict[str, dict[str, int]] = {}
    for (api, version), count in sorted(requests.items()):
        apis.setdefault(api.name, {})[str(version)] = count
    return {
        "reference": f"Apache Kafka {KAFKA_VERSION}",
        "tested": tested,
        "seconds": round(seconds, 1),
        "sources": sources(tallies),
        "apis": apis,
        "not_compared": [
            f"{api.name} v{version}" for api, version in served() if not requests[api, version]
        ],
        "error_codes": {name: sorted(found) for name, found in sorted(codes.items())},
        "accepted": [
            {
                "api": each.api.name,
                "path": each.path,
                "is_order": each.is_order,
                "reason": each.reason,
                "count": met[each],
            }
            for each in (*ACCEPTED, *BY_CHANCE)
        ],
        "masked": [
            {
                "what": name,
                "reason": reason,
                "count": sum(pair.reference.names.masked[name] for pair in pairs),
            }
            for name, reason in MASKS.items()
        ],
    }


def sources(tallies: Sequence[tuple[str, Tally]]) -> dict[str, Any]:
    """By name: several pairs of brokers may have been asked by the same."""
    merged: dict[str, Tally] = {}
    for name, tally in tallies:
        whole = merged.setdefault(name, Tally())
        whole.requests += tally.requests
        whole.fields += tally.fields
        whole.closed += tally.closed
        whole.differences += tally.differences
        whole.seconds += tally.seconds
    return {
        name: {
            "requests": sum(tally.requests.values()),
            "apis_and_versions": len(tally.requests),
            "fields": tally.fields,
            "closed_connections": tally.closed,
            "differences": tally.differences,
            "seconds": round(tally.seconds, 1),
        }
        for name, tally in merged.items()
    }
