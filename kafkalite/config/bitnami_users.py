"""The users of Bitnami's image, of which its scripts make configs.

`KAFKA_CLIENT_USERS` and `KAFKA_CLIENT_PASSWORDS` list those of clients. Brokers log in as
`KAFKA_INTER_BROKER_USER`. Each may log in by PLAIN and SCRAM at the listeners with SASL.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from kafkalite.config.definition import ConfigError

_CLIENTS: Final = ("KAFKA_CLIENT_USERS", "KAFKA_CLIENT_PASSWORDS")
_BROKERS: Final = ("KAFKA_INTER_BROKER_USER", "KAFKA_INTER_BROKER_PASSWORD")
# The controllers' are for a listener that is not there.
SETTINGS: Final = frozenset(
    {
        *_CLIENTS,
        *_BROKERS,
        "KAFKA_CLIENT_LISTENER_NAME",
        "KAFKA_CONTROLLER_USER",
        "KAFKA_CONTROLLER_PASSWORD",
    }
)
_SEPARATORS: Final = re.compile("[,;]")
_LISTENER: Final = re.compile(r"(?P<name>\w+)://")
_OPTION: Final = re.compile(r"[\w.-]+")
_MECHANISMS: Final = "sasl.enabled.mechanisms"


def configs_of_users(environment: Mapping[str, str], configs: Mapping[str, str]) -> dict[str, str]:
    """The configs that let the users in, but those that are among `configs`. Raises ConfigError."""
    users = {**_users(environment, *_CLIENTS), **_users(environment, *_BROKERS)}
    if not users:
        return {}
    mechanisms = [each.strip() for each in configs.get(_MECHANISMS, "").split(",")]
    made: dict[str, str] = {}
    if "PLAIN" in mechanisms:
        for name in _listeners_with_sasl(configs):
            made[f"listener.name.{name.lower()}.plain.sasl.jaas.config"] = plain_module(users)
    if scram := [each for each in mechanisms if each.startswith("SCRAM-")]:
        made["kafkalite.scram.credentials"] = "\n".join(
            f"{mechanism}:{user}:{password}"
            for mechanism in scram
            for user, password in users.items()
        )
    return {name: value for name, value in made.items() if name not in configs}


def _users(environment: Mapping[str, str], names: str, passwords: str) -> dict[str, str]:
    """Passwords by their users' names."""
    found = [_SEPARATORS.split(environment.get(each, "")) for each in (names, passwords)]
    users, secrets = ([part.strip() for part in each if part.strip()] for each in found)
    if len(users) != len(secrets):
        raise ConfigError(f"{names}: there are {len(users)}, and {len(secrets)} of {passwords}")
    return dict(zip(users, secrets, strict=True))


def _listeners_with_sasl(configs: Mapping[str, str]) -> list[str]:
    pairs = configs.get("listener.security.protocol.map", "").split(",")
    protocols = {name.strip(): told.strip() for name, _, told in (p.partition(":") for p in pairs)}
    names = [each["name"] for each in _LISTENER.finditer(configs.get("listeners", ""))]
    return [name for name in names if protocols.get(name, name).startswith("SASL_")]


def plain_module(users: Mapping[str, str]) -> str:
    """The JAAS line that has the users of PLAIN. Raises ConfigError."""
    for user in users:
        if not _OPTION.fullmatch(user):
            raise ConfigError(f"PLAIN: {user!r} cannot be the name of an option in a JAAS line")
    options = " ".join(f"user_{user}={quoted(password)}" for user, password in users.items())
    return f"org.apache.kafka.common.security.plain.PlainLoginModule required {options};"


def quoted(text: str) -> str:
    """A text as an option of a JAAS line has it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
