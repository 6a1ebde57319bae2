"""Metrics for Prometheus, and the log of requests, imported only where they are asked for.

table.py       every metric: name, kind, labels, meaning; docs/metrics.md is made from it
requests.py    what is counted while requests are answered: a wrapper around each handler
request_log.py a line in the log for each request: another such wrapper
state.py       what is looked up when somebody asks: logs, groups, transactions, nodes
event_loop.py  how late the event loop is
exposition.py  all of it as text, by prometheus-client
server.py      HTTP, by h11 on trio
endpoint.py    these, put together
"""
