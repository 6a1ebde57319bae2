"""axe-core looks at every view, in both themes: nothing serious is found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conformance.ui.conftest import Open, go
from conformance.ui.test_requests import archive, entry
from kafkalite.client.connecting import Client

AXE = Path(__file__).parent.parent / "node_modules" / "axe-core" / "axe.min.js"
VIEWS = {
    "overview": "Nodes",
    "topics": "Topics",
    "topics/orders?at=1-399": "Records",
    "topics/orders/partitions": "Partitions of orders",
    "groups": "Groups",
    "groups/billing": "Members",
    "faults?on=lost-ack": "Faults",
    "clock": "Due next",
    "requests": "Requests",
    "requests?on=SEQ": "Requests",
    "transactions?on=checkout-0": "Transactions",
}
# Each view is looked at in one theme by `make test`, and in both with `make long`.
SCHEMES = (pytest.param("light", marks=pytest.mark.long), "dark")


@pytest.fixture(scope="module")
def axe() -> str:
    if not AXE.is_file():
        pytest.skip("left out: axe-core is not installed (npm ci in conformance)")
    return AXE.read_text()


def serious(page: Any) -> list[str]:
    """The serious findings on the page, as sentences."""
    found = page.evaluate("axe.run()")
    assert len(found["passes"]) > 10
    return [
        f"{each['id']}: {each['help']}: {[node['html'][:200] for node in each['nodes'][:3]]}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_nothing_serious_is_found(opened: Open, k: Client, axe: str, scheme: str) -> None:
    """One page goes from view to view: to open one takes longer than to look at it."""
    # The policy would not let a stranger's script in.
    page = opened("trace", scheme, bypass_csp=True)
    page.evaluate(axe)
    found = {}
    for view, grid in VIEWS.items():
        seq = k.ask("requests.list")[-1].seq
        go(page, view.replace("SEQ", str(seq)), grid)
        found[view] = serious(page)
    assert found == {view: [] for view in VIEWS}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_nothing_serious_is_found_in_a_trace(
    opened: Open, axe: str, scheme: str, tmp_path: Path
) -> None:
    page = opened("trace", scheme, bypass_csp=True)
    page.evaluate(axe)
    assert serious(page) == []
    path = tmp_path / "trace.zip"
    text = "\n".join(json.dumps(entry(each)) for each in range(9))
    path.write_bytes(archive({"requests.jsonl": text, "events.jsonl": "", "meta.json": "{}"}))
    page.get_by_label("Trace file").set_input_files(path)
    page.get_by_role("grid", name="Requests", exact=True).wait_for()
    assert serious(page) == []


@pytest.mark.parametrize("dialog", ["Produce", "Delete"])
def test_dialogs_have_names_and_labels(opened: Open, axe: str, dialog: str) -> None:
    page = opened("topics/orders", bypass_csp=True)
    page.get_by_role("button", name=dialog).click()
    page.get_by_role("dialog").wait_for()
    page.evaluate(axe)
    found = page.evaluate("axe.run('dialog')")
    assert [e["id"] for e in found["violations"] if e["impact"] in ("serious", "critical")] == []
