"""The log: files and offsets, in Apache Kafka's format. README.md is the specification."""
