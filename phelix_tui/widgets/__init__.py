"""Widgets that know nothing of sessions."""
