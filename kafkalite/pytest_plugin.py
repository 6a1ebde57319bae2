"""The fixtures that come with the package, through pytest's entry point.

    def test_orders(kafkalite):                            # a cluster of this test's own, at once
        app = App(kafkalite.bootstrap)
        kafkalite.fault("Produce", topic="orders", do=drop.after)

    kafkalite                  a cluster of the test's own in the run's process
    kafkalite_factory          several: `kafkalite_factory(nodes=3, config={...})`
    kafkalite_reset            the run's default cluster, at one address, reset after each test
    kafkalite_session          the broker that all these are in, one per run (and worker of xdist)
    kafkalite_broker           a broker in a thread of its own, by `kafkalite.testing.broker`
    kafkalite_broker_session   one such broker for the whole run

`@pytest.mark.kafkalite(nodes=3, config={...}, from_="orders", seed="orders.yaml", as_version="3.9",
clock="frozen", spy="full")` says what the cluster of `kafkalite` is like. All have the profile
"test" (config/profiles.py), and the spy is on. With `--kafkalite-url URL` all but the last two are
in a kafkalite that runs there (client/elsewhere.py). A fault that was never applied fails its test.
The report of a test that fails has a section "kafkalite", and with `--kafkalite-traces DIR` its
trace and its data are kept there. `@pytest.mark.kafkalite_sweep(api=[...], do=[drop.after])` runs a
test once for each request whose answer can be lost (client/pytest_sweep.py). The fixtures are plain
objects, good for sync tests and for those in trio and asyncio, which await the verbs of
`.asynchronous`. pytest imports this module in every run, hence the late imports.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pytest

if TYPE_CHECKING:
    from kafkalite.client.elsewhere import Elsewhere
    from kafkalite.client.kit import Kit
    from kafkalite.client.local import NewCluster
    from kafkalite.testing import broker

_MARK_FIELDS = ("nodes", "config", "as_version", "from_", "seed", "clock", "spy")
_KITS = pytest.StashKey[dict[str, "Kit"]]()
_FAILED = pytest.StashKey[bool]()
_TOLD = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of a run."""
    group = parser.getgroup("kafkalite")
    group.addoption(
        "--kafkalite-ui",
        action="store_true",
        help="serve a page that shows the clusters, and print its address; good with --pdb",
    )
    group.addoption(
        "--kafkalite-url",
        metavar="URL",
        help="make the clusters in the kafkalite that has its control port there; its token is in "
        "KAFKALITE_TOKEN, or follows the URL as #token=...",
    )
    group.addoption(
        "--kafkalite-seed",
        metavar="N",
        type=int,
        default=None,
        help="make ids, and the luck of faults, of this number and the test's name: a run with the "
        "same number has the same ones",
    )
    group.addoption(
        "--kafkalite-strict",
        action="store_true",
        help="fail a test whose cluster has configs without effect",
    )
    group.addoption(
        "--kafkalite-traces",
        metavar="DIR",
        type=Path,
        default=None,
        help="keep a trace and the data of each test that fails in DIR",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line(
        "markers",
        "kafkalite(**arguments): how kafkalite_broker is made, as kafkalite.testing.broker, and "
        "the cluster of kafkalite: nodes, config, as_version, from_, seed, clock, spy",
    )
    config.addinivalue_line(
        "markers",
        "kafkalite_sweep(api, do, pairs=False, limit=300, **when): run the test once for each "
        "request of the cluster of kafkalite that matches, with a fault at exactly this one",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Tell of the clusters of a test that has failed."""
    if call.when == "call" and item.get_closest_marker("kafkalite_sweep") is not None:
        from kafkalite.client.pytest_sweep import note_counts

        note_counts(item)
    report = yield
    if report.failed and call.when == "call":
        item.stash[_FAILED] = True
        for name, kit in item.stash.get(_KITS, dict[str, "Kit"]()).items():
            _tell(item, name, kit)
    if report.failed:
        report.sections += [("kafkalite", text) for text in item.stash.get(_TOLD, list[str]())]
        item.stash[_TOLD] = []
    return report


@contextmanager
def _watched(request: pytest.FixtureRequest, name: str, kit: Kit, spy: str) -> Generator[None]:
    """Keep what a test does to a cluster, and tell of it if it fails; check its faults."""
    item = _node(request)
    kit.ask("requests.clear")
    kit.ask("spy.set", mode=spy)
    item.stash.setdefault(_KITS, {})[name] = kit
    yield
    # A fault that was never applied has shown nothing: the test that put it in fails.
    wrong = list(kit.faults.unfired())
    if item.config.getoption("--kafkalite-strict"):
        wrong += [
            f"{each.name}={each.value} of {each.where}: {each.why}" for each in kit.unsupported()
        ]
    if wrong and not item.stash.get(_FAILED, False):
        _tell(item, name, kit)
    del item.stash[_KITS][name]
    if wrong:
        pytest.fail("; ".join(wrong), pytrace=False)


def _tell(item: pytest.Item, name: str, kit: Kit) -> None:
    """Put what is known of a cluster into the report, and into files."""
    from kafkalite.client.report import report

    try:
        text = f"{name}, the last of it:\n{report(kit)}"
        directory: Path | None = item.config.getoption("--kafkalite-traces")
        if directory is not None:
            kept = directory / re.sub(r"[^\w.-]+", "_", f"{item.nodeid}-{name}")
            kept.mkdir(parents=True, exist_ok=True)
            kit.trace(_unused(kept / "trace.zip"))
            kit.export(_unused(kept / "data.tar"))
            text += f"\ntrace and data: {kept}"
    except Exception as error:  # noqa: BLE001 - the test's own failure must be seen
        text = f"{name} cannot be told of: {error!r}"
    item.stash.setdefault(_TOLD, []).append(text)


def _unused(path: Path) -> Path:
    """The path, or with a number: a test that is run again keeps each failure's files."""
    names = (path.with_stem(f"{path.stem}-{number}") for number in count(2))
    return path if not path.exists() else next(name for name in names if not name.exists())


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a test that is marked for a sweep once for each position."""
    if item.get_closest_marker("kafkalite_sweep") is None:
        return None
    from kafkalite.client.pytest_sweep import run_sweep

    run_sweep(item, nextitem)
    return True


def swept(item: pytest.Item, kit: Kit) -> AbstractContextManager[None]:
    """The fault of a sweep in the cluster of a test, if there is a sweep."""
    if item.get_closest_marker("kafkalite_sweep") is None:
        return nullcontext()
    from kafkalite.client.pytest_sweep import with_fault

    return with_fault(item, kit)


@pytest.fixture
def kafkalite_broker(request: pytest.FixtureRequest) -> Iterator[broker]:
    """A broker of this test's own, in a thread, on a free port, in a temporary directory.

    `@pytest.mark.kafkalite(sasl="plain:alice:secret", tls="auto", acls=True)` secures it.
    """
    from kafkalite.testing import broker

    marked: dict[str, Any] = {"profile": "test", "ui": _has_page(request), **_marked(request)}
    marked["config"] = _seeded(request, marked.get("config"))
    spy = marked.pop("spy", "on")
    with broker(**marked) as running, _watched(request, "kafkalite_broker", running, spy):
        _announce(request, running)
        yield running


@pytest.fixture(scope="session")
def kafkalite_broker_session(request: pytest.FixtureRequest) -> Iterator[broker]:
    """One broker for all tests of the run that ask for it."""
    yield from _in_thread(request)


@pytest.fixture(scope="session")
def kafkalite_session(request: pytest.FixtureRequest) -> Iterator[broker | Elsewhere]:
    """The broker of this run, whose clusters the other fixtures are."""
    url = request.config.getoption("--kafkalite-url")
    if url is not None:
        yield from _elsewhere(url, _seeded(request))
    else:
        yield from _in_thread(request)


def _in_thread(request: pytest.FixtureRequest) -> Iterator[broker]:
    from kafkalite.testing import broker

    with broker(_seeded(request), profile="test", ui=_has_page(request)) as running:
        _announce(request, running)
        yield running


def _seeded(
    request: pytest.FixtureRequest, config: Mapping[str, object] | None = None, number: int = 0
) -> dict[str, object]:
    """The configs of a broker, with a seed of its own if --kafkalite-seed is given."""
    seed = request.config.getoption("--kafkalite-seed")
    if seed is None:
        return dict(config or {})
    name = f"{seed}/{_node(request).nodeid}/{request.fixturename}/{number}"
    return {"kafkalite.seed": crc32(name.encode()), **(config or {})}


def _elsewhere(url: str, config: Mapping[str, object]) -> Iterator[Elsewhere]:
    from kafkalite.client.elsewhere import Elsewhere, address
    from kafkalite.control.problems import Problem

    with ExitStack() as stack:
        try:
            running = stack.enter_context(Elsewhere(*address(url), config))
        except (ValueError, OSError, Problem) as error:
            pytest.fail(f"--kafkalite-url {url}: no cluster there: {error}", pytrace=False)
        yield running


def _has_page(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--kafkalite-ui"))


def _plugin(request: pytest.FixtureRequest, name: str) -> Any:
    return request.config.pluginmanager.getplugin(name)


def _announce(request: pytest.FixtureRequest, running: broker) -> None:
    """Print the address of the page, past the capture of output."""
    if running.ui_url is None:
        return
    reporter, capture = _plugin(request, "terminalreporter"), _plugin(request, "capturemanager")
    with nullcontext() if capture is None else capture.global_and_fixture_disabled():
        reporter.write(f"\nkafkalite: see it at {running.ui_url}\n")


@pytest.fixture
def kafkalite(
    request: pytest.FixtureRequest, kafkalite_session: broker | Elsewhere
) -> Iterator[NewCluster]:
    """A cluster of this test's own, on a port of its own, as its marker says."""
    marked = _marked(request)
    unknown = sorted(set(marked) - set(_MARK_FIELDS))
    if unknown:
        known = ", ".join(_MARK_FIELDS)
        raise pytest.UsageError(f"kafkalite({', '.join(unknown)}=...): the marker has {known}")
    marked["config"] = _seeded(request, marked.get("config"))
    seed, clock = marked.pop("seed", None), marked.pop("clock", None)
    spy = marked.pop("spy", "on")
    if clock not in (None, "frozen"):
        raise pytest.UsageError(f'kafkalite(clock={clock!r}): it is "frozen", or not given')
    with (
        kafkalite_session.new_cluster(**marked) as cluster,
        _watched(request, "kafkalite", cluster, spy),
        swept(_node(request), cluster),
    ):
        if seed is not None:
            cluster.seed(seed)
        if clock == "frozen":
            cluster.clock.freeze()
        yield cluster


def _node(request: pytest.FixtureRequest) -> pytest.Item:
    untyped: Any = request
    node: pytest.Item = untyped.node
    return node


def _marked(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The markers' fields, the nearest first. Raises UsageError for what has no name."""
    marked: dict[str, Any] = {}
    for marker in reversed(list(_node(request).iter_markers("kafkalite"))):
        if marker.args:
            given = ", ".join(map(repr, marker.args))
            raise pytest.UsageError(f"kafkalite({given}): the marker takes names, as in nodes=3")
        marked |= marker.kwargs
    return marked


@pytest.fixture
def kafkalite_factory(
    request: pytest.FixtureRequest, kafkalite_session: broker | Elsewhere
) -> Iterator[Callable[..., NewCluster]]:
    """Makes clusters for one test: `kafkalite_factory(nodes=3, config={...})`."""
    numbers = count()
    with ExitStack() as stack:

        def make(
            nodes: int = 1,
            config: Mapping[str, object] | None = None,
            *,
            as_version: str | None = None,
            from_: str | None = None,
            spy: str = "on",
        ) -> NewCluster:
            configs = _seeded(request, config, next(numbers))
            new = kafkalite_session.new_cluster(
                nodes=nodes, config=configs, as_version=as_version, from_=from_
            )
            cluster = stack.enter_context(new)
            stack.enter_context(_watched(request, cluster.cluster, cluster, spy))
            return cluster

        yield make


@pytest.fixture
def kafkalite_reset(
    request: pytest.FixtureRequest, kafkalite_session: broker | Elsewhere
) -> Iterator[broker | Elsewhere]:
    """The run's default cluster, which keeps its address; reset after the test."""
    try:
        with _watched(request, "kafkalite_reset", kafkalite_session, "on"):
            yield kafkalite_session
    finally:
        kafkalite_session.ask("spy.set", mode="off")
        kafkalite_session.reset()
