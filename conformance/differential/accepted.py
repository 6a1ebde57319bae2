"""The differences that stay, each with its reason: better on purpose, or out of reach by nature.

What users are promised to be better (ready when answered, no delay of the first join, a parked Fetch
answered early) shows in when an answer comes, not in what it says, and so needs no entry here: the
referee waits for Apache Kafka (`Side.settle`), and asks again where it says "not yet".
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kafkalite.wire.api_keys import ApiKey


@dataclass(frozen=True)
class Accepted:
    """Differences of this API whose path matches are counted, not raised."""

    api: ApiKey
    path: str
    reason: str


ACCEPTED = (
    Accepted(
        ApiKey.DESCRIBE_CONFIGS,
        r"\.results\[\d+\]\.configs\[\d+\]\.documentation",
        "what a config is for is told in this project's own words",
    ),
    Accepted(
        ApiKey.DESCRIBE_QUORUM,
        r"\.nodes\[\d+\]\.listeners\[\d+\]\.(name|port)",
        "the controller has no listener of its own: it is in the broker's process, behind its ports",
    ),
)


def accepted(difference: str) -> Accepted | None:
    """The entry that a difference (`API v1.path: ...`) falls under, if there is one."""
    head = difference.split(":", 1)[0]
    api, _, path = head.partition(" ")
    for entry in ACCEPTED:
        if entry.api.name == api and re.match(rf"v\d+{entry.path}", path):
            return entry
    return None
