"""Lines of the log."""

from __future__ import annotations

import logging

from kafkalite.config.log_lines import OneLine


def test_a_line_of_the_log_is_one_line() -> None:
    """A client that puts line ends into a name cannot write lines of its own."""
    record = logging.LogRecord(
        "x", logging.INFO, "", 0, "resource = Topic:LITERAL:%s", ("a\nb\r\x85\u2028\x1b[2Jé",), None
    )
    text = OneLine("%(levelname)s %(message)s").format(record)
    assert text == r"INFO resource = Topic:LITERAL:a\nb\r\x85\u2028\x1b[2Jé"
