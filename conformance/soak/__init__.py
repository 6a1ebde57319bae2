"""A broker under real clients and large topics, and the longest time for which anything held its
loop: `python -m conformance.soak --seconds 120`."""
