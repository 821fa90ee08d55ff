"""What the redactor is tried on: synthetic secrets where people put them, and lines that hold none."""
