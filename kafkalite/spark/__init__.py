"""Spark without the JVM connector, and the pipelines around a log: `pip install kafkalite[spark]`.

`register(spark)` makes `format("kafkalite")` known to a session. Nothing here is imported by the broker.
"""
