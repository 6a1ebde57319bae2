"""Protobuf by the text of its .proto file: protoc makes descriptors of it, in a process of its own.

The value begins with the place of its message in the file: a count and indexes of nested messages,
as zigzag varints; a count of 0 is the first message.
"""

from __future__ import annotations

import functools
import importlib
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from kafkalite.schemas.registry import Schema

_FILE: Final = "kafkalite_schema.proto"
_PROTOC_SECONDS: Final = 60.0
_MOST_INDEXES: Final = 32


def decode(schema: Schema, data: bytes) -> tuple[str, Any]:
    """The name of the message and its fields, as JSON has them.

    Raises ImportError without protoc, ValueError and protobuf's DecodeError.
    """
    json_format: Any = importlib.import_module("google.protobuf.json_format")
    path, rest = message_path(data)
    file, pool = _compiled(schema)
    name = _name(file, path)
    factory: Any = importlib.import_module("google.protobuf.message_factory")
    message = factory.GetMessageClass(pool.FindMessageTypeByName(name))()
    message.ParseFromString(rest)
    shown = json_format.MessageToDict(
        message, preserving_proto_field_name=True, descriptor_pool=pool
    )
    return name, shown


def message_path(data: bytes) -> tuple[list[int], bytes]:
    """The indexes of the message, and the bytes behind them. Raises ValueError."""
    count, rest = _varint(data)
    if count == 0:
        return [0], rest
    if not 0 < count <= _MOST_INDEXES:
        raise ValueError(f"a message has no {count} indexes")
    path: list[int] = []
    for _ in range(count):
        index, rest = _varint(rest)
        path.append(index)
    return path, rest


def _varint(data: bytes) -> tuple[int, bytes]:
    """A zigzag varint, and the bytes behind it."""
    value = 0
    for position, byte in enumerate(data[:5]):
        value |= (byte & 0x7F) << (7 * position)
        if not byte & 0x80:
            return (value >> 1) ^ -(value & 1), data[position + 1 :]
    raise ValueError("a number has no end")


def _name(file: Any, path: list[int]) -> str:
    """The full name of a message of a file."""
    names = [file.package] if file.package else []
    messages = file.message_type
    for index in path:
        if not 0 <= index < len(messages):
            raise ValueError(f"the schema has no message {path}")
        names.append(messages[index].name)
        messages = messages[index].nested_type
    return ".".join(names)


@functools.lru_cache(maxsize=1000)
def _compiled(schema: Schema) -> tuple[Any, Any]:
    """The descriptor of the schema's file, and a pool with it and all that it imports."""
    protoc = importlib.import_module("grpc_tools.protoc")
    descriptor: Any = importlib.import_module("google.protobuf.descriptor_pb2")
    pools: Any = importlib.import_module("google.protobuf.descriptor_pool")
    with tempfile.TemporaryDirectory(prefix="kafkalite-proto-") as folder:
        for name, text in ((_FILE, schema.text), *schema.references):
            path = (Path(folder) / name).resolve()
            if not path.is_relative_to(Path(folder).resolve()):
                raise ValueError(f"it imports {name!r}")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        target = Path(folder) / "descriptors"
        known = Path(protoc.__file__ or "").parent / "_proto"
        flags = ["--include_imports", f"--descriptor_set_out={target}"]
        done = subprocess.run(
            [sys.executable, "-m", "grpc_tools.protoc", f"-I{folder}", f"-I{known}", *flags, _FILE],
            capture_output=True,
            text=True,
            check=False,
            timeout=_PROTOC_SECONDS,
        )
        if done.returncode:
            raise ValueError(done.stderr.strip() or "protoc refuses it")
        files = descriptor.FileDescriptorSet.FromString(target.read_bytes()).file
    pool = pools.DescriptorPool()
    for each in files:
        pool.Add(each)
    return files[-1], pool
