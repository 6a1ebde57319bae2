"""Requests as they come, and those of a trace: the picture, the list, the two sides."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from conformance.ui.conftest import Open
from conformance.ui.test_views import rows
from kafkalite.client.connecting import Client
from kafkalite.faults import error

MANY = 10_000
_CONNECTIONS = 25


def test_what_clients_ask_comes_in_by_itself(opened: Open, k: Client) -> None:
    page = opened("requests")
    page.get_by_label("Filter requests").fill("billing-1 fetch orders")
    rows(page, "Requests").first.wait_for()
    assert all("Fetch" in line for line in rows(page, "Requests").all_inner_texts())
    page.get_by_role("img", name="Timeline of").wait_for()
    page.get_by_role("button", name="Stop keeping").click()
    page.get_by_text("not kept", exact=True).wait_for()
    assert k.ask("spy.show").mode == "off"
    page.get_by_role("button", name="Keep requests").click()
    page.get_by_text("keeping,").wait_for()


def test_request_and_answer_stand_side_by_side(opened: Open, k: Client) -> None:
    (first, *_) = k.ask("requests.list", api="Produce", client_id="shop", topic="orders")
    page = opened(f"requests?on={first.seq}")
    side = page.get_by_role("complementary", name="The request and its answer")
    side.get_by_label("The request").get_by_text('"acks"').wait_for()
    side.get_by_label("The answer").get_by_text('"base_offset"').first.wait_for()
    side.get_by_role("button", name="Make a fault of this").click()
    page.get_by_text("is in: Produce, the next one").wait_for()
    made = k.ask("faults.list")[-1].rule
    assert (made.when.api, made.when.client_id, made.when.topic) == ("Produce", "shop", "orders")
    k.ask("faults.remove", fault=made.id)


def test_requests_are_filtered_by_kind_and_outcome(opened: Open, k: Client) -> None:
    moved = k.fault("Fetch", client_id="billing-1", do=error("NOT_LEADER_OR_FOLLOWER"), id="moved")
    k.wait.fault(moved)
    moved.remove()
    page = opened("requests?show=faults")
    rows(page, "Requests").get_by_text("NOT_LEADER_OR_FOLLOWER").first.wait_for()
    (line,) = [each for each in rows(page, "Requests").all_inner_texts() if "moved" in each]
    assert "billing-1" in line
    assert "NOT_LEADER_OR_FOLLOWER" in line
    page.get_by_role("radio", name="All").click()
    page.get_by_label("Request", exact=True).select_option("JoinGroup")
    rows(page, "Requests").get_by_text("Fetch").first.wait_for(state="detached")
    rows(page, "Requests").get_by_text("JoinGroup").first.wait_for()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save list").click()
    lines = Path(saved.value.path()).read_text().splitlines()
    assert {json.loads(line)["api"] for line in lines} == {"JoinGroup"}


def test_a_trace_is_saved_and_opened(opened: Open, tmp_path: Path) -> None:
    page = opened("requests")
    rows(page, "Requests").first.wait_for()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save trace").click()
    saved.value.save_as(tmp_path / "trace.zip")
    page.evaluate("location.hash = '#/default/trace'")
    page.get_by_label("Trace file").set_input_files(tmp_path / "trace.zip")
    page.get_by_role("heading", name="trace.zip").wait_for()
    page.get_by_label("Request", exact=True).select_option("Produce")
    rows(page, "Requests").get_by_text("Fetch").first.wait_for(state="detached")
    rows(page, "Requests").first.click()
    side = page.get_by_role("complementary", name="The request and its answer")
    side.get_by_label("The request").get_by_text('"acks"').wait_for()
    assert side.get_by_role("button", name="Make a fault of this").count() == 0


def test_the_picture_begins_with_the_last_minute(opened: Open, k: Client) -> None:
    """Requests of 70 s. Those that came and went unseen are counted."""
    k.ask("spy.set", mode="off")
    page = opened("overview")
    many = [{**entry(number), "cluster_ms": 0} for number in range(MANY)]
    # The page goes on at this place, beyond all that the broker keeps.
    missed = 'data: {"id": "900000000-900000000", "missed": 12}\n\n'
    page.route("**/default/requests?*", lambda route: route.fulfill(json=many))
    page.route(
        "**/default/stream?*",
        lambda route: route.fulfill(body=missed, content_type="text/event-stream"),
        times=1,
    )
    page.keyboard.press("4")
    lanes = page.get_by_role("group", name="Lanes of the connections").get_by_role("img")
    for key, seconds in (("", "62.4 s"), ("0", "72.9 s"), ("0", "62.4 s")):
        if key:
            page.keyboard.press(key)
        page.get_by_role("img", name=f", {seconds}.").wait_for()
        assert f"{MANY} requests on {_CONNECTIONS}" in lanes.get_attribute("aria-label")
    page.get_by_text("12 not seen").wait_for()
    k.ask("spy.set", mode="on")


# Lets a file fall on what is found, as from a folder.
_DROP = """([target, name, bytes]) => {
  const files = new DataTransfer();
  files.items.add(new File([new Uint8Array(bytes)], name));
  const event = { dataTransfer: files, bubbles: true, cancelable: true };
  const at = (type) => new DragEvent(type, event);
  document.querySelector(target).dispatchEvent(at("dragover"));
  document.querySelector(target).dispatchEvent(at("drop"));
}"""


def test_a_trace_is_dropped_and_another_over_it(opened: Open) -> None:
    page = opened("trace")
    page.get_by_text("Drop a trace.zip here").wait_for()
    for target, name, number in ((".drop", "first.zip", 3), (".through", "second.zip", 5)):
        text = "\n".join(json.dumps(entry(each)) for each in range(number))
        data = archive({"requests.jsonl": text, "events.jsonl": "", "meta.json": "{}"})
        page.evaluate(_DROP, [target, name, list(data)])
        page.get_by_role("heading", name=name).wait_for()
        page.get_by_role("img", name=f"Timeline of {number} requests").wait_for()
    page.evaluate("location.hash = '#/default/overview'")
    page.get_by_role("heading", name="Overview").wait_for()
    page.go_back()
    page.get_by_role("heading", name="second.zip").wait_for()


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"no archive", "this is no zip archive"),
        (b"x" * 100_000, "this is no zip archive"),
        (None, "has no requests.jsonl: it is no trace"),
    ],
)
def test_what_is_no_trace_is_refused(
    opened: Open, tmp_path: Path, data: bytes | None, told: str
) -> None:
    path = tmp_path / "trace.zip"
    path.write_bytes(archive({"other.txt": "x"}) if data is None else data)
    page = opened("trace")
    page.get_by_label("Trace file").set_input_files(path)
    page.get_by_text(told).wait_for()


def archive(files: dict[str, str]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in files.items():
            packed.writestr(name, text)
    return target.getvalue()


def entry(number: int) -> dict[str, Any]:
    """One of many requests, as a trace has them."""
    connection = number % _CONNECTIONS
    received = 1_700_000_000_000 + number * 7
    is_fetch = number % 3 == 0
    return {
        "seq": number + 1,
        "connection": f"127.0.0.1:{40_000 + connection}",
        "client_id": f"app-{connection}",
        "api": "Fetch" if is_fetch else "Produce",
        "version": 13,
        "correlation_id": number,
        "received_ms": received,
        "answered_ms": received + (120 if is_fetch else 3),
        "parked_ms": 110 if is_fetch else None,
        "request_bytes": 120,
        "answer_bytes": 80,
        "outcome": "answered",
        "error": "NOT_LEADER_OR_FOLLOWER" if number % 500 == 0 else None,
        "topics": ["orders"],
        "fault": None,
        "why": "",
        "request": {"number": number},
        "answer": {},
    }


# Key presses are answered in a frame or two; this leaves room for a machine with much else to do.
_MOST_MS_A_ZOOM = 1000


def test_ten_thousand_requests_are_looked_through(opened: Open, tmp_path: Path) -> None:
    event = {"seq": 1, "at_ms": 1_700_000_035_000, "cluster_ms": 0, "kind": "rebalance.began"}
    marks = json.dumps({**event, "about": {"group": "billing"}, "why": "a member has joined"})
    path = tmp_path / "many.zip"
    lines = "\n".join(json.dumps(entry(number)) for number in range(MANY))
    path.write_bytes(archive({"requests.jsonl": lines, "events.jsonl": marks, "meta.json": "{}"}))
    page = opened("trace")
    page.get_by_label("Trace file").set_input_files(path)
    table = page.get_by_role("grid", name="Requests", exact=True)
    table.wait_for()
    assert table.get_attribute("aria-rowcount") == str(MANY + 1)
    assert rows(page, "Requests").count() < 100
    page.get_by_role("img", name=f"Timeline of {MANY} requests on {_CONNECTIONS}").wait_for()
    page.keyboard.press("End")
    side = page.get_by_role("complementary", name="The request and its answer")
    side.get_by_text(str(MANY - 1)).first.wait_for()
    page.keyboard.press("Escape")
    took: float = page.evaluate(
        """async () => {
            const began = performance.now();
            for (let i = 0; i < 20; i += 1) {
              dispatchEvent(new KeyboardEvent("keydown", { key: i % 2 ? "-" : "+" }));
              for (let frame = 0; frame < 2; frame += 1) {
                await new Promise((drawn) => requestAnimationFrame(drawn));
              }
            }
            return (performance.now() - began) / 20;
        }"""
    )
    assert took < _MOST_MS_A_ZOOM
    page.get_by_label("Filter requests").fill("not_leader")
    page.get_by_role("status").get_by_text(f"{MANY // 500} of {MANY:,}").wait_for()
    page.keyboard.press("Escape")
    box = page.get_by_role("img", name="Timeline of").bounding_box()
    # The lane of the first connection, in which an error lies at the very beginning.
    page.mouse.click(box["x"] + 190 + (box["width"] - 190) * 0.0195, box["y"] + 34 + 11)
    side.get_by_text("NOT_LEADER_OR_FOLLOWER").first.wait_for()
