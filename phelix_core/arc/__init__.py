"""Plans and operations: what a session's references point at."""
