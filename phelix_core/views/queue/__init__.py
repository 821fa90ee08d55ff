"""The queue as people see it: rows, countdowns, explanations, causes, timelines. Plain, safe, ready to draw."""
