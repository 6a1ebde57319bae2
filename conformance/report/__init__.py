"""The report card: what was run on Apache Kafka and on kafkalite, and what came of it.

`make report` runs it all and writes docs/compatibility.json; docs/compatibility.md and the README's
summary are drawn from that file by `make docs`, and a test holds them to it.
"""
