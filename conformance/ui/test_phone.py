"""The page on a phone: nothing lies over anything else, nothing is out of reach."""

from __future__ import annotations

from typing import Any

from conformance.ui.conftest import Open, go
from kafkalite.client.connecting import Client

WIDTH, HEIGHT = 390, 844
VIEWS = {
    "overview": "Nodes",
    "topics": "Topics",
    "topics/orders?q=poison&at=1-233": "Records",
    "groups": "Groups",
    "groups/billing": "Members",
    "requests?on=LAST": "Requests",
    "faults?on=lost-ack": "Faults",
    "clock": "Due next",
    "transactions?on=checkout-0": "Transactions",
}
# Parts of the view, one below the other, of which one begins before the one above it ends.
_OVERLAPS = """() => {
  const parts = [...document.querySelectorAll("#main > *, .split > *")];
  return parts.filter((part) => {
    const above = part.previousElementSibling;
    const lies = (each) => each.getBoundingClientRect();
    return above && lies(above).height && lies(part).top < lies(above).bottom - 1;
  }).map((part) => part.className);
}"""
_WIDER = """() => [document.documentElement, document.querySelector("#main")]
  .filter((each) => each.scrollWidth > each.clientWidth + 1).map((each) => each.tagName)"""

_IN_REACH = """() => {
  const box = document.querySelector(".side [aria-current]").getBoundingClientRect();
  return box.left >= -1 && box.right <= innerWidth + 1;
}"""


def test_each_view_has_room(opened: Open, k: Client) -> None:
    """One page goes from view to view: to open one takes longer than to look at it."""
    page: Any = opened("trace")
    page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    for view, grid in VIEWS.items():
        # An older request may be forgotten.
        go(page, view.replace("LAST", str(k.ask("requests.list")[-1].seq)), grid)
        assert page.evaluate(_WIDER) == [], view
        assert page.evaluate(_OVERLAPS) == [], view
        # The list of views is scrolled after the view is drawn.
        page.wait_for_function(_IN_REACH)
