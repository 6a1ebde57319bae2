"""HTTP without I/O: the bytes of a verb, and the answer in the bytes that come back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h11
import msgspec
import pytest

from kafkalite.client.wire import Address, Exchange
from kafkalite.control.answers import WasReset
from kafkalite.control.faults.rule import Action
from kafkalite.control.problems import Problem

ADDRESS = Address("127.0.0.1", 9644)


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://127.0.0.1:9644", ADDRESS),
        ("http://localhost:1", Address("localhost", 1)),
        ("http://[::1]:9644", Address("::1", 9644)),
    ],
)
def test_an_address_is_read(url: str, address: Address) -> None:
    assert Address.of(url) == address


@pytest.mark.parametrize("url", ["127.0.0.1:9644", "https://a:1", "http://a", "", "http://:1"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="is not http://HOST:PORT"):
        Address.of(url)


class Sent:
    """A request as a server reads it."""

    def __init__(self, data: bytes) -> None:
        server = h11.Connection(h11.SERVER)
        server.receive_data(data)
        request = server.next_event()
        assert isinstance(request, h11.Request)
        self.line = f"{request.method.decode()} {request.target.decode()}"
        self.headers = {name.decode(): value.decode() for name, value in request.headers}
        self.body = b""
        while isinstance(event := server.next_event(), h11.Data):
            self.body += event.data
        assert isinstance(event, h11.EndOfMessage)


def sent(verb: str, cluster: str = "default", address: Address = ADDRESS, **fields: Any) -> Sent:
    return Sent(b"".join(Exchange(address, "secret", verb, cluster, fields).sending()))


@pytest.mark.parametrize(
    ("verb", "fields", "line", "body"),
    [
        ("version", {}, "GET /v1/version", b""),
        # None is said where it is not what a field is by default.
        (
            "clusters.create",
            {"name": None, "idle_end": None},
            "POST /v1/clusters",
            b'{"idle_end":null}',
        ),
        (
            "records.read",
            {"topic": "t", "count": None},
            "GET /v1/clusters/default/topics/t/records",
            b"",
        ),
        ("clusters.show", {}, "GET /v1/clusters/default", b""),
        ("topics.show", {"topic": "a b/c"}, "GET /v1/clusters/default/topics/a%20b%2Fc", b""),
        (
            "records.read",
            {"topic": "t", "committed": True, "count": 5, "wait": None},
            "GET /v1/clusters/default/topics/t/records?committed=true&count=5",
            b"",
        ),
        ("reset", {}, "POST /v1/clusters/default/reset", b"{}"),
        ("topics.lose", {"topic": "t", "to": 3}, "POST /v1/clusters/default/topics/t/lose", None),
        ("faults.clear", {}, "DELETE /v1/clusters/default/faults", b""),
        ("nodes.remove", {"node": 2}, "DELETE /v1/clusters/default/nodes/2", b""),
    ],
)
def test_a_verb_is_a_request(
    verb: str, fields: dict[str, Any], line: str, body: bytes | None
) -> None:
    request = sent(verb, **fields)
    assert request.line == line
    assert request.body == (b'{"to":3}' if body is None else body)
    assert request.headers["authorization"] == "Bearer secret"
    assert request.headers["host"] == "127.0.0.1:9644"
    assert request.headers["content-length"] == str(len(request.body))
    assert ("content-type" in request.headers) == bool(request.body)


def test_fields_have_their_names_in_json() -> None:
    request = sent(
        "faults.add", id="f", lasting="1h", do=(Action(drop="after"),), seed=None, optional=False
    )
    assert msgspec.json.decode(request.body) == {
        "id": "f",
        "for": "1h",
        "do": [{"drop": "after"}],
        "optional": False,
    }


def test_a_cluster_is_in_the_path_and_an_ipv6_host_in_brackets() -> None:
    request = sent("topics.list", "mine", Address("::1", 5))
    assert request.line == "GET /v1/clusters/mine/topics"
    assert request.headers["host"] == "[::1]:5"


def response(status: int, body: bytes, *headers: tuple[str, str]) -> bytes:
    server = h11.Connection(h11.SERVER)
    server.receive_data(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
    server.next_event()
    server.next_event()
    data = server.send(h11.Response(status_code=status, headers=list(headers))) or b""
    data += server.send(h11.Data(body)) or b""
    return data + (server.send(h11.EndOfMessage()) or b"")


def answered(status: int, body: object, size: int = 1000, *, chunked: bool = False) -> Any:
    exchange = Exchange(ADDRESS, "secret", "reset", "default", {})
    list(exchange.sending())
    encoded = msgspec.json.encode(body)
    length = ("Transfer-Encoding", "chunked") if chunked else ("Content-Length", str(len(encoded)))
    data = response(status, encoded, length)
    for start in range(0, len(data), size):
        assert not exchange.is_done
        exchange.receive(data[start : start + size])
    assert exchange.is_done
    return exchange.answer()


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("chunked", [False, True])
def test_an_answer_may_come_in_pieces(size: int, chunked: bool) -> None:
    was = WasReset(0.5, 1, 2, 3)
    assert answered(200, was, size, chunked=chunked) == was


def test_a_refusal_is_raised_as_the_problem_it_is() -> None:
    problem = Problem("exists", "there is a topic", value="t", hint="delete it")
    with pytest.raises(Problem) as caught:
        answered(409, problem.as_json())
    told = caught.value
    assert (told.code, told.detail, told.value, told.hint) == (
        "exists",
        "there is a topic",
        "t",
        "delete it",
    )


def event(number: int) -> bytes:
    return b'id: %d-0\nevent: missed\ndata: {"id": "%d-0", "missed": %d}\n\n' % (
        number,
        number,
        number,
    )


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_messages_of_a_stream_are_taken_as_they_come(size: int) -> None:
    exchange = Exchange(ADDRESS, "secret", "stream", "default", {"api": "Fetch"})
    line = b"GET /v1/clusters/default/stream?api=Fetch HTTP/1.1"
    assert next(exchange.sending()).startswith(line)
    data = response(200, b": nothing\n\n" + event(1) + event(2), ("Transfer-Encoding", "chunked"))
    found: list[Any] = []
    for start in range(0, len(data), size):
        exchange.receive(data[start : start + size])
        found += exchange.messages()
    assert exchange.is_done
    exchange.check()
    assert [(each.id, each.missed) for each in found] == [("1-0", 1), ("2-0", 2)]


def test_a_stream_may_be_refused() -> None:
    exchange = Exchange(ADDRESS, "secret", "stream", "default", {})
    list(exchange.sending())
    told = msgspec.json.encode(Problem("too_many", "32 streams are open already").as_json())
    exchange.receive(response(429, told, ("Content-Length", str(len(told)))))
    assert exchange.messages() == []
    with pytest.raises(Problem, match="32 streams"):
        exchange.check()


def test_a_file_is_sent_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "data.tar"
    path.write_bytes(bytes(range(256)) * 3000)
    exchange = Exchange(
        ADDRESS, "secret", "snapshots.import", "default", {"snapshot": "s", "file": str(path)}
    )
    pieces = list(exchange.sending())
    assert len(pieces) > 4
    request = Sent(b"".join(pieces))
    assert request.line == "PUT /v1/snapshots/s/archive"
    assert request.headers["content-type"] == "application/x-tar"
    assert request.body == path.read_bytes()
