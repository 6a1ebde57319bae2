"""Others who know the protocol judge our bytes, message by message and version by version."""
