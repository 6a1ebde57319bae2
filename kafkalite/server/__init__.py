"""The way in and out: listeners, connections, frames, and dispatch with its gates."""
