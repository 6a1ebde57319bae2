"""The picture of a trace: the parked part of a bar is hatched, and changes are marked."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from conformance.ui.conftest import Open
from conformance.ui.test_requests import archive, entry

# Notes each thing that is drawn: its kind, its paint, its place.
_NOTE = """() => {
  window.drawn = [];
  const pen = CanvasRenderingContext2D.prototype;
  for (const name of ["fillText", "fillRect"]) {
    const draw = pen[name];
    pen[name] = function (...given) {
      window.drawn.push([name, typeof this.fillStyle === "string" ? "plain" : "hatched", ...given]);
      return draw.apply(this, given);
    };
  }
}"""
_EVENTS = ("rebalance.began", "clock.changed", "fault.applied")


def test_what_is_parked_is_hatched_and_changes_are_marked(opened: Open, tmp_path: Path) -> None:
    fetch = entry(0) | {"answered_ms": 1_700_000_000_120, "parked_ms": 60}
    quick = entry(1) | {"received_ms": 1_700_000_000_010, "answered_ms": 1_700_000_000_110}
    events = [
        {
            "seq": number + 1,
            "at_ms": 1_700_000_000_020 + 30 * number,
            "cluster_ms": 0,
            "kind": kind,
            "about": {"group": "billing"},
            "why": "a member went",
        }
        for number, kind in enumerate(_EVENTS)
    ]
    path = tmp_path / "trace.zip"
    path.write_bytes(
        archive({"requests.jsonl": lines(fetch, quick), "events.jsonl": lines(*events)})
    )
    page = opened("trace")
    page.evaluate(_NOTE)
    page.get_by_label("Trace file").set_input_files(path)
    page.get_by_role("img", name="Timeline of 2 requests on 2 connections").wait_for()
    drawn: list[list[Any]] = []
    deadline = time.monotonic() + 60
    while not any(each[1] == "hatched" for each in drawn):
        assert time.monotonic() < deadline
        page.wait_for_timeout(20)
        drawn = page.evaluate("drawn")
    [_, _, left, top, width, _] = next(each for each in drawn if each[1] == "hatched")
    [solid] = [
        each
        for each in drawn
        if each[:2] == ["fillRect", "plain"] and each[3] == top and each[2] > left + 1
    ][:1]
    assert solid[2] == left + width
    assert abs(solid[4] - width) < 1
    assert {each[3] for each in drawn if each[1] == "hatched"} == {top}
    texts = {each[2] for each in drawn if each[0] == "fillText"}
    said = [f"{kind.replace('.', ' ')} billing" for kind in _EVENTS]
    assert {*said} <= texts
    picture = page.get_by_role("img", name="Timeline of")
    box = picture.bounding_box()
    # 130 ms of time beside the names of the lanes; the first mark is 25 ms from its left.
    page.mouse.move(box["x"] + 190 + (box["width"] - 190) * 25 / 130, box["y"] + 50)
    assert picture.get_attribute("title") == f"{said[0]}: a member went"


def lines(*values: dict[str, Any]) -> str:
    return "".join(json.dumps(each) + "\n" for each in values)
