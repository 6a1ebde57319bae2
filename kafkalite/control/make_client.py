"""Makes client/table.py of the table of verbs: what a client must know of it, without a
broker.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final, get_args, get_origin

import msgspec

from kafkalite.control.verbs import VERBS, Verb

_TARGET: Final = Path(__file__).parent.parent / "client" / "table.py"
_HEAD: Final = '''\
"""The verbs as clients know them. Made by control/make_client.py, not to be edited."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from kafkalite.control import answers, coordination, lifecycle, paging, questions, sightings
from kafkalite.control.faults import rule


@dataclass(frozen=True, slots=True)
class Row:
    """One verb. `names` are the fields that are called otherwise in JSON.

    `is_stream`: the answer comes as often as there is one.
    """

    method: str
    path: str
    request: Any
    answer: Any
    names: dict[str, str] = field(default_factory=dict[str, str])
    is_stream: bool = False


ROWS: Final[dict[str, Row]] = {
'''


def table() -> str:
    """The text of client/table.py."""
    return _HEAD + "".join(_row(verb) for verb in VERBS.values()) + "}\n"


def _row(verb: Verb) -> str:
    names = {
        each.name: each.encode_name
        for each in msgspec.structs.fields(verb.request)
        if each.name != each.encode_name
    }
    parts = [repr(verb.method), repr(verb.path), _name(verb.request), _name(verb.answer)]
    if names:
        parts.append(repr(names))
    if verb.is_stream:
        parts.append("is_stream=True")
    return f"    {verb.name!r}: Row({', '.join(parts)}),\n".replace("'", '"')


def _name(type_: Any) -> str:
    if get_origin(type_) is list:
        return f"list[{_name(get_args(type_)[0])}]"
    module = re.sub(r".*\.", "", type_.__module__)
    return f"{module}.{type_.__name__}"


def main() -> None:
    """Write the file."""
    _TARGET.write_text(table())


if __name__ == "__main__":
    main()
