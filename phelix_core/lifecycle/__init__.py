"""The lifecycle protocol: JSON payloads of contract 6.0.0 to commands, and their results to its answers.

What the JSON-driven command line, the MCP tools and the in-process adapter share. It decides nothing: a payload is
read strictly, becomes the raw request of a registered command, and goes through `run()` like any other.
"""
