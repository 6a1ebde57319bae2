"""`kafkalite lag`: how far groups are behind, once or again and again."""

from __future__ import annotations

import time
from typing import Any

import click

from kafkalite.control.durations import seconds
from kafkalite.control.problems import Problem
from kafkalite.terminal import offsets
from kafkalite.terminal.groups import (
    PARTITIONS,
    complete_group,
    described,
    group_names,
    one,
    partitions_of,
    state,
)
from kafkalite.terminal.kafka import Kafka
from kafkalite.terminal.options import asks_kafka
from kafkalite.terminal.output import Output

_GROUPS = {
    "group": "GROUP",
    "state": "STATE",
    "members": "MEMBERS",
    "partitions": "PARTITIONS",
    "lag": "LAG",
}


@click.command("lag")
@click.argument("name", metavar="[GROUP]", required=False, shell_complete=complete_group)
@click.option("-w", "--watch", is_flag=True, help="Show it again and again, until Ctrl-C.")
@click.option("--interval", default="2s", show_default=True, help="The time between two looks.")
@asks_kafka
def lag(kafka: Kafka, out: Output, name: str | None, watch: bool, interval: str) -> None:
    """Show how many records each group, or each partition of one group, is behind.

    It is the distance of a partition's end from the committed offset; unknown (-, in JSON null)
    where nothing is committed.
    """
    try:
        pause = seconds(interval, field="--interval")
    except Problem as problem:
        raise click.UsageError(f"{problem.detail} ({problem.hint})") from None
    columns = _GROUPS if name is None else PARTITIONS
    if not watch:
        out.rows(_rows(kafka, out, name), columns)
        return
    with out.watched(columns) as show:
        try:
            while True:
                show(_rows(kafka, out, name))
                time.sleep(pause)
        except KeyboardInterrupt:
            return


def _rows(kafka: Kafka, out: Output, name: str | None) -> list[dict[str, Any]]:
    if name is not None:
        return partitions_of(kafka, out, [one(kafka, name)])[name]
    found = described(kafka, group_names(kafka))
    partitions = partitions_of(kafka, out, found)
    return [
        {
            "group": each.group_id,
            "state": state(each),
            "members": len(each.members or ()),
            "partitions": len(partitions[each.group_id]),
            "lag": offsets.total([one["lag"] for one in partitions[each.group_id]]),
        }
        for each in found
    ]
