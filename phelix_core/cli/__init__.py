"""The command line: words to a command, an envelope to text."""

_INTERRUPTED = 130


def start() -> int:
    """Run the `phelix` script; an interrupt while the program is still being read ends it like any later one."""
    try:
        from phelix_core.cli.main import main  # noqa: PLC0415 - what is imported here may be interrupted
    except KeyboardInterrupt:
        return _INTERRUPTED
    return main()
