"""What real clients do all day, the same on any broker."""
