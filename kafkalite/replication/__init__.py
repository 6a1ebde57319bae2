"""The data plane between brokers: who leads, who follows, what is replicated, what may be read."""
