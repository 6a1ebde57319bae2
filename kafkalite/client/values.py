"""From what Python has to what verbs take."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

import msgspec

from kafkalite.control.answers import Header
from kafkalite.control.faults.rule import Action
from kafkalite.control.problems import Problem
from kafkalite.control.questions import NewRecord


def text_of(value: object) -> str:
    """A config's value as Kafka writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def fields_of(struct: msgspec.Struct) -> dict[str, Any]:
    """The fields of a request, by their names in Python."""
    return {name: getattr(struct, name) for name in struct.__struct_fields__}


Content: TypeAlias = str | bytes | None
Headers: TypeAlias = Mapping[str, Content] | Iterable[tuple[str, Content]]


def new_record(
    value: str | bytes | None,
    key: str | bytes | None,
    partition: int | None,
    headers: Headers,
    timestamp: int | str | None,
    count: int,
) -> NewRecord:
    """A record as the verb takes it; bytes go in base 64. Raises Problem."""

    def shown(data: str | bytes | None) -> tuple[str | None, Literal["utf-8", "base64"]]:
        if isinstance(data, bytes):
            return base64.b64encode(data).decode(), "base64"
        return data, "utf-8"

    value_text, value_encoding = shown(value)
    key_text, key_encoding = shown(key)
    given: Any = headers
    pairs: Iterable[tuple[str, Content]] = given.items() if isinstance(headers, Mapping) else given
    return NewRecord(
        value_text,
        key_text,
        partition,
        timestamp=timestamp,
        key_encoding=key_encoding,
        value_encoding=value_encoding,
        count=count,
        all_headers=[Header(name, *shown(content)) for name, content in pairs],
    )


def actions_of(do: Any) -> tuple[Action, ...]:
    """The actions that are to be done. Raises Problem for anything else."""
    several = isinstance(do, (list, tuple))
    found: Sequence[Any] = cast("Sequence[Any]", do) if several else (do,)
    for each in found:
        if not isinstance(each, Action):
            phases = [name for name in ("before", "after") if hasattr(each, name)]
            name = getattr(each, "__name__", repr(each))
            raise Problem(
                "invalid_fault",
                f"do is {name}, which is no action",
                hint=" or ".join(f"{name}.{phase}" for phase in phases)
                or 'those of kafkalite.faults are, such as drop.after and error("...")',
            )
    return tuple(found)


def read_seed(path: Path) -> Mapping[str, Any]:
    """A seed file. Raises OSError, and Problem for a file that is neither JSON nor YAML."""
    import yaml

    try:
        text = path.read_text(encoding="utf-8")
        loaded: Mapping[str, Any] = (
            json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
        )
    except (ValueError, yaml.YAMLError) as error:
        raise Problem("invalid_request", f"{path}: {' '.join(str(error).split())}") from None
    return loaded


def check_writable(path: Path) -> None:
    """Raises OSError if no file can be written there; leaves all as it is."""
    is_new = not path.exists()
    path.open("ab").close()
    if is_new:
        path.unlink()


def written(path: Path, data: bytes) -> Path:
    """A file with these bytes. Raises OSError."""
    path.write_bytes(data)
    return path
