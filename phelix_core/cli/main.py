"""The process's edge: argv in; one answer on stdout, narration on stderr, an exit status out.

stdout carries the answer and nothing else; whatever a command prints goes to stderr. No input ends in a
traceback: what nobody foresaw is `INTERNAL`, with a report file named on stderr. Source: surfaces page,
Envelope.
"""

import os
import sys
from collections.abc import Sequence
from typing import Final

from phelix_core import VERSION
from phelix_core.checks import Surface
from phelix_core.cli.options import Call, HelpAsked, parse, wants_json
from phelix_core.cli.streams import Answer, Unheard, answering, let_go, require_streams
from phelix_core.commands.environment import Environment, open_environment
from phelix_core.commands.faults import unforeseen
from phelix_core.commands.registry import Effect, validate
from phelix_core.commands.run import run
from phelix_core.envelope import Envelope
from phelix_core.errors import FilesystemError, Interrupted, PhelixError
from phelix_core.files import why
from phelix_core.frozen import changed
from phelix_core.redaction import redact
from phelix_core.settings import Settings, load_settings

PROGRAMS: Final = {
    "tui": "phelix_tui.app:main",
    "completion": "phelix_core.cli.completion:main",
    "mcp serve": "phelix_core.mcp.sessions:main",
    "mcp lifecycle": "phelix_core.mcp.lifecycle:main",
}
"""Programs that commands start, by name: the one place that names what stands above the command line."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; answers the exit status."""
    argv = list(sys.argv[1:] if argv is None else argv)
    require_streams()
    Answer.is_begun = False
    try:
        return _answer(argv)
    except Unheard as unheard:
        let_go(sys.stdout)
        if not isinstance(unheard.reason, BrokenPipeError):
            _tell(Envelope(error=FilesystemError(f"The answer could not be written: {why(unheard.reason)}.")))
        return 1


def _answer(argv: list[str]) -> int:
    if argv[:1] in (["--version"], ["-V"]):
        with answering():
            print(f"phelix {VERSION}")
        return 0
    try:
        return _called(parse(argv))
    except HelpAsked as asked:
        with answering():
            print(asked, end="")
        return 0
    except PhelixError as error:
        return _print(Envelope(error=error), as_json=wants_json(argv))
    except KeyboardInterrupt:
        given = Interrupted.exit_code if Answer.is_begun else None
        return given or _print(Envelope(error=Interrupted()), as_json=wants_json(argv))
    except Unheard:
        raise
    except BrokenPipeError as gone:
        raise Unheard(gone) from None
    except Exception as error:  # noqa: BLE001 - the process's edge: nothing unforeseen may end in a traceback
        return _print(Envelope(error=unforeseen(error)), as_json=wants_json(argv))


def _called(call: Call) -> int:
    options = {"theme": call.raw.get("theme"), "read_only": call.raw.get("read_only") is True}
    settings = load_settings(os.environ, data_dir=call.data_dir, queue=call.queue, **options)  # pyright: ignore[reportArgumentType]
    if call.command.effect is Effect.PROGRAM:
        request = validate(call.command, call.raw, Surface.CLI)
        named = settings.theme and redact(settings.theme)  # one that is not there is told by its name
        status = _start(PROGRAMS[call.command.name])(request, changed(settings, theme=named))
        with answering():
            return status
    env = open_environment(settings, Surface.CLI, progress=_tell_progress if _is_watched() else None)
    if not call.command.runs:
        return _told(_run(call, env), call, settings)
    from phelix_core.cli.interrupts import noted  # noqa: PLC0415 - nothing else takes its time

    with noted() as interrupted:  # until the answer is out, which nothing else would tell how it ended
        narrate = _narrate if _is_watched() else None
        return _told(_run(call, changed(env, interrupted=interrupted, narrate=narrate)), call, settings)


def _told(envelope: Envelope, call: Call, settings: Settings) -> int:
    """Give the answer; answers the exit status."""
    if envelope.error is None and not call.json:
        from phelix_core.cli.render import print_result  # noqa: PLC0415 - a JSON answer needs no rendering

        with answering():
            print_result(envelope.result, call, settings)
        return envelope.exit_code
    return _print(envelope, as_json=call.json, no_color=call.no_color)


def _run(call: Call, env: Environment) -> Envelope:
    return run(call.command, call.raw, env, dry_run=call.dry_run, expect_digest=call.expect_digest)


def _narrate(line: str) -> None:
    """One line of what is executed, to a terminal's stderr."""
    from phelix_core.text import visible  # noqa: PLC0415 - see above

    sys.stderr.write(f"{visible(line)}\n")
    sys.stderr.flush()


def _is_watched() -> bool:
    """Whether a person looks at stderr; it may be closed."""
    return sys.stderr is not None and sys.stderr.isatty()  # pyright: ignore[reportUnnecessaryComparison]


def _tell_progress(done: int, of: int) -> None:
    """One line on a terminal's stderr while the index is first made, gone when it is done."""
    sys.stderr.write("\r\x1b[K" if done >= of else f"\rReading the records: {done:,} of {of:,}")
    sys.stderr.flush()


def _start(program: str):  # noqa: ANN202 - a program's main, known only at the call
    import gc  # noqa: PLC0415 - only programs need these
    from importlib import import_module  # noqa: PLC0415

    module, _, attribute = program.partition(":")
    gc.disable()  # modules stay: looking through them while they are loaded would take a tenth of the start
    try:
        return getattr(import_module(module), attribute)
    finally:
        gc.enable()


def _print(envelope: Envelope, *, as_json: bool, no_color: bool = False) -> int:
    """The envelope to stdout where JSON was asked for, the human account of a failure to stderr."""
    if as_json:
        # JSON is UTF-8 in any locale, and strict readers take no surrogates: a word that is not text shows "?".
        with answering():
            sys.stdout.buffer.write(envelope.json().encode("utf-8", "replace"))
    if envelope.error is not None:
        _tell(envelope, no_color=no_color)
    return envelope.exit_code


def _tell(envelope: Envelope, *, no_color: bool = False) -> None:
    """A failure's human account to stderr; where nobody can be told, the exit status still says it."""
    from phelix_core.cli.render import print_error  # noqa: PLC0415 - a JSON answer needs no rendering

    try:
        print_error(envelope, no_color=no_color)
        sys.stderr.flush()
    except OSError:
        let_go(sys.stderr)
