"""The marks of configs are true: what is enforced is read by the product, what is accepted is not.

A config is read where its name stands in the code, or, for a topic config, where the field of
LogConfig stands. Tests of behaviour hold what a value does; this one holds that no mark is idle.
"""

from __future__ import annotations

import ast
import functools
from pathlib import Path

from kafkalite.config import (
    BROKER_CONFIGS,
    GROUP_CONFIGS,
    TOPIC_CONFIG_SYNONYMS,
    TOPIC_CONFIGS,
    ConfigDef,
    Support,
)
from kafkalite.config.sources import BUILT_IN

ROOT = Path(__file__).parents[3]
# Tables, lists of names and the folder of the Spark source, whose options are a consumer's.
NOT_READERS = (
    "kafkalite/config/definition.py",
    "kafkalite/config/sources.py",
    "kafkalite/config/topic_validation.py",
    "kafkalite/spark",
    "kafkalite/wire",
    "kafkalite/log",
    "kafkalite/group_coordinator",
)
# Internal topics' configs are read with the name's beginning put before these.
BY_PREFIX = ("min.isr", "num.partitions", "replication.factor", "segment.bytes")
PREFIXES = ("offsets.topic", "share.coordinator.state.topic", "transaction.state.log")

# Accepted, and named in the code all the same.
NAMED_ONLY = {
    "process.roles": "both roles are shown, as Kafka has them in its server.properties",
    # Taken per listener only, so that AlterConfigs names them to refuse them.
    "ssl.key.password": "refused by name",
    "ssl.keystore.certificate.chain": "refused by name",
    "ssl.keystore.key": "refused by name",
    "ssl.keystore.location": "refused by name",
    "ssl.keystore.password": "refused by name",
    "ssl.keystore.type": "refused by name",
    "ssl.truststore.certificates": "refused by name",
    "ssl.truststore.location": "refused by name",
    "ssl.truststore.password": "refused by name",
    "ssl.truststore.type": "refused by name",
}


@functools.cache
def trees() -> dict[str, ast.Module]:
    paths = [
        path
        for top in ("kafkalite", "log", "group_coordinator")
        for path in (ROOT / top).rglob("*.py")
        if not str(path.relative_to(ROOT)).startswith(NOT_READERS)
    ]
    return {str(path.relative_to(ROOT)): ast.parse(path.read_text()) for path in paths}


@functools.cache
def names_in_code() -> frozenset[str]:
    """Every string that stands alone in the code."""
    found = {
        node.value
        for tree in trees().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    found |= {f"{prefix}.{end}" for prefix in PREFIXES for end in BY_PREFIX}
    return frozenset(found)


@functools.cache
def fields_in_code() -> frozenset[str]:
    """Every attribute that is read."""
    return frozenset(
        node.attr
        for tree in trees().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
    )


def is_read(name: str) -> bool:
    """A broker config is also read as the default of a topic config or of a group config."""
    if name in names_in_code():
        return True
    if name.replace(".", "_") in fields_in_code():
        return True
    return any(
        name == synonym and topic_name != name and is_read(topic_name)
        for topic_name, synonyms in TOPIC_CONFIG_SYNONYMS.items()
        for synonym, _ in synonyms
    )


def marked(support: Support) -> dict[str, ConfigDef]:
    tables = (BROKER_CONFIGS, TOPIC_CONFIGS, GROUP_CONFIGS)
    return {
        name: config
        for table in tables
        for name, config in table.items()
        if config.support is support
    }


def test_every_enforced_config_is_read() -> None:
    assert [name for name in marked(Support.ENFORCED) if not is_read(name)] == []


def test_no_accepted_config_is_read() -> None:
    read = {name for name in marked(Support.ACCEPTED) if is_read(name)}
    assert read - NAMED_ONLY.keys() == set()


def test_exceptions_are_still_needed() -> None:
    for name in NAMED_ONLY:
        assert BROKER_CONFIGS[name].support is Support.ACCEPTED, name
        assert name in names_in_code() or name in BUILT_IN, name
