"""The files of the messages say what they declare, and cost only those who use them."""

from __future__ import annotations

import importlib
import subprocess
import sys
from typing import Any

from conformance.harness.messages import every_message
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import FieldType
from kafkalite.wire.schema import Kind, Shape, fields_of, message_of
from tests.each import for_each


@for_each(list(every_message()))
def test_a_file_opens_with_its_versions(class_: type[Any]) -> None:
    message = message_of(class_)
    low, high = message.min_version, message.max_version
    versions = f"version {low}" if low == high else f"versions {low}-{high}"
    if message.flexible_since is not None:
        versions += f", flexible since {message.flexible_since}"
    doc = importlib.import_module(class_.__module__).__doc__ or ""
    if message.kind in (Kind.REQUEST, Kind.RESPONSE):
        name = class_.__name__.removesuffix("Request").removesuffix("Response")
        assert doc.startswith(f"{name} (key {message.key}), {versions}.")
        assert class_.__module__.endswith(f".{ApiKey(message.key).name.lower()}")
    elif message.kind is not Kind.RECORD_KEY:
        first = " ".join(doc.partition("\n\n")[0].split())
        assert first.startswith(class_.__name__.removesuffix("Value"))
        assert first.endswith(f"{versions}.")


@for_each(list(every_message()))
def test_fields_are_in_some_version(class_: type[Any]) -> None:
    """No field of a version that is gone, and no bound that bounds nothing."""
    message = message_of(class_)

    def check(struct: type[Any], low: int, high: int) -> None:
        for field in fields_of(struct):
            first, last = max(field.since, low), min(field.until, high)
            assert first <= last, f"{struct.__name__}.{field.name} is in no version"
            assert field.since == 0 or field.since > message.min_version
            if field.tag is not None:
                assert message.is_flexible(first), f"{struct.__name__}.{field.name}"
            if field.shape is Shape.ARRAY or not isinstance(field.element, FieldType):
                assert field.make_default() is not field.default or field.default is None
            if not isinstance(field.element, FieldType):
                check(field.element, first, last)

    check(class_, message.min_version, message.max_version)


def test_only_the_messages_that_are_used_are_imported() -> None:
    program = (
        "import sys; from kafkalite.wire.codec import decode_request;"
        "decode_request(bytes.fromhex('000c 0000 00000007 ffff 0001 67 00000003 0002 6d31'));"
        "print(*(name for name in sys.modules if name.startswith('kafkalite.wire.messages.')))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert shown.stdout.split() == ["kafkalite.wire.messages.heartbeat"]
