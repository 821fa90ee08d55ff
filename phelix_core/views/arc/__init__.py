"""Plans, approvals and operations as a person sees them: rows, pages, causes. Plain data, safe for a terminal."""
