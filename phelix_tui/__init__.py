"""The operator's console: screens over the core's commands, no rule of the domain."""
