"""Benchmarks: kafkalite and Apache Kafka side by side in one run; ratios count, no test asserts a
time."""
