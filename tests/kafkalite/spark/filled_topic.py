"""A topic with some batches of five records each, by the fixture `bootstrap`."""

from kafkalite.wire.record_batch import Record, build_batch

PARTITION = ("t", 0)
BATCH = build_batch([Record(value=b"%d" % i) for i in range(5)])
BATCHES = 20
