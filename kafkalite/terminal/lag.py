"""`kafkalite lag`: how far groups are behind, once or again and again."""

from __future__ import annotations

import time
from typing import Any

import click

from kafkalite.control.durations import seconds
from kafkalite.control.problems import Problem
from kafkalite.terminal import offsets
from kafkalite.terminal.group_views import Group
from kafkalite.terminal.groups import (
    NO_GROUPS,
    all_groups,
    columns_of,
    complete_group,
    one,
    partitions_of,
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
    where nothing is committed. Of share groups it is as the broker says.
    """
    try:
        pause = seconds(interval, field="--interval")
    except Problem as problem:
        raise click.UsageError(f"{problem.detail} ({problem.hint})") from None
    chosen = None if name is None else one(kafka, name)
    columns = _GROUPS if chosen is None else columns_of(chosen)
    if not watch:
        nothing = NO_GROUPS if chosen is None else f"group {name!r} has no partitions"
        out.rows(_rows(kafka, out, chosen), columns, nothing)
        return
    with out.watched(columns) as show:
        try:
            while True:
                show(_rows(kafka, out, chosen))
                time.sleep(pause)
                chosen = None if name is None else one(kafka, name)
        except KeyboardInterrupt:
            return


def _rows(kafka: Kafka, out: Output, chosen: Group | None) -> list[dict[str, Any]]:
    if chosen is not None:
        return partitions_of(kafka, out, [chosen])[chosen.group_id]
    found = all_groups(kafka, out)
    partitions = partitions_of(kafka, out, found)
    return [
        {
            "group": each.group_id,
            "state": each.state,
            "members": len(each.members),
            "partitions": len(partitions[each.group_id]),
            "lag": offsets.total([one["lag"] for one in partitions[each.group_id]]),
        }
        for each in found
    ]
