"""The verbs on the command line: `kafkalite clock advance 46s`, `kafkalite wait group billing
--members 3`.

The commands are made of the table of verbs. The broker is found by --url and --token, by
KAFKALITE_URL and KAFKALITE_TOKEN, or by the ready file that --ready-file or
KAFKALITE_READY_FILE names; else it is the last that the user has started. Exit codes: 0 it is done,
1 it was refused or did not come true, 2 a mistake in what was asked.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast, get_args, get_origin

import msgspec

from kafkalite.client.connecting import Client, from_environment, read_ready_file
from kafkalite.client.safe_text import safe
from kafkalite.client.table import ROWS, Row
from kafkalite.client.values import check_writable, read_seed
from kafkalite.config.flags import MISTAKE, Parser, mistake
from kafkalite.control.conversion import converted
from kafkalite.control.faults.rule import KINDS, When
from kafkalite.control.problems import Problem
from kafkalite.control.questions import Until
from kafkalite.control.sightings import File

if TYPE_CHECKING:
    from kafkalite.control.verbs import Verb

_DONE: Final = 0
_REFUSED: Final = 1
# Verbs that answer with a file.
_FILES: Final = {
    "trace.save": "ZIP",
    "export": "tar",
    "snapshots.export": "tar",
    "recording.save": "ZIP",
}
# Actions of faults that one flag can say.
_SIMPLE_ACTIONS: Final = (
    *("delay", "hold", "error", "drop", "silence", "cut", "throttle", "corrupt", "repeat"),
    "count",
)


def main(arguments: Sequence[str]) -> int:
    """Do a verb; the exit code."""
    parser = _parser(with_help=not {"-h", "--help"}.isdisjoint(arguments))
    given = vars(parser.parse_args(list(arguments)))
    verb, kind = given.pop("verb"), given.pop("condition", None)
    where = {name: given.pop(name) for name in ("url", "token", "ready_file", "cluster", "json")}
    file = given.pop("file") if verb in _FILES else Path()
    if verb == "clusters.delete":
        given["cluster"] = where["cluster"]
    try:
        if verb in _FILES:  # before a recording is ended for it
            check_writable(file)
    except OSError as error:
        return _not_written(file, error, MISTAKE)
    try:
        client = client_of(where)
        fields = _fields(verb, kind, {name: v for name, v in given.items() if v is not None})
    except OSError as error:
        return mistake(f"{error.filename} cannot be read: {error.strerror}")
    except (ValueError, KeyError, msgspec.ValidationError, Problem) as error:
        return mistake(error)
    try:
        if ROWS[verb].is_stream:
            return _follow(client, fields)
        answer = client.ask(verb, **fields)
    except Problem as problem:
        print(f"kafkalite: {problem}", file=sys.stderr)
        return MISTAKE if problem.is_mistake else _REFUSED
    except OSError as error:
        print(f"kafkalite: no broker answers: {error}", file=sys.stderr)
        return _REFUSED
    if isinstance(answer, File):
        try:
            file.write_bytes(answer.data)
        except OSError as error:
            return _not_written(file, error, _REFUSED)
        print(file)
        return _DONE
    print_answer(answer, as_json=where["json"])
    return _REFUSED if getattr(answer, "met", True) is False else _DONE


def _not_written(file: Path, error: OSError, code: int) -> int:
    print(f"kafkalite: {file} cannot be written: {error.strerror}", file=sys.stderr)
    return code


def _follow(client: Client, fields: Mapping[str, Any]) -> int:
    """Print what comes, a JSON value a line, until it ends or Ctrl-C."""
    with suppress(KeyboardInterrupt):
        for seen in client.stream(**fields):
            print(json.dumps(msgspec.to_builtins(seen)), flush=True)
    return _DONE


def client_of(where: Mapping[str, Any]) -> Client:
    """A client of the control port that flags, or the environment, name.

    Raises ValueError if none does, OSError, and KeyError for a broker without a control port.
    """
    if where["url"] is not None:
        url, token = where["url"], os.environ.get("KAFKALITE_TOKEN", "")
    elif where["ready_file"] is not None:
        url, token = read_ready_file(where["ready_file"])
    else:
        try:
            url, token = from_environment()
        except KeyError:
            raise ValueError(
                "where is the broker? none with --control-port runs here; "
                "for another give --url and --token, or --ready-file"
            ) from None
    return Client(url, where["token"] or token, where["cluster"])


def _parser(*, with_help: bool) -> Parser:
    """`with_help`: say of each verb what it does. That takes the table of the broker's verbs."""
    verbs: Mapping[str, Verb] = {}
    if with_help:
        from kafkalite.control.verbs import VERBS  # the whole broker

        verbs = VERBS
    common = Parser(add_help=False)
    common.add_argument("--url", help="http://HOST:PORT of the control port")
    common.add_argument("--token", help="its token")
    common.add_argument("--ready-file", type=Path, help="of a broker with a control port")
    common.add_argument("-c", "--cluster", default="default", help="the cluster (default: default)")
    common.add_argument("--json", action="store_true", help="print JSON")
    parser = Parser(prog="kafkalite", description="Verbs for a broker with --control-port.")
    words = parser.add_subparsers(required=True, metavar="VERB")
    groups: dict[str, Any] = {}
    for name, row in ROWS.items():
        group, _, word = name.partition(".")
        if name == "wait":
            _add_wait(words, common)
            continue
        inner = words
        if word:
            if group not in groups:
                groups[group] = words.add_parser(group).add_subparsers(
                    required=True, metavar="VERB"
                )
            inner = groups[group]
        doc = verbs[name].doc if verbs else ""
        command = inner.add_parser(
            word or group,
            parents=[common],
            help=doc.partition("\n\n")[0],
            description=doc,
            epilog=inspect.getdoc(row.request),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.set_defaults(verb=name)
        _add_fields(command, name, row)
    return parser


def _add_fields(command: argparse.ArgumentParser, verb: str, row: Row) -> None:
    if verb in ("faults.add", "faults.replace", "faults.replace_all", "seed"):
        command.add_argument("file", nargs="?", type=Path, help="JSON or YAML")
        if verb == "faults.add":
            _add_fault_flags(command)
        return
    _add_struct(command, row.request, skip={"cluster"} if verb != "clusters.delete" else set())
    if verb in _FILES:
        command.add_argument("file", type=Path, help=f"the {_FILES[verb]} file to write")


def _add_fault_flags(command: argparse.ArgumentParser) -> None:
    for name in ("id", "skip", "times", "every", "probability"):
        command.add_argument(f"--{name}")
    for name in When.__struct_fields__:
        if name not in ("request", "records"):
            command.add_argument(f"--{name.replace('_', '-')}", dest=f"when_{name}")
    for kind in _SIMPLE_ACTIONS:
        flag = kind in ("hold", "count")
        options: dict[str, Any] = {"action": "store_true", "default": None} if flag else {}
        command.add_argument(f"--{kind}", dest=f"do_{kind}", **options)


def _add_wait(words: Any, common: Parser) -> None:
    kinds = words.add_parser("wait").add_subparsers(required=True, metavar="CONDITION")
    for each in msgspec.structs.fields(Until):
        struct = _struct_in(each.type)
        if struct is None or each.encode_name in ("not", "request"):
            continue
        doc = inspect.getdoc(struct)
        command = kinds.add_parser(each.encode_name, parents=[common], help=doc, description=doc)
        command.set_defaults(verb="wait", condition=each.encode_name)
        command.add_argument("--timeout", default="10s", help="default: 10s")
        _add_struct(command, struct, skip=set())


def _struct_in(type_: Any) -> type[msgspec.Struct] | None:
    """The struct of `Struct | None`."""
    for each in get_args(type_):
        if isinstance(each, type) and issubclass(each, msgspec.Struct):
            return each
    return None


def _add_struct(
    command: argparse.ArgumentParser, struct: type[msgspec.Struct], *, skip: set[str]
) -> None:
    for each in msgspec.structs.fields(struct):
        if each.name in skip:
            continue
        flag = f"--{each.encode_name.replace('_', '-')}"
        if _is(each.type, bool):
            command.add_argument(flag, dest=each.name, action="store_true", default=None)
        elif _is(each.type, dict) or _is(each.type, list):
            command.add_argument(
                flag, dest=each.name, action="append", metavar="VALUE", help="may be repeated"
            )
        elif each.required or (struct.__name__ == "Advance" and each.name == "by"):
            nargs = None if each.required else "?"
            command.add_argument(each.name, nargs=nargs)
        else:
            says = "" if each.default in (None, msgspec.NODEFAULT) else f"default: {each.default}"
            command.add_argument(flag, dest=each.name, metavar=each.encode_name.upper(), help=says)


def _is(type_: Any, wanted: type) -> bool:
    return wanted in (type_, get_origin(type_), *(get_origin(a) or a for a in get_args(type_)))


def _fields(verb: str, kind: str | None, given: dict[str, Any]) -> dict[str, Any]:
    """The fields of the verb's request. Raises ValidationError, ValueError and OSError."""
    row = ROWS[verb]
    if hasattr(row.request, "upload"):
        Path(given["file"]).open("rb").close()
    if kind is not None:
        timeout = given.pop("timeout")
        until = {kind: _loaded(given, _struct_of_kind(kind))}
        checked = converted({"until": until, "timeout": timeout}, row.request, strict=False)
    elif verb == "faults.add" and "file" not in given:
        checked = converted(_rule(given), row.request, strict=False)
    elif "file" in given and not hasattr(row.request, "upload"):
        loaded = read_seed(given["file"])
        if verb == "faults.replace_all" and isinstance(loaded, list):
            loaded = {"faults": loaded}
        try:
            checked = converted(loaded, row.request, strict=False)
        except msgspec.ValidationError as error:
            raise ValueError(f"{given['file']}: {error}") from None
    else:
        checked = converted(_loaded(given, row.request), row.request, strict=False)
    return {name: getattr(checked, name) for name in checked.__struct_fields__}


def _struct_of_kind(kind: str) -> type[msgspec.Struct]:
    field = next(each for each in msgspec.structs.fields(Until) if each.encode_name == kind)
    struct = _struct_in(field.type)
    assert struct is not None
    return struct


def _loaded(given: Mapping[str, Any], struct: type[msgspec.Struct]) -> dict[str, Any]:
    """Values of flags as JSON has them: `name=value` for maps, JSON for what is nested."""
    loaded: dict[str, Any] = {}
    for each in msgspec.structs.fields(struct):
        if each.name not in given:
            continue
        value = given[each.name]
        if _is(each.type, dict):
            pairs = [pair.partition("=") for pair in value]
            value = {name: _nested(text) for name, _, text in pairs}
        elif _is(each.type, list):
            value = [_nested(text) for text in value]
        loaded[each.encode_name] = value
    return loaded


def _nested(text: str) -> Any:
    """A value of a map or a list: JSON where it looks like it."""
    return json.loads(text) if text[:1] in ("{", "[") else text


def _rule(given: Mapping[str, Any]) -> dict[str, Any]:
    """A fault as flags say it."""
    when = {name[5:]: _value(text) for name, text in given.items() if name.startswith("when_")}
    do = [
        {kind: _value(given[f"do_{kind}"])} for kind in KINDS if given.get(f"do_{kind}") is not None
    ]
    rule: dict[str, Any] = {"when": when, "do": do}
    for name in ("id", "skip", "times", "every", "probability"):
        if name in given:
            rule[name] = None if given[name] in ("all", "none") else given[name]
    return rule


def _value(text: Any) -> Any:
    """A number where the text is one."""
    if isinstance(text, str):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text


def print_answer(answer: Any, *, as_json: bool) -> None:
    """Print what a verb answered: a list as a table, anything else as a line for each field."""
    plain = msgspec.to_builtins(answer)
    if as_json:
        print(json.dumps(plain, indent=2))
    elif isinstance(plain, list):
        _print_rows(cast("list[dict[str, Any]]", plain))
    else:
        for name, value in plain.items():
            text = value if isinstance(value, str) else json.dumps(value)
            print(f"{name}: {safe(text)}")


def _id_of(value: Any) -> Any:
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    return fields.get("id", value)


def _cell(value: Any) -> str:
    return "-" if value is None else safe(str(value))


def _print_rows(rows: list[dict[str, Any]]) -> None:
    """A table of what is plain in each row, and there in any; what has an id is shown by it."""
    if not rows:
        print("there are none", file=sys.stderr)
        return
    rows = [{name: _id_of(value) for name, value in row.items()} for row in rows]
    names = [
        name
        for name, value in rows[0].items()
        if not isinstance(value, (dict, list)) and any(row.get(name) is not None for row in rows)
    ]
    if not names:
        for row in rows:
            print(json.dumps(row))
        return
    table = [names, *([_cell(row.get(name)) for name in names] for row in rows)]
    widths = [max(len(line[i]) for line in table) for i in range(len(names))]
    for line in table:
        cells = (text.ljust(width) for text, width in zip(line, widths, strict=True))
        print("  ".join(cells).rstrip())
