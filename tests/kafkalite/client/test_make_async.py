"""The awaited verbs are made of the others: a method that asks is awaited, and no other is."""

from __future__ import annotations

import pytest

from kafkalite.client.make_async import FILES, make_async
from tests.kafkalite.formatted import formatted, written

SOURCE = '''"""The verbs of one thing."""

from kafkalite.client.parts import Clock


class Kit:
    """All of them."""

    @property
    def clock(self) -> Clock:
        """The time."""
        return Clock(self)

    def topics(self) -> list[str]:
        """All topics."""
        return self.ask("topics.list")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.ask("clusters.delete")
'''


@pytest.mark.parametrize("name", FILES)
def test_the_file_is_current(name: str) -> None:
    made = make_async(written(f"client/{name}.py"), name)
    path = f"client/async_{name}.py"
    assert written(path) == formatted(path, made), "run `make client`"


def test_only_what_asks_is_awaited() -> None:
    made = make_async(SOURCE, "kit")
    assert "    def clock(self) -> AsyncClock:" in made
    assert "return AsyncClock(self)" in made
    assert "    async def topics(self) -> list[str]:" in made
    assert 'return await self.ask("topics.list")' in made
    assert "from kafkalite.client.async_parts import AsyncClock" in made


def test_a_context_is_entered_and_left_by_awaiting() -> None:
    made = make_async(SOURCE, "kit")
    assert "    async def __aenter__(self):" in made
    assert "    async def __aexit__(self, *error):" in made
    assert 'await self.ask("clusters.delete")' in made


def test_it_says_that_it_is_made() -> None:
    assert make_async(SOURCE, "kit").startswith(
        '"""The verbs of kit.py, awaited. Made by make_async.py, not to be edited."""\n\nfrom'
    )
