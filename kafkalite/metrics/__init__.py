"""Metrics for Prometheus, imported only where `kafkalite.metrics.port` asks for them.

table.py       every metric: name, kind, labels, meaning; docs/metrics.md is made from it
requests.py    what is counted while requests are answered: a wrapper around each handler
state.py       what is looked up when somebody asks: logs, groups, transactions, nodes
event_loop.py  how late the event loop is
exposition.py  all of it as text, by prometheus-client
server.py      HTTP, by h11 on trio
endpoint.py    these, put together
"""
