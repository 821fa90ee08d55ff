"""Use cases: each command declared once, entered through `run` alone."""
