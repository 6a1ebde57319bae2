"""OpenSSL is loaded by those who use it, and by all of them at once."""

import subprocess
import sys
from pathlib import Path

import pytest

THREADS = """
import sys
from threading import Barrier, Thread
from kafkalite.server.late_modules import OPENSSL, load_late
load_late(OPENSSL)
import hmac, ssl
assert not {"_ssl", "_hashlib"} & set(sys.modules)
found, together = [], Barrier(8)
def look():
    together.wait()
    found.append((ssl.SSLError, hmac.compare_digest(b"a", b"a")))
threads = [Thread(target=look) for _ in range(8)]
for each in threads: each.start()
for each in threads: each.join()
import ssl as loaded
assert found == [(loaded.SSLError, True)] * 8
assert type(loaded) is type(sys) and ssl.create_default_context().check_hostname
"""
BROKER = """
import os, sys, threading
from pathlib import Path
import kafkalite.__main__
def stop():
    while not Path("ready").exists(): pass
    found = {"ssl", "_ssl", "_hashlib", "trio._ssl", "trio._dtls"} & set(sys.modules)
    Path("found").write_text(" ".join(sorted(found)))
    os.kill(os.getpid(), 15)
threading.Thread(target=stop).start()
sys.exit(kafkalite.__main__.main(["--port", "0", "--temporary", "--ready-file", "ready"]))
"""


def python(program: str, directory: Path) -> None:
    """Run a program in a process of its own."""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=directory, timeout=60)


def test_many_threads_may_be_the_first(tmp_path: Path) -> None:
    python(THREADS, tmp_path)


@pytest.mark.slow
def test_a_broker_without_tls_has_no_openssl(tmp_path: Path) -> None:
    python(BROKER, tmp_path)
    assert (tmp_path / "found").read_text() == "ssl trio._dtls trio._ssl"
