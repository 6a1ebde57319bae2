"""After warming up, no message between nodes needs a codec that is not there."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import kafkalite

PACKAGE = Path(kafkalite.__file__).parent
# They ask other nodes.
ROOMS = ("peers", "quorum", "replication")
# A codec is made by compiling it, which Python tells an audit hook.
SCRIPT = """
import importlib, sys
from kafkalite.peers.exchange import Exchange
from kafkalite.peers.warm_up import make_codecs
from kafkalite.wire.codec import encode_response
from kafkalite.wire.message_codec import join
from kafkalite.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from kafkalite.wire.schema import message_of

asked = []
for each in sys.argv[1:]:
    module, _, title = each.partition(":")
    module = importlib.import_module(module)
    request, response = getattr(module, title + "Request"), getattr(module, title + "Response")
    message = message_of(request)
    version = 3 if title == "ApiVersions" else message.max_version
    answer = join(encode_response(message.key, version, 1, response()))
    served = ApiVersion(
        api_key=message.key, min_version=message.min_version, max_version=message.max_version
    )
    asked.append((request, response, ApiVersionsResponse(api_keys=[served]), answer))
make_codecs()
made = []
sys.addaudithook(lambda event, _: made.append(event) if event == "compile" else None)
for request, response, versions, answer in asked:
    exchange = Exchange("me")
    exchange.versions_received(versions)
    exchange.request(request())
    assert isinstance(exchange.receive(answer), response)
    if made:
        sys.exit(f"{request.__name__} needed a codec")
print(len(asked))
"""


def messages() -> set[str]:
    """Every request that is imported to ask another node with, as "module:Title"."""
    found: set[str] = set()
    for path in (path for room in ROOMS for path in (PACKAGE / room).glob("*.py")):
        if path.name == "warm_up.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                title = node.module.rpartition(".")[2].title().replace("_", "")
                names = {alias.name for alias in node.names}
                if f"{title}Request" in names:
                    found.add(f"{node.module}:{title}")
    return found


def test_no_codec_is_made_later() -> None:
    asked = sorted(messages())
    assert "kafkalite.wire.messages.envelope:Envelope" in asked
    command = [sys.executable, "-c", SCRIPT, *asked]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == len(asked) >= 11
