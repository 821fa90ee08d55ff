"""Phelix: durable agent sessions and the commands that every surface shares."""

VERSION = "0.1.0"
"""A constant, so that no start pays for reading package metadata; a test compares it with pyproject."""
