"""kafkalite.spark beside Spark's own connector, and its pipelines: with PySpark 4.2 or newer."""
