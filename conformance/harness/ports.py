"""Ports for processes that are started with a port of the test's choice."""

import fcntl
import os
import socket
import tempfile
from pathlib import Path

# Below the ports that the kernel hands out by itself (ip_local_port_range), so neither a
# connection nor a listener on port 0 takes one between the choice and the start of its process.
FIRST, LAST = 15_000, 32_000
_LISTENS = "0A"  # the state of a socket in /proc/net/tcp


def free_ports(count: int) -> list[int]:
    """Ports nobody listens on, all different, and not given to any other test of late.

    The number of the next one stands in a file that all processes of this user count up.
    """
    path = Path(tempfile.gettempdir(), f"kafkalite-tests-{os.getuid()}-next-port")
    with path.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        port = int(file.read() or FIRST)
        found: list[int] = []
        while len(found) < count:
            if _is_free(port):
                found.append(port)
            port = port + 1 if port < LAST else FIRST
        file.truncate(0)
        file.write(str(port))
    return found


def _is_free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def listening_ports() -> set[int]:
    """The ports that any process listens on, without connecting to them."""
    found: set[int] = set()
    for table in ("tcp", "tcp6"):
        rows = (line.split() for line in Path("/proc/net", table).read_text().splitlines()[1:])
        found |= {int(row[1].rpartition(":")[2], 16) for row in rows if row[3] == _LISTENS}
    return found


def held_port() -> socket.socket:
    """A socket that keeps its port from everybody and does not listen: connections are refused."""
    held = socket.socket()
    held.bind(("127.0.0.1", 0))
    return held
