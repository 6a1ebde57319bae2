"""Groups of consumers and their offsets: who is in which group, who reads what, and how far.

coordinator       GroupCoordinator: the requests, answered; parks, and lets time pass
classic_group     ClassicGroup: states and members      classic_protocol   what requests do to it
offsets           OffsetTable: committed and pending    offset_requests    what requests do to it
state_log         what is written to `__consumer_offsets`; shard: one partition of it in memory
"""
