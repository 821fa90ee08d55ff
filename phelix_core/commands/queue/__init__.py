"""The queue's commands: each an intent over one verb, or a question."""
