"""Plans, approvals, operations and applications: the commands about them."""
