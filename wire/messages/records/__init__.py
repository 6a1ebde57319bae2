"""What Kafka keeps in its logs: keys and values, one file per record type."""
