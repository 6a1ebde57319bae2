"""Everyday work of real clients, the same on any broker."""
