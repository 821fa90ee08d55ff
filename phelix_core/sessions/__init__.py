"""Durable records of agent work: one JSON file each, guarded by a revision."""
