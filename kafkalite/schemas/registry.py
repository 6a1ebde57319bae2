"""A schema registry, as Confluent's REST interface has it: schemas by id, with what they import."""

from __future__ import annotations

import base64
import json
import threading
from dataclasses import dataclass
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import Request, urlopen

_TIMEOUT_SECONDS: Final = 5.0
_MOST_BYTES: Final = 4 << 20
_MOST_REFERENCES: Final = 200


class RegistryError(Exception):
    """The registry does not answer, or has no such schema."""


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema: `kind` is "AVRO", "PROTOBUF" or "JSON".

    `references` are schemas that it imports, by the names that it uses for them, each after those
    that it imports itself.
    """

    schema_id: int
    kind: str
    text: str
    references: tuple[tuple[str, str], ...] = ()


class Registry:
    """Asks a registry, once for each schema. Its methods wait, and are for threads.

    `url` may have a user and a password. Raises ValueError for what is no URL of HTTP.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url.rpartition('@')[2]!r} is no http:// or https:// URL")
        host = parts.netloc.rpartition("@")[2]
        self._url = f"{parts.scheme}://{host}{parts.path.rstrip('/')}"
        self._headers = {"Accept": "application/vnd.schemaregistry.v1+json, application/json"}
        if parts.username is not None:
            pair = f"{parts.username}:{parts.password or ''}"
            self._headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        self._schemas: dict[int, Schema] = {}
        self._lock = threading.Lock()

    def schema(self, schema_id: int) -> Schema:
        """The schema of this id. Raises RegistryError."""
        with self._lock:
            if schema_id not in self._schemas:
                told = self._ask(f"/schemas/ids/{schema_id}")
                imported: dict[str, str] = {}
                self._import(told.get("references") or [], imported)
                self._schemas[schema_id] = Schema(
                    schema_id,
                    told.get("schemaType", "AVRO"),
                    told["schema"],
                    tuple(imported.items()),
                )
            return self._schemas[schema_id]

    def _import(self, references: list[dict[str, Any]], imported: dict[str, str]) -> None:
        for each in references:
            name = each["name"]
            if name in imported:
                continue
            if len(imported) >= _MOST_REFERENCES:
                raise RegistryError(f"it imports more than {_MOST_REFERENCES} others")
            subject = quote(each["subject"], safe="")
            told = self._ask(f"/subjects/{subject}/versions/{each['version']}")
            self._import(told.get("references") or [], imported)
            imported[name] = told["schema"]

    def _ask(self, path: str) -> dict[str, Any]:
        request = Request(self._url + path, headers=self._headers)
        try:
            with urlopen(request, timeout=_TIMEOUT_SECONDS) as response:
                data = response.read(_MOST_BYTES)
            told: dict[str, Any] = json.loads(data)
            return told
        except HTTPError as error:
            with error:
                raise RegistryError(f"{self._url}{path} answers {error.code}") from None
        except (URLError, OSError) as error:
            reason = getattr(error, "reason", error)
            raise RegistryError(f"{self._url} does not answer: {reason}") from None
        except ValueError:
            raise RegistryError(f"{self._url}{path} answers no JSON") from None
