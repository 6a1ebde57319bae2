"""The marks of configs are true: what is enforced is read by the product, what is accepted is not.

A config is read where its name stands in the code, or, for a topic config, where the field of
LogConfig stands. Tests of behaviour hold what a value does; this one holds that no mark is idle,
and that a test sets each enforced config to another value than its default.
"""

from __future__ import annotations

import ast
import functools
import re
from itertools import pairwise
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
# Tables, checks, lists of names and the folder of the Spark source, whose options are a consumer's.
NOT_READERS = (
    "kafkalite/config/definition.py",
    "kafkalite/config/sources.py",
    "kafkalite/config/together.py",
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
    # A node's own change of one is refused beside a listener's own.
    "sasl.kerberos.kinit.cmd": "counted by name",
    "sasl.kerberos.min.time.before.relogin": "counted by name",
    "sasl.kerberos.principal.to.local.rules": "counted by name",
    "sasl.kerberos.service.name": "counted by name",
    "sasl.kerberos.ticket.renew.jitter": "counted by name",
    "sasl.kerberos.ticket.renew.window.factor": "counted by name",
    # Checked in another way than all others.
    "metric.reporters": "refused by name",
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


def values_in_tests() -> dict[str, set[str]]:
    """The values of each string and keyword in tests: beside it in a dictionary, a call or a tuple,
    or behind its "=". "..." is one that is made there.
    """
    found: dict[str, set[str]] = {}

    def note(name: ast.expr | None, value: ast.expr) -> None:
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            known = str(value.value) if isinstance(value, ast.Constant) else "..."
            known = known.lower() if known in ("True", "False") else known
            found.setdefault(name.value, set()).add(known)

    for top in ("tests", "conformance"):
        for path in (ROOT / top).rglob("*.py"):
            if path == Path(__file__):
                continue
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Dict):
                    for name, value in zip(node.keys, node.values, strict=True):
                        note(name, value)
                elif isinstance(node, ast.keyword) and node.arg:
                    note(ast.Constant(node.arg.replace("__", ".").replace("_", ".")), node.value)
                elif isinstance(node, (ast.Tuple, ast.List, ast.Call)):
                    items = node.args if isinstance(node, ast.Call) else node.elts
                    # ("name", SET, "value"), too
                    items = [each for each in items if ast.unparse(each) not in OPERATIONS]
                    for name, value in pairwise(items):
                        note(name, value)
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    for line in node.value.splitlines():
                        left, equals, right = line.partition("=")
                        if equals:
                            note(ast.Constant(left.strip()), ast.Constant(right.strip()))
    return found


OPERATIONS = ("SET", "APPEND", "SUBTRACT")
# Set by the table of test_enforced.py, or under a name that a test puts together.
ELSEWHERE = {*DEFAULTS_OF_TOPICS, *limits("min"), *limits("max")} | {
    "ssl.allow.dn.changes",  # security/test_certificate_names.py
    "ssl.allow.san.changes",
}


@pytest.mark.slow
def test_every_enforced_config_is_set_to_another_value_in_a_test() -> None:
    values = values_in_tests()
    idle = {
        name
        for name, config in marked(Support.ENFORCED).items()
        if not values.get(name, set()) - {config.default, str(None)}
    }
    assert idle - ELSEWHERE == set()
