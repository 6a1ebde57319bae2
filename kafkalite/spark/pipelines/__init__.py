"""Pipelines over logs, as PySpark jobs: seed, archive, replay, audit, prove."""
