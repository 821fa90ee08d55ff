"""MCP over stdio: servers on the official SDK, and what that leaves to its user.

wire.py      the process's standard streams, for the protocol alone
gate.py      one strict reading of each line, before the SDK sees it
tools.py     a tool: what a host is told of it, and one call
calls.py     writes one at a time, reads beside them; what becomes of them at the end
serving.py   `serve(tools)`: a table of tools as a server
sessions.py  `phelix mcp serve`
"""
