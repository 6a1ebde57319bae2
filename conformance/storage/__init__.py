"""One data directory, two brokers: what either wrote, the other opens, serves and goes on with."""
