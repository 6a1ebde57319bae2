"""Spark on kafkalite: a data source, pipelines over logs, and a helper for tests.

Installed by `pip install kafkalite[spark]`; nothing of it is imported by the broker.
"""
