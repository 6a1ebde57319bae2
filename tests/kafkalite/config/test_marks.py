"""The marks of configs are true: what is enforced is read by the product, what is accepted is not.

A config is read where its name stands in the code, or, for a topic config, where the field of
LogConfig stands. Tests of behaviour hold what a value does; this one holds that no mark is idle,
and that each enforced config is set by a test at all.
"""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

from kafkalite.config import (
    BROKER_CONFIGS,
    GROUP_CONFIGS,
    TOPIC_CONFIG_SYNONYMS,
    TOPIC_CONFIGS,
    ConfigDef,
    Support,
)
from tests.kafkalite.config.test_enforced import DEFAULTS_OF_TOPICS, limits

ROOT = Path(__file__).parents[3]
# Tables, lists of names and the folder of the Spark source, whose options are a consumer's.
NOT_READERS = (
    "kafkalite/config/definition.py",
    "kafkalite/config/sources.py",
    "kafkalite/config/topic_validation.py",
    "kafkalite/spark",
    "kafkalite/terminal",
    "kafkalite/wire",
    "kafkalite/log",
    "kafkalite/group_coordinator",
)
# Accepted, and named in the code all the same.
NAMED_ONLY = {
    # Read by processes of a quorum.
    "broker.session.timeout.ms": "read there",
    # Named as options of a login module, whose names they share.
    "sasl.oauthbearer.scope": "a login option",
    # A listener's own config that all nodes may have together.
    "num.network.threads": "let through by name",
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
    return frozenset(
        node.value
        for tree in trees().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


@functools.cache
def patterns_in_code() -> tuple[re.Pattern[str], ...]:
    """Names that are put together: f"{prefix}.num.partitions" with a group for what is put in."""
    found: set[str] = set()
    for tree in trees().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                fixed = [part.value for part in node.values if isinstance(part, ast.Constant)]
                if any(re.search(r"[a-z]{3,}", str(text)) for text in fixed):
                    # A name that is put in may have dots: the longest and the shortest are tried.
                    found.update(
                        "".join(
                            re.escape(str(part.value)) if isinstance(part, ast.Constant) else hole
                            for part in node.values
                        )
                        for hole in ("(.+)", "(.+?)")
                    )
    return tuple(re.compile(pattern) for pattern in sorted(found))


def is_put_together(name: str) -> bool:
    """True if a pattern gives the name, with parts that stand in the code, too."""
    return any(
        (match := pattern.fullmatch(name)) and set(match.groups()) <= names_in_code()
        for pattern in patterns_in_code()
    )


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
    if name in names_in_code() or is_put_together(name):
        return True
    # GroupOverrides reads a group's own config together with its default.
    if name in GROUP_CONFIGS and is_put_together(f"group.{name}"):
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


@pytest.mark.slow
def test_every_enforced_config_is_read() -> None:
    assert [name for name in marked(Support.ENFORCED) if not is_read(name)] == []


@pytest.mark.slow
def test_no_accepted_config_is_read() -> None:
    read = {name for name in marked(Support.ACCEPTED) if is_read(name)}
    assert read - NAMED_ONLY.keys() == set()


def test_exceptions_are_configs() -> None:
    assert NAMED_ONLY.keys() <= BROKER_CONFIGS.keys() | GROUP_CONFIGS.keys()


def names_in_tests() -> set[str]:
    """Every string that begins a line in a test, up to a "=", and every keyword argument."""
    found = {*DEFAULTS_OF_TOPICS, *limits("min"), *limits("max")}
    for top in ("tests", "conformance"):
        for path in (ROOT / top).rglob("*.py"):
            if path == Path(__file__):
                continue
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    found |= {line.partition("=")[0].strip() for line in node.value.splitlines()}
                elif isinstance(node, ast.keyword) and node.arg:
                    found.add(node.arg.replace("_", "."))
    return found


@pytest.mark.slow
def test_every_enforced_config_is_set_in_a_test() -> None:
    assert marked(Support.ENFORCED).keys() - names_in_tests() == set()
