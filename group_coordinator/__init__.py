"""Part of kafkalite."""
