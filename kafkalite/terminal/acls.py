"""`kafkalite acls`: who may do what."""

from __future__ import annotations

from typing import Any, Final

import click

from kafkalite.terminal.configs import BROKER, described_configs
from kafkalite.terminal.kafka import Kafka, Refused, answered, library
from kafkalite.terminal.options import asks_kafka, topic_names
from kafkalite.terminal.output import Output

_Resource: Final[Any] = library.ResourceType
_Pattern: Final[Any] = library.ResourcePatternType
_COLUMNS = {
    "principal": "PRINCIPAL",
    "host": "HOST",
    "permission": "PERMISSION",
    "operation": "OPERATION",
    "resource_type": "RESOURCE-TYPE",
    "resource_name": "RESOURCE-NAME",
    "pattern_type": "PATTERN-TYPE",
}


@click.command("acls")
@click.option("-t", "--topic", metavar="NAME", shell_complete=topic_names, help="Those on a topic.")
@click.option("--group", metavar="ID", help="Those on a group.")
@click.option("--transactional-id", metavar="ID", help="Those on a transactional id.")
@click.option("--cluster", is_flag=True, help="Those on the cluster.")
@click.option("--principal", metavar="User:NAME", help="Those of a principal.")
@asks_kafka
def acls(
    kafka: Kafka,
    out: Output,
    topic: str | None,
    group: str | None,
    transactional_id: str | None,
    cluster: bool,
    principal: str | None,
) -> None:
    """List the ACLs: all, or those that concern a resource, by prefixes and wildcards, too."""
    chosen = [
        (kind, name)
        for kind, name in (
            (_Resource.TOPIC, topic),
            (_Resource.GROUP, group),
            (_Resource.TRANSACTIONAL_ID, transactional_id),
            (_Resource.BROKER, "kafka-cluster" if cluster else None),
        )
        if name is not None
    ]
    if len(chosen) > 1:
        raise click.UsageError(
            "--topic, --group, --transactional-id and --cluster exclude each other"
        )
    if principal is not None and ":" not in principal:
        raise click.UsageError(f"--principal {principal}: it is User:{principal}")
    kind, name = chosen[0] if chosen else (_Resource.ANY, None)
    pattern = _Pattern.MATCH if chosen else _Pattern.ANY
    wanted = library.AclBindingFilter(
        kind,
        name,
        pattern,
        principal,
        None,
        library.AclOperation.ANY,
        library.AclPermissionType.ANY,
    )
    found = answered(kafka.admin.describe_acls(wanted), "ACLs")
    if not found and not _has_authorizer(kafka):
        raise Refused("this Kafka has no authorizer: each client may do everything")
    rows = [_row(each) for each in found]
    out.rows(sorted(rows, key=lambda row: tuple(row.values())), _COLUMNS, "there are no such ACLs")


def _has_authorizer(kafka: Kafka) -> bool:
    """Tells whether ACLs are enforced: librdkafka does not say why there are none."""
    first = str(min(kafka.metadata().brokers))
    configs = described_configs(kafka, BROKER, first)
    return any(each.name == "authorizer.class.name" and each.value for each in configs)


def _row(acl: Any) -> dict[str, str]:
    kind = "CLUSTER" if acl.restype is _Resource.BROKER else acl.restype.name
    return {
        "principal": acl.principal,
        "host": acl.host,
        "permission": acl.permission_type.name,
        "operation": acl.operation.name,
        "resource_type": kind,
        "resource_name": acl.name,
        "pattern_type": acl.resource_pattern_type.name,
    }
