"""The ring: bounded by bytes, the oldest go first, numbers only grow."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kafkalite.control.spy.ring import Entry, Ring
from kafkalite.requests.slices import at_once

CLIENT = ("127.0.0.1", 5)
SOFTWARE = ("librdkafka", "2.6.0")
LISTENER: Any = SimpleNamespace(node_id=2)


def sizes(ring: Ring) -> int:
    return sum(entry.size for entry in ring)


def test_a_request_and_its_answer_are_kept() -> None:
    ring = Ring()
    entry = ring.add(CLIENT, b"request", 7)
    assert (entry.seq, entry.outcome, entry.is_truncated) == (1, "waiting", False)
    ring.ended(entry, "answered", (b"ans", 100))
    assert ring.get(1) is entry
    assert (entry.outcome, entry.answer_bytes) == ("answered", 103)
    assert entry.answered_ns >= entry.received_ns
    assert ring.get(2) is None


def test_a_request_is_found_by_its_connection_and_correlation_id() -> None:
    ring = Ring()
    header = b"\0\3\0\14" + (7).to_bytes(4, "big")
    ring.add(CLIENT, header, 8, 100)
    ring.keep((200, 210, "10.0.0.1", 9, SOFTWARE, LISTENER, header, 8, b"answer"))
    ring.keep((300, 310, *CLIENT, SOFTWARE, LISTENER, header, 8, b"answer"))
    assert ring.seq_of("127.0.0.1:5", 7, 400) == 3
    assert ring.seq_of("127.0.0.1:5", 7, 300) == 3
    assert ring.seq_of("127.0.0.1:5", 7, 299) == 1
    assert ring.seq_of("10.0.0.1:9", 7, 299) == 2
    assert ring.seq_of("10.0.0.1:9", 8, 299) is None
    assert ring.seq_of("127.0.0.1:5", 7, 99) is None
    at_once(ring.resizing(900))
    assert ring.seq_of("127.0.0.1:5", 7, 299) is None
    assert ring.seq_of("127.0.0.1:5", 7, 300) == 3


def test_what_is_only_begun_is_truncated() -> None:
    assert Ring().add(CLIENT, b"req", 7).is_truncated


def test_a_request_that_was_answered_at_once_becomes_an_entry_when_it_is_looked_at() -> None:
    ring = Ring()
    ring.add(CLIENT, b"first", 5)
    ring.keep((100, 200, "10.0.0.1", 9, SOFTWARE, LISTENER, b"req", 7, b"answer"))
    used = ring.used_bytes
    entry = ring.get(2)
    assert entry is not None
    assert (entry.seq, entry.client, entry.node) == (2, ("10.0.0.1", 9), 2)
    assert entry.software is SOFTWARE
    assert (entry.received_ns, entry.answered_ns, entry.answer_bytes) == (100, 200, 6)
    assert entry.is_truncated
    assert used == sizes(ring) == ring.used_bytes
    assert ring.get(2) is entry is ring.after(1)[0]


@given(st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 3000), st.booleans()), max_size=60))
def test_the_bound_is_kept(requests: list[tuple[int, int, bool]]) -> None:
    """Answers may come in any order, and to requests that are no longer here."""
    ring = Ring(10_000)
    waiting: list[tuple[Entry, int]] = []
    for size, answer, is_quick in requests:
        if is_quick:
            ring.keep((1, 2, "h", 3, SOFTWARE, LISTENER, bytes(size), size, bytes(answer)))
        else:
            waiting.append((ring.add(CLIENT, bytes(size), size), answer))
        if len(waiting) > 5:
            entry, bytes_ = waiting.pop(0)
            ring.ended(entry, "answered", (bytes(bytes_),))
        assert ring.used_bytes <= ring.most_bytes
        if size % 2:
            assert ring.used_bytes == sizes(ring)
    assert ring.used_bytes == sizes(ring)
    seqs = [entry.seq for entry in ring]
    assert seqs == sorted(seqs)
    if seqs:
        assert seqs == list(range(seqs[0], ring.last_seq + 1))


def test_numbers_go_on_after_all_is_forgotten() -> None:
    ring = Ring()
    ring.add(CLIENT, b"1", 1)
    at_once(ring.clearing())
    assert (len(ring), ring.used_bytes, ring.first_seq) == (0, 0, 0)
    assert ring.add(CLIENT, b"2", 1).seq == 2
    assert [entry.seq for entry in ring.after(1)] == [2]
    assert ring.after(2) == []


def test_a_smaller_room_is_cleared_at_once() -> None:
    ring = Ring()
    for _ in range(10):
        ring.add(CLIENT, bytes(1000), 1000)
    at_once(ring.resizing(5000))
    assert ring.used_bytes <= 5000
    assert ring.last_seq == 10
    assert ring.get(10) is not None


@given(st.lists(st.booleans(), max_size=30), st.integers(0, 35), st.none() | st.integers(1, 35))
def test_those_after_one_are_a_part_of_all(
    requests: list[bool], seq: int, most: int | None
) -> None:
    ring = Ring(5000)
    for is_quick in requests:
        if is_quick:
            ring.keep((1, 2, "h", 3, SOFTWARE, LISTENER, b"", 0, b""))
        else:
            ring.add(CLIENT, b"", 0)
    found = [entry.seq for entry in ring.after(seq, most)]
    kept = range(max(ring.first_seq, seq + 1), ring.last_seq + 1) if len(ring) else range(0)
    assert found == list(kept)[:most]
    assert ring.used_bytes == sizes(ring)
