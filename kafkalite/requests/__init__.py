"""A request while it is handled: its context, and how it waits."""
