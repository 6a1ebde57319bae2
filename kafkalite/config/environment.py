"""Configs among environment variables, as the images of Kafka read them.

The image apache/kafka: `KAFKA_LOG_RETENTION_MS` is log.retention.ms; one underscore stands for a
dot, two for an underscore, three for a dash. Key stores and their passwords are named by files in
a folder. Bitnami's image: `KAFKA_CFG_LOG_RETENTION_MS` is the same config, and wins. Users have
variables of their own there (config/bitnami_users.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kafkalite.config.bitnami_users import SETTINGS, configs_of_users
from kafkalite.config.definition import ConfigError

# Settings of the images' own scripts, not of the broker.
_NOT_CONFIGS: Final = frozenset(
    {
        "KAFKA_ENABLE_KRAFT",
        "KAFKA_GC_LOG_OPTS",
        "KAFKA_HEAP_OPTS",
        "KAFKA_HOME",
        "KAFKA_JMX_HOSTNAME",
        "KAFKA_JMX_OPTS",
        "KAFKA_JMX_PORT",
        "KAFKA_JVM_PERFORMANCE_OPTS",
        "KAFKA_LOG4J_LOGGERS",
        "KAFKA_LOG4J_OPTS",
        "KAFKA_LOG4J_ROOT_LOGLEVEL",
        "KAFKA_OPTS",
        "KAFKA_TOOLS_LOG4J_LOGLEVEL",
        "KAFKA_VERSION",
    }
)
# Kubernetes tells each container of services: one named kafka, of KAFKA_SERVICE_HOST and others.
_OF_A_SERVICE: Final = re.compile(
    r"KAFKA_(\w+_)?(SERVICE_HOST|SERVICE_PORT|PORT_\d+_[A-Z]+)(_\w+)?"
)
_PORT_OF_A_SERVICE: Final = re.compile(r"(tcp|udp|sctp)://.*")
_PREFIX: Final = "KAFKA_"
_PREFIX_OF_BITNAMI: Final = "KAFKA_CFG_"
_CLUSTER_ID: Final = "kafkalite.cluster.id"
# An id may come by these, too, the first that is set.
_CLUSTER_IDS: Final = ("CLUSTER_ID", "KAFKA_KRAFT_CLUSTER_ID")

# The system property of Java that names a JAAS file.
_JAAS_FILE: Final = re.compile(r'-Djava\.security\.auth\.login\.config==?(?:"([^"]+)"|(\S+))')

# The folder in which the images look for stores, and for files that hold the passwords of these.
SECRETS: Final = Path("/etc/kafka/secrets")
_STORES: Final = {
    "ssl.keystore.filename": "ssl.keystore.location",
    "ssl.truststore.filename": "ssl.truststore.location",
}
_PASSWORDS: Final = {
    "ssl.key.credentials": "ssl.key.password",
    "ssl.keystore.credentials": "ssl.keystore.password",
    "ssl.truststore.credentials": "ssl.truststore.password",
}

# The host of an advertised listener.
_ADVERTISED: Final = re.compile(r"://(?P<host>[^,]*):(?=[^:,]*(?:,|$))")


def variables(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment variable of each config that is set by one, by the config's name."""
    found: dict[str, str] = {}
    for prefix in (_PREFIX, _PREFIX_OF_BITNAMI):
        found |= {
            _config_name(variable.removeprefix(prefix)): variable
            for variable, value in environment.items()
            if variable.startswith(prefix) and _is_config(variable, value, prefix)
        }
    for named, config in {**_STORES, **_PASSWORDS}.items():
        if named in found:
            found[config] = found.pop(named)
    for variable in _CLUSTER_IDS:
        if environment.get(variable):
            found.setdefault(_CLUSTER_ID, variable)
    if "advertised.listeners" in found:
        found.setdefault("listeners", found["advertised.listeners"])
    return found


def read_environment(environment: Mapping[str, str], secrets: Path = SECRETS) -> dict[str, str]:
    """The configs among environment variables. Raises ConfigError.

    `secrets` is the folder of stores and passwords that are named by their files.
    """
    names = variables(environment)
    configs = {name: environment[variable] for name, variable in names.items()}
    for config, variable in names.items():
        if config in _STORES.values() and variable.endswith("_FILENAME"):
            configs[config] = str(secrets / environment[variable])
        elif config in _PASSWORDS.values() and variable.endswith("_CREDENTIALS"):
            configs[config] = _content(secrets / environment[variable], variable)
    if jaas := _JAAS_FILE.search(environment.get("KAFKA_OPTS", "")):
        configs.setdefault("kafkalite.jaas.file", jaas[1] or jaas[2])
    configs |= configs_of_users(environment, configs)
    told = names.get("advertised.listeners")
    if told is not None and names["listeners"] == told:
        # The image listens on every interface, at the ports that are advertised.
        configs["listeners"] = _ADVERTISED.sub(_everywhere, configs["advertised.listeners"])
    return configs


def _is_config(variable: str, value: str, prefix: str) -> bool:
    if prefix == _PREFIX_OF_BITNAMI:
        return True
    if variable in _NOT_CONFIGS or variable in SETTINGS or variable.startswith(_PREFIX_OF_BITNAMI):
        return False
    if variable in _CLUSTER_IDS or _OF_A_SERVICE.fullmatch(variable):
        return False
    return not (variable.endswith("_PORT") and _PORT_OF_A_SERVICE.fullmatch(value))


def _config_name(variable: str) -> str:
    name = variable.lower()
    return name.replace("___", "-").replace("__", "\0").replace("_", ".").replace("\0", "_")


def _content(path: Path, variable: str) -> str:
    """The content of a file, without the end of its last line."""
    try:
        return path.read_text().rstrip("\n")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"{variable}: cannot read {path}: {reason}") from None


def _everywhere(advertised: re.Match[str]) -> str:
    return "://[::]:" if ":" in advertised["host"] else "://0.0.0.0:"
