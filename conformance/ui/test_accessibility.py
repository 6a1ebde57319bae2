"""axe-core looks at every view, in both themes: nothing serious is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.ui.conftest import Open

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
    "requests?on=60": "Requests",
    "transactions?on=checkout-0": "Transactions",
}


@pytest.fixture(scope="module")
def axe() -> str:
    if not AXE.is_file():
        pytest.skip("left out: axe-core is not installed (npm ci in conformance)")
    return AXE.read_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_nothing_serious_is_found(opened: Open, axe: str, view: str, scheme: str) -> None:
    # The policy would not let a stranger's script in.
    page = opened(view, scheme, bypass_csp=True)
    page.get_by_role("grid", name=VIEWS[view], exact=True).wait_for()
    page.evaluate(axe)
    found = page.evaluate("axe.run()")
    serious = [
        f"{each['id']}: {each['help']}: {[node['html'][:200] for node in each['nodes'][:3]]}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]
    assert serious == []
    assert len(found["passes"]) > 10


@pytest.mark.parametrize("dialog", ["Produce", "Delete"])
def test_dialogs_have_names_and_labels(opened: Open, axe: str, dialog: str) -> None:
    page = opened("topics/orders", bypass_csp=True)
    page.get_by_role("button", name=dialog).click()
    page.get_by_role("dialog").wait_for()
    page.evaluate(axe)
    found = page.evaluate("axe.run('dialog')")
    assert [e["id"] for e in found["violations"] if e["impact"] in ("serious", "critical")] == []
