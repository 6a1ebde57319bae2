"""The table of the client is the table of verbs, as `make client` writes it."""

from __future__ import annotations

from kafkalite.client import table as clients
from kafkalite.control.make_client import table
from kafkalite.control.verbs import VERBS
from tests.kafkalite.formatted import formatted, written


def test_the_clients_table_is_current() -> None:
    assert written("client/table.py") == formatted("client/table.py", table()), "run `make client`"


def test_a_row_has_all_that_a_client_must_know() -> None:
    assert clients.ROWS.keys() == VERBS.keys()
    for name, verb in VERBS.items():
        row = clients.ROWS[name]
        assert (row.method, row.path) == (verb.method, verb.path)
        assert (row.request, row.answer) == (verb.request, verb.answer)
    assert clients.ROWS["faults.add"].names == {"lasting": "for"}
    assert clients.ROWS["reset"].names == {}
