"""THE table of verbs: HTTP, the command line, the clients and the documentation derive from it.

A verb is a function of the clusters or of one cluster, and of a request. Its path says which
fields of the request it takes from the path; the others come in the query of a GET or DELETE,
else in a JSON body.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Collection, Generator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, get_type_hints

import trio

from kafkalite.control.cluster import ControlledCluster
from kafkalite.control.clusters import Clusters
from kafkalite.control.operations import (
    assigning,
    clusters,
    coordinators,
    faults,
    following,
    groups,
    recording,
    searching,
    showing,
    spying,
    state,
    topics,
    traffic,
    unsupported,
)
from kafkalite.control.problems import Problem
from kafkalite.log.loggers import lines_about
from kafkalite.server.listener import StartError

_CLUSTER: Final = "/clusters/{cluster}"
EVENT_STREAM: Final = "text/event-stream"


@cache
def _types_of(function: Callable[..., Awaitable[Any]]) -> Mapping[str, Any]:
    """The types of what it takes and gives. Reading them anew took longer than most verbs do."""
    return get_type_hints(function)


@cache
def _parameters_of(function: Callable[..., Awaitable[Any]]) -> Collection[str]:
    return inspect.signature(function).parameters


@dataclass(frozen=True, slots=True)
class Verb:
    """One row. `name` is "group.verb"; `path` is below /v1.

    `takes_turns`: it puts another broker in the place of a cluster's, or needs its data or its
    nodes to stay.
    A cluster does them one after the other, each to its end, though its client may be gone; none
    once the cluster ends.
    """

    name: str
    method: str
    path: str
    function: Callable[..., Awaitable[Any]]
    takes_turns: bool = False

    @property
    def doc(self) -> str:
        """Says what it does: the first paragraph is a sentence."""
        return inspect.cleandoc(self.function.__doc__ or "")

    @property
    def request(self) -> Any:
        """The type of what it is asked with."""
        return _types_of(self.function)["request"]

    def asked(self, **fields: Any) -> Any:
        """A request that Python puts together. Raises Problem for what it may not be."""
        from kafkalite.control.conversion import checked

        return checked(self.request(**fields))

    @property
    def answer(self) -> Any:
        """The type of what it gives; of a stream, that of one message."""
        given = _types_of(self.function)["return"]
        return getattr(given, "message", given)

    @property
    def is_stream(self) -> bool:
        """Tells whether it gives messages as they come."""
        return hasattr(_types_of(self.function)["return"], "message")

    @property
    def content_type(self) -> str:
        """The type of the answer's body: JSON, unless it is a file or a stream."""
        if self.is_stream:
            return EVENT_STREAM
        content_type: str = getattr(self.answer, "content_type", "application/json")
        return content_type

    @property
    def in_path(self) -> tuple[str, ...]:
        """The names in its path."""
        return tuple(re.findall(r"\{(\w+)\}", self.path))

    @property
    def is_of_cluster(self) -> bool:
        """Tells whether it is asked of one cluster."""
        return "cluster" in _parameters_of(self.function)

    @property
    def has_body(self) -> bool:
        """Tells whether its request comes as JSON."""
        return self.method in ("POST", "PUT")

    @property
    def upload(self) -> str | None:
        """The type of the file that comes as its body; None if its request comes as JSON."""
        content_type: str | None = getattr(self.request, "upload", None)
        return content_type

    async def run(self, all_clusters: Clusters, cluster: str, request: Any) -> Any:
        """Do it. Raises Problem."""
        wanted = _parameters_of(self.function)
        arguments: dict[str, Any] = {"request": request}
        if "clusters" in wanted:
            arguments["clusters"] = all_clusters
        if "cluster" not in wanted:
            return await self.function(**arguments)
        about = all_clusters.get(cluster)
        answer: Any = None
        with lines_about(about.log_name):
            async with about.turn if self.takes_turns else nullcontext():
                arguments["cluster"] = all_clusters.get(cluster)
                if self.takes_turns and about.stopping.is_set():
                    raise Problem("conflict", "the cluster is ending")
                with (
                    _explained(about, has_turn=self.takes_turns),
                    trio.CancelScope(shield=self.takes_turns),
                ):
                    answer = await self.function(**arguments)
        about.prepare_reset()
        return answer


@contextmanager
def _explained(cluster: ControlledCluster, *, has_turn: bool) -> Generator[None]:
    """Raises Problem where a verb fails for what became of its broker.

    `has_turn`: no other verb puts another broker in its place meanwhile.
    """
    broker = cluster.broker
    try:
        yield
    except Problem:
        raise
    except StartError as error:
        raise Problem("refused", str(error)) from error
    except Exception as error:
        if cluster.core.ended.is_set():
            hint = "`restart` or `reset` begins another one"
            raise Problem("conflict", "the broker has ended", hint=hint) from error
        if has_turn or (broker is cluster.broker and not cluster.turn.locked()):
            raise
        why = "the cluster was reset or restarted meanwhile"
        raise Problem("conflict", why) from error


def _of(path: str = "") -> str:
    return _CLUSTER + path


_TABLE: Final = (
    Verb("health", "GET", "/health", clusters.health),
    Verb("version", "GET", "/version", clusters.version),
    Verb("clusters.list", "GET", "/clusters", clusters.list_clusters),
    Verb("clusters.create", "POST", "/clusters", clusters.create_cluster),
    Verb("clusters.show", "GET", _of(), state.show_cluster),
    Verb("clusters.delete", "DELETE", _of(), clusters.delete_cluster),
    Verb("reset", "POST", _of("/reset"), state.reset, takes_turns=True),
    Verb("restart", "POST", _of("/restart"), state.restart, takes_turns=True),
    Verb("seed", "POST", _of("/seed"), clusters.seed),
    Verb("wait", "POST", _of("/wait"), state.wait),
    Verb("snapshots.list", "GET", "/snapshots", clusters.list_snapshots),
    Verb("snapshots.delete", "DELETE", "/snapshots/{snapshot}", clusters.delete_snapshot),
    Verb(
        "snapshots.save",
        "PUT",
        _of("/snapshots/{snapshot}"),
        clusters.save_snapshot,
        takes_turns=True,
    ),
    Verb("snapshots.restore", "POST", _of("/restore"), clusters.restore_snapshot, takes_turns=True),
    Verb("snapshots.export", "GET", "/snapshots/{snapshot}/archive", clusters.export_snapshot),
    Verb("snapshots.import", "PUT", "/snapshots/{snapshot}/archive", clusters.import_snapshot),
    Verb("export", "GET", _of("/archive"), clusters.export_cluster, takes_turns=True),
    Verb("topics.list", "GET", _of("/topics"), topics.list_topics),
    Verb("topics.show", "GET", _of("/topics/{topic}"), topics.show_topic),
    Verb("topics.create", "POST", _of("/topics"), topics.create_topic),
    Verb("topics.delete", "DELETE", _of("/topics/{topic}"), topics.delete_topic),
    Verb("topics.lose", "POST", _of("/topics/{topic}/lose"), topics.lose_records),
    Verb("topics.gap", "POST", _of("/topics/{topic}/gap"), topics.make_gap),
    Verb("topics.roll", "POST", _of("/topics/{topic}/roll"), topics.roll_topic),
    Verb("topics.clean", "POST", _of("/clean"), topics.clean),
    Verb("topics.lead", "POST", _of("/topics/{topic}/lead"), state.move_leader),
    Verb("records.read", "GET", _of("/topics/{topic}/records"), topics.read_records),
    Verb("records.search", "POST", _of("/topics/{topic}/search"), searching.search_records),
    Verb(
        "records.show",
        "GET",
        _of("/topics/{topic}/partitions/{partition}/records/{offset}"),
        showing.show_record,
    ),
    Verb("records.write", "POST", _of("/topics/{topic}/records"), topics.write_records),
    Verb("groups.list", "GET", _of("/groups"), groups.list_groups),
    Verb("groups.show", "GET", _of("/groups/{group}"), groups.show_group),
    Verb("groups.committed", "GET", _of("/groups/{group}/committed"), groups.committed),
    Verb("groups.seek", "PUT", _of("/groups/{group}/offsets"), groups.seek_group),
    Verb("groups.delete", "DELETE", _of("/groups/{group}"), groups.delete_group),
    Verb("groups.expire", "POST", _of("/groups/{group}/expire"), groups.expire_members),
    Verb("groups.rebalance", "POST", _of("/groups/{group}/rebalance"), groups.rebalance_group),
    Verb("groups.assign", "PUT", _of("/groups/{group}/assignment"), assigning.assign_group),
    Verb("transactions.list", "GET", _of("/transactions"), groups.list_transactions),
    Verb("transactions.show", "GET", _of("/transactions/{transaction}"), groups.show_transaction),
    Verb(
        "transactions.fence",
        "POST",
        _of("/transactions/{transaction}/fence"),
        groups.fence_producer,
    ),
    Verb(
        "transactions.abort",
        "POST",
        _of("/transactions/{transaction}/abort"),
        groups.abort_transaction,
    ),
    Verb("coordinators.show", "GET", _of("/coordinators"), coordinators.show_coordinator),
    Verb("coordinators.move", "POST", _of("/coordinators"), coordinators.move_coordinator),
    Verb("nodes.list", "GET", _of("/nodes"), state.list_nodes),
    Verb("nodes.add", "POST", _of("/nodes"), state.add_node, takes_turns=True),
    Verb("nodes.roll", "POST", _of("/nodes/roll"), state.roll_nodes),
    Verb("nodes.restart", "POST", _of("/nodes/{node}/restart"), state.restart_node),
    Verb("nodes.stop", "POST", _of("/nodes/{node}/stop"), state.stop_node, takes_turns=True),
    Verb("nodes.start", "POST", _of("/nodes/{node}/start"), state.start_node, takes_turns=True),
    Verb("nodes.remove", "DELETE", _of("/nodes/{node}"), state.remove_node, takes_turns=True),
    Verb("faults.list", "GET", _of("/faults"), faults.list_faults),
    Verb("faults.show", "GET", _of("/faults/{fault}"), faults.show_fault),
    Verb("faults.add", "POST", _of("/faults"), faults.add_fault),
    Verb("faults.replace", "PUT", _of("/faults/{id}"), faults.replace_fault),
    Verb("faults.replace_all", "PUT", _of("/faults"), faults.replace_faults),
    Verb("faults.remove", "DELETE", _of("/faults/{fault}"), faults.remove_fault),
    Verb("faults.clear", "DELETE", _of("/faults"), faults.clear_faults),
    Verb("faults.release", "POST", _of("/faults/{fault}/release"), faults.release_fault),
    Verb("faults.unfired", "GET", _of("/unfired-faults"), faults.unfired_faults),
    Verb("faults.presets", "GET", _of("/fault-presets"), faults.list_presets),
    Verb("faults.preset", "POST", _of("/fault-presets/{preset}"), faults.use_preset),
    Verb("clock.show", "GET", _of("/clock"), state.show_clock),
    Verb("clock.advance", "POST", _of("/clock/advance"), state.advance_clock),
    Verb("clock.freeze", "POST", _of("/clock/freeze"), state.freeze_clock),
    Verb("clock.run", "POST", _of("/clock/run"), state.run_clock),
    Verb("clock.skew", "POST", _of("/clock/skew"), state.skew_clock),
    Verb("clock.reset", "POST", _of("/clock/reset"), state.reset_clock),
    Verb("doctor", "GET", _of("/unsupported"), unsupported.list_unsupported),
    Verb("traffic", "GET", _of("/traffic"), traffic.count_traffic),
    Verb("connections.list", "GET", _of("/connections"), state.list_connections),
    Verb("connections.close", "DELETE", _of("/connections/{connection}"), state.close_connection),
    Verb("requests.list", "GET", _of("/requests"), spying.list_requests),
    Verb("requests.show", "GET", _of("/requests/{seq}"), spying.show_request),
    Verb("requests.clear", "DELETE", _of("/requests"), spying.forget_requests),
    Verb("events", "GET", _of("/events"), spying.list_events),
    Verb("stream", "GET", _of("/stream"), following.follow),
    Verb("spy.show", "GET", _of("/spy"), spying.show_spy),
    Verb("spy.set", "PUT", _of("/spy"), spying.set_spy),
    Verb("recording.start", "PUT", _of("/recording"), recording.start_recording, takes_turns=True),
    Verb("recording.save", "GET", _of("/recording"), recording.save_recording),
    Verb("trace.save", "GET", _of("/trace"), spying.save_trace),
)

VERBS: Final[dict[str, Verb]] = {verb.name: verb for verb in _TABLE}


def verb_of(name: str) -> Verb:
    """The verb of that name. Raises Problem."""
    if name not in VERBS:
        raise Problem("unknown_verb", f"there is no verb {name!r}", value=name)
    return VERBS[name]


def request_of(name: str, arguments: dict[str, Any]) -> Any:
    """The request of a verb that a fault is to do. Raises Problem."""
    from msgspec import ValidationError

    from kafkalite.control.conversion import converted

    verb = verb_of(name)
    try:
        return converted(arguments, verb.request, strict=False)
    except ValidationError as error:
        raise Problem("invalid_fault", f"{name} does not take this: {error}") from None


async def run_in(all_clusters: Clusters, cluster: str, name: str, arguments: dict[str, Any]) -> Any:
    """Do a verb to one cluster: what a fault does at exactly its request. Raises Problem."""
    return await VERBS[name].run(all_clusters, cluster, request_of(name, arguments))
