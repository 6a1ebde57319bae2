"""Recording what clients say to a cluster and hear of it, from its data on."""

from __future__ import annotations

import trio

import kafkalite
from kafkalite.config.definition import BROKER_CONFIGS
from kafkalite.control.cluster import ControlledCluster
from kafkalite.control.clusters import Clusters
from kafkalite.control.problems import Problem
from kafkalite.control.questions import Nothing
from kafkalite.control.recording import Tape, written
from kafkalite.control.shared_configs import shared_configs
from kafkalite.control.sightings import RecordingFile, RecordingView
from kafkalite.control.spy.spy import Begun
from kafkalite.log.meta_properties import random_id
from kafkalite.requests.slices import in_slices_of_task

_PLAINTEXT = "PLAINTEXT"


async def start_recording(
    clusters: Clusters, cluster: ControlledCluster, request: Nothing
) -> RecordingView:
    """Keep the data as it is, and all frames from now on. A recording that went on is forgotten.

    The broker opens its data anew, as a replay does: connections are cut, and groups have no
    members.
    """
    for listener in cluster.broker.listeners:
        protocol = listener.config.security_protocol
        if protocol != _PLAINTEXT:
            raise Problem("refused", f"{protocol} cannot be replayed, so it is not recorded")
    spy, name = cluster.spy, f"recording-{random_id()}"
    spy.recording = None
    await clusters.save(cluster, name)
    try:
        data = await clusters.archived(name)
        tape = Tape(lambda: cluster.clock.now_ms())
        spy.record_next(tape)
        await clusters.restore(cluster, name)
    finally:
        await clusters.delete_snapshot(name)
    spy.recording = Begun(data, tape, cluster.broker)
    return RecordingView(len(tape), tape.used_bytes)


async def save_recording(cluster: ControlledCluster, request: Nothing) -> RecordingFile:
    """End a recording: a ZIP file that `kafkalite replay` tells again."""
    begun, cluster.spy.recording = cluster.spy.recording, None
    if begun is None:
        raise Problem("conflict", "nothing is recorded", hint="`recording start` begins")
    cluster.spy.record_on(None)
    if cluster.broker is not begun.broker:
        raise Problem("conflict", "the cluster was reset or restarted meanwhile")
    meta = {
        "kafkalite": kafkalite.__version__,
        "configs": {
            name: value
            for name, value in shared_configs(cluster.broker.config).items()
            if name in BROKER_CONFIGS and not BROKER_CONFIGS[name].sensitive
        },
        "nodes": len(begun.broker.config.node_ids),
    }
    tape = await in_slices_of_task(begun.tape.passing())
    file = await trio.to_thread.run_sync(written, meta, begun.data, tape)
    return RecordingFile(file)
