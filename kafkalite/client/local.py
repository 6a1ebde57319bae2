"""The verbs of clusters in this process."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar

import trio

from kafkalite.client.kit import Kit
from kafkalite.requests.slice_turn import undivided

if TYPE_CHECKING:
    from kafkalite.client.async_kit import AsyncKit
    from kafkalite.control.answers import ClusterView
    from kafkalite.control.clusters import Clusters

T = TypeVar("T")


class LocalKit(Kit):
    """The verbs of a cluster in this process."""

    def __init__(self, verb: Callable[..., Any], async_verb: Callable[..., Any]) -> None:
        super().__init__(verb)
        self._verb_for_await = async_verb

    def __reduce__(self) -> NoReturn:
        raise TypeError("a broker stays in its process: hand over its `bootstrap`")

    @property
    def asynchronous(self) -> AsyncKit:
        """The verbs for `await`, in trio and in asyncio."""
        from kafkalite.client.async_kit import AsyncKit

        return AsyncKit(self._verb_for_await, self.cluster)


class NewCluster(LocalKit):
    """A cluster made for a test: `with b.new_cluster(nodes=3) as c:`, or `async with`."""

    def __init__(
        self, verb: Callable[..., Any], async_verb: Callable[..., Any], fields: Mapping[str, Any]
    ) -> None:
        super().__init__(verb, async_verb)
        self._fields = fields
        self._bootstrap = ""

    @property
    def bootstrap(self) -> str:
        """`host:port` of every node, separated by commas."""
        self._check_made()
        return self._bootstrap

    def ask(self, verb: str, **fields: Any) -> Any:
        """Do a verb by its name in the table. Raises Problem."""
        self._check_made()
        return super().ask(verb, **fields)

    @property
    def asynchronous(self) -> AsyncKit:
        """The verbs for `await`, in trio and in asyncio."""
        self._check_made()
        return super().asynchronous

    def __enter__(self) -> Self:
        return self._made(self._do("clusters.create", self.cluster, **self._fields))

    def __exit__(self, *_: object) -> None:
        self.ask("clusters.delete")

    async def __aenter__(self) -> Self:
        made = await self._verb_for_await("clusters.create", self.cluster, **self._fields)
        return self._made(made)

    async def __aexit__(self, *_: object) -> None:
        with trio.CancelScope(shield=True) if in_trio() else nullcontext():
            await self.asynchronous.ask("clusters.delete")

    def _check_made(self) -> None:
        if not self._bootstrap:
            raise RuntimeError("there is no cluster yet: use it in a with statement")

    def _made(self, made: ClusterView) -> Self:
        self.cluster, self._bootstrap = made.name, made.bootstrap
        return self


def asked_of(
    clusters: Clusters, verb: str, cluster: str, fields: Mapping[str, Any]
) -> Coroutine[Any, Any, Any]:
    """A verb of one of these clusters, not begun. Raises Problem for what it may not be."""
    from kafkalite.control.verbs import verb_of

    row = verb_of(verb)
    if "cluster" in row.in_path and not row.is_of_cluster:
        fields = {"cluster": cluster, **fields}
    return row.run(clusters, cluster, row.asked(**fields))


def in_trio() -> bool:
    """Tells whether a task of trio calls."""
    try:
        trio.lowlevel.current_task()
    except RuntimeError:
        return False
    return True


def at_once(doing: Coroutine[Any, Any, T], verb: str) -> T:
    """The result of a verb that need not wait for anything, in a task of trio.

    What it would wait for sees a task that is cancelled. So it begins nothing that it could not
    end, and takes no lock.
    """
    with trio.CancelScope() as scope, undivided:  # noqa: ASYNC100 - what is sent to awaits
        scope.cancel()
        try:
            doing.send(None)
        except StopIteration as done:
            result: T = done.value
            return result
        doing.close()
    raise RuntimeError(f"{verb} has to wait: in trio, await it from `.asynchronous`")


# asyncio is there where it is needed, and takes a fortieth of the CPU time of a broker's start.


async def in_thread(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function in a thread, from a task of asyncio."""
    import asyncio

    return await asyncio.to_thread(function, *arguments)


async def entered_in_thread(enter: Callable[[], object], leave: Callable[[], object]) -> None:
    """Enter in a thread, from a task of asyncio. One that is cancelled meanwhile leaves again."""
    import asyncio

    entering = asyncio.ensure_future(asyncio.to_thread(enter))
    try:
        await asyncio.shield(entering)
    except asyncio.CancelledError:
        await asyncio.wait([entering])
        if entering.exception() is None:
            await asyncio.to_thread(leave)
        raise


async def result_of(future: Future[Any]) -> Any:
    """Wait for what another thread does, in trio or in asyncio; who gives up cancels it."""
    if in_trio():
        try:
            return await trio.to_thread.run_sync(future.result, abandon_on_cancel=True)
        finally:
            future.cancel()
    import asyncio

    return await asyncio.wrap_future(future)
