"""The command line: words to a command, an envelope to text."""
