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
    "health": Row("GET", "/health", questions.Nothing, answers.Health),
    "version": Row("GET", "/version", questions.Nothing, answers.VersionView),
    "clusters.list": Row("GET", "/clusters", paging.Page, list[answers.ClusterView]),
    "clusters.create": Row(
        "POST", "/clusters", questions.CreateCluster, answers.ClusterView, {"from_": "from"}
    ),
    "clusters.show": Row("GET", "/clusters/{cluster}", questions.Nothing, answers.ClusterView),
    "clusters.delete": Row(
        "DELETE", "/clusters/{cluster}", questions.ClusterName, questions.Nothing
    ),
    "reset": Row("POST", "/clusters/{cluster}/reset", lifecycle.Reset, answers.WasReset),
    "restart": Row("POST", "/clusters/{cluster}/restart", lifecycle.Restart, answers.ClusterView),
    "seed": Row("POST", "/clusters/{cluster}/seed", questions.Seed, answers.Seeded),
    "wait": Row("POST", "/clusters/{cluster}/wait", questions.Wait, answers.Waited),
    "snapshots.list": Row("GET", "/snapshots", paging.Page, list[answers.SnapshotView]),
    "snapshots.delete": Row(
        "DELETE", "/snapshots/{snapshot}", questions.SnapshotName, questions.Nothing
    ),
    "snapshots.save": Row(
        "PUT",
        "/clusters/{cluster}/snapshots/{snapshot}",
        questions.SnapshotName,
        answers.SnapshotView,
    ),
    "snapshots.restore": Row(
        "POST", "/clusters/{cluster}/restore", lifecycle.RestoreSnapshot, answers.ClusterView
    ),
    "snapshots.export": Row(
        "GET", "/snapshots/{snapshot}/archive", questions.SnapshotName, sightings.ArchiveFile
    ),
    "snapshots.import": Row(
        "PUT", "/snapshots/{snapshot}/archive", sightings.ImportSnapshot, answers.SnapshotView
    ),
    "export": Row("GET", "/clusters/{cluster}/archive", questions.Nothing, sightings.ArchiveFile),
    "topics.list": Row("GET", "/clusters/{cluster}/topics", paging.Page, list[answers.TopicView]),
    "topics.show": Row(
        "GET", "/clusters/{cluster}/topics/{topic}", questions.TopicName, answers.TopicView
    ),
    "topics.create": Row(
        "POST", "/clusters/{cluster}/topics", questions.CreateTopic, answers.TopicView
    ),
    "topics.delete": Row(
        "DELETE", "/clusters/{cluster}/topics/{topic}", questions.TopicName, questions.Nothing
    ),
    "topics.lose": Row(
        "POST", "/clusters/{cluster}/topics/{topic}/lose", questions.LoseRecords, answers.TopicView
    ),
    "topics.gap": Row(
        "POST", "/clusters/{cluster}/topics/{topic}/gap", questions.GapInTopic, answers.TopicView
    ),
    "topics.roll": Row(
        "POST", "/clusters/{cluster}/topics/{topic}/roll", questions.TopicName, answers.TopicView
    ),
    "topics.clean": Row("POST", "/clusters/{cluster}/clean", questions.Nothing, answers.Cleaned),
    "topics.lead": Row(
        "POST", "/clusters/{cluster}/topics/{topic}/lead", lifecycle.MoveLeader, answers.TopicView
    ),
    "records.read": Row(
        "GET",
        "/clusters/{cluster}/topics/{topic}/records",
        questions.ReadRecords,
        list[answers.RecordView],
        {"from_": "from"},
    ),
    "records.search": Row(
        "POST",
        "/clusters/{cluster}/topics/{topic}/search",
        questions.SearchRecords,
        answers.RecordsFound,
        {"from_": "from"},
    ),
    "records.show": Row(
        "GET",
        "/clusters/{cluster}/topics/{topic}/partitions/{partition}/records/{offset}",
        questions.RecordPlace,
        answers.ShownRecord,
    ),
    "records.write": Row(
        "POST",
        "/clusters/{cluster}/topics/{topic}/records",
        questions.WriteRecords,
        answers.Written,
    ),
    "groups.list": Row("GET", "/clusters/{cluster}/groups", paging.Page, list[answers.GroupView]),
    "groups.show": Row(
        "GET", "/clusters/{cluster}/groups/{group}", questions.GroupName, answers.GroupView
    ),
    "groups.committed": Row(
        "GET",
        "/clusters/{cluster}/groups/{group}/committed",
        questions.CommittedOffset,
        answers.CommittedView,
    ),
    "groups.seek": Row(
        "PUT", "/clusters/{cluster}/groups/{group}/offsets", questions.SeekGroup, answers.GroupView
    ),
    "groups.delete": Row(
        "DELETE", "/clusters/{cluster}/groups/{group}", questions.GroupName, questions.Nothing
    ),
    "groups.expire": Row(
        "POST",
        "/clusters/{cluster}/groups/{group}/expire",
        questions.ExpireMembers,
        answers.Expired,
    ),
    "groups.rebalance": Row(
        "POST",
        "/clusters/{cluster}/groups/{group}/rebalance",
        questions.RebalanceGroup,
        answers.GroupView,
    ),
    "groups.assign": Row(
        "PUT",
        "/clusters/{cluster}/groups/{group}/assignment",
        coordination.AssignGroup,
        answers.GroupView,
    ),
    "transactions.list": Row(
        "GET", "/clusters/{cluster}/transactions", paging.Page, list[answers.TransactionView]
    ),
    "transactions.show": Row(
        "GET",
        "/clusters/{cluster}/transactions/{transaction}",
        questions.TransactionName,
        answers.TransactionView,
    ),
    "transactions.fence": Row(
        "POST",
        "/clusters/{cluster}/transactions/{transaction}/fence",
        questions.TransactionName,
        answers.TransactionView,
    ),
    "transactions.abort": Row(
        "POST",
        "/clusters/{cluster}/transactions/{transaction}/abort",
        questions.TransactionName,
        answers.TransactionView,
    ),
    "coordinators.show": Row(
        "GET",
        "/clusters/{cluster}/coordinators",
        coordination.CoordinatorOf,
        coordination.CoordinatorView,
    ),
    "coordinators.move": Row(
        "POST",
        "/clusters/{cluster}/coordinators",
        coordination.MoveCoordinator,
        coordination.CoordinatorView,
    ),
    "nodes.list": Row("GET", "/clusters/{cluster}/nodes", paging.Page, list[answers.NodeView]),
    "nodes.add": Row("POST", "/clusters/{cluster}/nodes", questions.Nothing, answers.NodeView),
    "nodes.roll": Row(
        "POST", "/clusters/{cluster}/nodes/roll", lifecycle.RollNodes, list[answers.NodeView]
    ),
    "nodes.restart": Row(
        "POST", "/clusters/{cluster}/nodes/{node}/restart", lifecycle.RestartNode, answers.NodeView
    ),
    "nodes.stop": Row(
        "POST", "/clusters/{cluster}/nodes/{node}/stop", lifecycle.NodeName, answers.NodeView
    ),
    "nodes.start": Row(
        "POST", "/clusters/{cluster}/nodes/{node}/start", lifecycle.NodeName, answers.NodeView
    ),
    "nodes.remove": Row(
        "DELETE", "/clusters/{cluster}/nodes/{node}", lifecycle.NodeName, questions.Nothing
    ),
    "faults.list": Row("GET", "/clusters/{cluster}/faults", paging.Page, list[answers.FaultView]),
    "faults.show": Row(
        "GET", "/clusters/{cluster}/faults/{fault}", questions.FaultName, answers.FaultView
    ),
    "faults.add": Row(
        "POST", "/clusters/{cluster}/faults", rule.Rule, answers.FaultView, {"lasting": "for"}
    ),
    "faults.replace": Row(
        "PUT", "/clusters/{cluster}/faults/{id}", rule.Rule, answers.FaultView, {"lasting": "for"}
    ),
    "faults.replace_all": Row(
        "PUT", "/clusters/{cluster}/faults", questions.Faults, list[answers.FaultView]
    ),
    "faults.remove": Row(
        "DELETE", "/clusters/{cluster}/faults/{fault}", questions.FaultName, questions.Nothing
    ),
    "faults.clear": Row(
        "DELETE", "/clusters/{cluster}/faults", questions.Nothing, questions.Nothing
    ),
    "faults.release": Row(
        "POST",
        "/clusters/{cluster}/faults/{fault}/release",
        questions.ReleaseFault,
        answers.Released,
    ),
    "faults.unfired": Row(
        "GET", "/clusters/{cluster}/unfired-faults", questions.Nothing, answers.Unfired
    ),
    "faults.presets": Row(
        "GET", "/clusters/{cluster}/fault-presets", paging.Page, list[answers.PresetView]
    ),
    "faults.preset": Row(
        "POST",
        "/clusters/{cluster}/fault-presets/{preset}",
        questions.UsePreset,
        list[answers.FaultView],
    ),
    "clock.show": Row("GET", "/clusters/{cluster}/clock", questions.Nothing, answers.ClockView),
    "clock.advance": Row(
        "POST", "/clusters/{cluster}/clock/advance", questions.Advance, answers.Advanced
    ),
    "clock.freeze": Row(
        "POST", "/clusters/{cluster}/clock/freeze", questions.Nothing, answers.ClockView
    ),
    "clock.run": Row("POST", "/clusters/{cluster}/clock/run", questions.Nothing, answers.ClockView),
    "clock.skew": Row("POST", "/clusters/{cluster}/clock/skew", questions.Skew, answers.ClockView),
    "clock.reset": Row(
        "POST", "/clusters/{cluster}/clock/reset", questions.Nothing, answers.ClockView
    ),
    "doctor": Row(
        "GET", "/clusters/{cluster}/unsupported", paging.Page, list[answers.UnsupportedView]
    ),
    "traffic": Row(
        "GET", "/clusters/{cluster}/traffic", sightings.CountTraffic, sightings.TrafficView
    ),
    "connections.list": Row(
        "GET", "/clusters/{cluster}/connections", paging.Page, list[answers.ConnectionView]
    ),
    "connections.close": Row(
        "DELETE",
        "/clusters/{cluster}/connections/{connection}",
        lifecycle.ConnectionName,
        questions.Nothing,
    ),
    "requests.list": Row(
        "GET", "/clusters/{cluster}/requests", sightings.ListRequests, list[sightings.RequestView]
    ),
    "requests.show": Row(
        "GET", "/clusters/{cluster}/requests/{seq}", sightings.RequestNumber, sightings.RequestView
    ),
    "requests.clear": Row(
        "DELETE", "/clusters/{cluster}/requests", questions.Nothing, questions.Nothing
    ),
    "events": Row(
        "GET", "/clusters/{cluster}/events", sightings.ListEvents, list[sightings.EventView]
    ),
    "stream": Row(
        "GET", "/clusters/{cluster}/stream", sightings.Follow, sightings.Sighting, is_stream=True
    ),
    "spy.show": Row("GET", "/clusters/{cluster}/spy", questions.Nothing, sightings.SpyView),
    "spy.set": Row("PUT", "/clusters/{cluster}/spy", sightings.SetSpy, sightings.SpyView),
    "recording.start": Row(
        "PUT", "/clusters/{cluster}/recording", questions.Nothing, sightings.RecordingView
    ),
    "recording.save": Row(
        "GET", "/clusters/{cluster}/recording", questions.Nothing, sightings.RecordingFile
    ),
    "trace.save": Row("GET", "/clusters/{cluster}/trace", sightings.SaveTrace, sightings.TraceFile),
}
