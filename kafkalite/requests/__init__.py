"""A request while it is handled: its context, how it waits, and the names in it."""
