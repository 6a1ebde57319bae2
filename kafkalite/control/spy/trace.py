"""A trace: a ZIP file that says all that is known of a run.

meta.json        versions, configs, nodes, faults with what became of them
events.jsonl     changes of state, one a line
requests.jsonl   requests and answers, decoded, one a line
frames.bin       if asked for: of each request its number, the sizes of request and answer, and
                 their bytes (int64, int32, int32, all big endian)

Passwords, keys and tokens are in none of them (secrets.py).
"""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Iterable, Mapping
from time import time_ns
from typing import TYPE_CHECKING, Any, Final

import msgspec
import trio

import kafkalite
from kafkalite.config.sources import is_sensitive
from kafkalite.control.operations.faults import fault_view
from kafkalite.control.secrets import HIDDEN
from kafkalite.control.spy.decoded import viewing
from kafkalite.control.spy.frames import answer_without_secrets, request_without_secrets
from kafkalite.control.spy.ring import LENGTH_BYTES, Entry
from kafkalite.requests.slices import WaitingSteps, in_slices_of_task, mapped

if TYPE_CHECKING:
    from kafkalite.control.cluster import ControlledCluster
    from kafkalite.control.spy.events import Event

FRAME_HEAD: Final = struct.Struct(">qii")
_encode: Final = msgspec.json.Encoder().encode


async def trace_of(cluster: ControlledCluster, *, with_frames: bool) -> bytes:
    """The ZIP file of a cluster as it is now."""
    ring = cluster.spy.ring
    cluster.spy.commits.settle()
    files = {
        "meta.json": [_encode(_meta(cluster))],
        "events.jsonl": await in_slices_of_task(mapped(_event_line, cluster.spy.events.after(0))),
        "requests.jsonl": await in_slices_of_task(_request_lines(cluster)),
    }
    if with_frames:
        files["frames.bin"] = await in_slices_of_task(mapped(_frames, ring))
    return await trio.to_thread.run_sync(zipped, files)


def _meta(cluster: ControlledCluster) -> dict[str, Any]:
    broker = cluster.broker
    return {
        "kafkalite": kafkalite.__version__,
        "written_ms": time_ns() // 1_000_000,
        "cluster": cluster.name,
        "cluster_id": broker.services.cluster.cluster_id,
        "bootstrap": broker.bootstrap,
        "spy": cluster.spy.mode,
        "configs": _without_secrets(broker.config.given),
        "faults": [fault_view(cluster, each) for each in cluster.faults.book.states()]
        if cluster.has_faults
        else [],
    }


def _without_secrets(given: Mapping[str, str]) -> dict[str, str]:
    return {name: HIDDEN if is_sensitive(name) else value for name, value in given.items()}


def _event_line(event: Event) -> bytes:
    from kafkalite.control.operations.spying import event_view

    return _encode(event_view(event)) + b"\n"


def _request_lines(cluster: ControlledCluster) -> WaitingSteps[list[bytes]]:
    names, times = cluster.broker.services.topics.name_of, cluster.spy.times
    lines: list[bytes] = []
    for entry in cluster.spy.ring:
        view = yield from viewing(entry, names, times, bodies=True)
        lines.append(_encode(view) + b"\n")
        yield None
    return lines


def _frames(entry: Entry) -> bytes:
    request, answer = request_without_secrets(entry), answer_without_secrets(entry)[LENGTH_BYTES:]
    return FRAME_HEAD.pack(entry.seq, len(request), len(answer)) + request + answer


def zipped(files: Mapping[str, Iterable[bytes]]) -> bytes:
    """A ZIP file of files, each in pieces: to join them would keep all other threads waiting."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, pieces in files.items():
            with archive.open(name, "w") as file:
                file.writelines(pieces)
    return target.getvalue()
