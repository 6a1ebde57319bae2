"""Values that are kept elsewhere: `${file:/etc/kafka/secrets.properties:password}` (KIP-297).

`config.providers` names the providers that such values begin with, `config.providers.NAME.class`
the class of each. The three that Apache Kafka comes with are here. A value that a provider does
not have stays as it is. Source: ConfigTransformer, AbstractConfig, and the providers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from kafkalite.config.definition import ConfigError
from kafkalite.log.loggers import logger_of

logger = logger_of(__name__)

_PROVIDERS: Final = "config.providers"
_REFERENCE: Final = re.compile(r"\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}")

# The value of a key at a path, if there is one. Raises ConfigError.
Provider = Callable[[str, str], str | None]


def resolved(
    sources: Mapping[str, str], environment: Mapping[str, str]
) -> Callable[[Mapping[str, str]], dict[str, str]]:
    """A function that gives the configs of one of the sources with all values in them.

    `sources` are the configs of all of them, the later ones winning. What only tells of providers
    is left out. Raises ConfigError.
    """
    providers: dict[str, Provider] = {}
    for name in sources[_PROVIDERS].split(","):
        place = f"{_PROVIDERS}.{name}.class"
        if place not in sources:
            continue
        kind = _KINDS.get(sources[place])
        if kind is None:
            raise ConfigError(
                f"Invalid value {sources[place]} for configuration {place}: Could not load config "
                f"provider class or one of its dependencies; kafkalite has {', '.join(_KINDS)}"
            )
        prefix = f"{_PROVIDERS}.{name}.param."
        parameters = {
            key.removeprefix(prefix): value
            for key, value in sources.items()
            if key.startswith(prefix)
        }
        providers[name] = kind(parameters, environment)

    def value_of(reference: re.Match[str]) -> str:
        name, path, key = reference.groups()
        found = providers[name](path or "", key) if name in providers else None
        return reference[0] if found is None else found

    return lambda configs: {
        name: _REFERENCE.sub(value_of, text)
        for name, text in configs.items()
        if not name.startswith(f"{_PROVIDERS}.")
    }


def _of_environment(parameters: Mapping[str, str], environment: Mapping[str, str]) -> Provider:
    text = parameters.get("allowlist.pattern", ".*")
    try:
        allowed = re.compile(text)
    except re.error as error:
        raise ConfigError(f"allowlist.pattern={text} is no pattern: {error}") from None

    def value(path: str, key: str) -> str | None:
        if path:
            raise ConfigError(
                f"Path is not supported for EnvVarConfigProvider, invalid value '{path}'"
            )
        return environment.get(key) if allowed.fullmatch(key) else None

    return value


def _of_file(parameters: Mapping[str, str], environment: Mapping[str, str]) -> Provider:
    allowed = _allowed(parameters)
    known: dict[str, dict[str, str]] = {}

    def value(path: str, key: str) -> str | None:
        if not path or not _may_read(path, allowed):
            return None
        if path not in known:
            import javaproperties

            try:
                known[path] = javaproperties.loads(Path(path).read_text(encoding="utf-8"))
            except (OSError, ValueError):
                raise ConfigError(f"Could not read properties from file {path}") from None
        return known[path].get(key)

    return value


def _of_directory(parameters: Mapping[str, str], environment: Mapping[str, str]) -> Provider:
    allowed = _allowed(parameters)

    def value(path: str, key: str) -> str | None:
        if not path or not _may_read(path, allowed):
            return None
        if not Path(path).is_dir():
            logger.warning("The path %s is not a directory", path)
            return None
        file = Path(path) / key
        if os.sep in key or not file.is_file():
            return None
        try:
            return file.read_text(encoding="utf-8")
        except (OSError, ValueError):
            raise ConfigError(f"Could not read file {file} for property {key}") from None

    return value


def _allowed(parameters: Mapping[str, str]) -> list[Path] | None:
    """The paths below which files may be read, all if it is None. Raises ConfigError."""
    text = parameters.get("allowed.paths")
    if not text:
        return None
    paths = [Path(os.path.normpath(each)) for each in text.split(",")]
    for path in paths:
        if not path.is_absolute():
            raise ConfigError(f"Path {path} is not absolute")
        if not path.exists():
            raise ConfigError(f"Path {path} does not exist")
    return [path.resolve() for path in paths]


def _may_read(path: str, allowed: list[Path] | None) -> bool:
    if allowed is None or any(Path(path).resolve().is_relative_to(each) for each in allowed):
        return True
    logger.warning("The path %s is not allowed to be accessed", path)
    return False


_KINDS: Final = {
    f"org.apache.kafka.common.config.provider.{name}": kind
    for name, kind in {
        "EnvVarConfigProvider": _of_environment,
        "FileConfigProvider": _of_file,
        "DirectoryConfigProvider": _of_directory,
    }.items()
}
