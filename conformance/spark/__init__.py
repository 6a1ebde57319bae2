"""Spark's own unmodified Kafka connector: batch, streaming and sink."""
