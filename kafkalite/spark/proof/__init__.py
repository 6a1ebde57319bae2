"""prove: Spark's own Kafka connector and a broker, killed again and again, and what is left of the
data.

A seeded source topic is copied by Structured Streaming to Parquet files and to another topic, while
broker and Spark driver are killed with SIGKILL at seeded points and started again. The verdict is
per record.
"""
