"""Clients' own metrics (KIP-714): which ones are asked of a client, and what it pushed.

client_telemetry.py  the parts below, each made and imported when a request first needs it
subscriptions.py     which metrics the cluster asks of which clients
client_instances.py  one client: when it may ask, when it may push, and which subscription it knows
otlp.py              pushed bytes as points (OpenTelemetry's messages: the extra `telemetry`)
pushed_metrics.py    what clients pushed, for Prometheus
"""
