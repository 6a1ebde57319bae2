"""Each handler takes and returns what its API's messages are: the table itself cannot say so."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

from kafkalite import apis
from kafkalite.apis import APIS, Api
from kafkalite.wire.api_messages import request_class, response_class
from tests.each import for_each


def declared(api: Api) -> ast.FunctionDef | ast.AsyncFunctionDef:
    """`handle` as the source has it: machine code keeps no annotations."""
    source = Path(apis.__file__).with_name(f"{api.key.name.lower()}.py").read_text()
    (found,) = (
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == "handle"
    )
    return found


@for_each(APIS.values())
def test_a_handler_is_annotated_with_the_messages_of_its_api(api: Api) -> None:
    """The types a handler may return: rows where the table says `rows`, else messages."""
    module = importlib.import_module(f"kafkalite.apis.{api.key.name.lower()}")
    assert api.load() is module.handle
    handle = declared(api)
    parameters = handle.args.args
    assert [each.arg for each in parameters[:2]] == ["services", "context"]
    suffix = "Row" if api.rows else ""
    asked, answered = (
        f"{class_(api.key).__name__}{suffix}" for class_ in (request_class, response_class)
    )
    assert parameters[2].annotation is not None
    assert ast.unparse(parameters[2].annotation) == asked
    assert handle.returns is not None
    words = ast.unparse(handle.returns)
    if hasattr(module, "Answer"):  # a row, one that is kept, one that is built in slices
        row, *others = module.Answer.split(" | ")
        assert row == answered
        assert others in (["SharedResponse"], ["SharedResponse", "LargeResponse"])
        words = words.replace("Answer", answered)
    allowed = {answered, "None", f"Coroutine[Any, Any, {answered}]"}
    allowed |= {"SharedResponse", "Coroutine[Any, Any, LargeResponse]"}
    assert words.split(" | ")[0] == answered
    for part in words.replace(f"{answered} | None]", f"{answered}]").split(" | "):
        assert part in allowed, words


@for_each(APIS.values())
def test_the_names_in_the_annotations_are_the_messages_themselves(api: Api) -> None:
    module = importlib.import_module(f"kafkalite.apis.{api.key.name.lower()}")
    messages = importlib.import_module(f"kafkalite.wire.messages.{api.key.name.lower()}")
    for class_ in (request_class(api.key), response_class(api.key)):
        name = f"{class_.__name__}{'Row' if api.rows else ''}"
        assert getattr(module, name) is getattr(messages, name)
