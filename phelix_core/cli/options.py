"""argv to (command, raw input): only what was typed is sent on, everything else is the registry's.

Global options stand before or after the sub-command alike. Only the parser of the command that is called
is built; the whole tree is drawn for help alone.
"""

import argparse
import os
import stat
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn

from phelix_core.checks import Surface
from phelix_core.commands.registry import CATALOGUE, Command, Effect, Field, load_command
from phelix_core.errors import InvalidArgument
from phelix_core.files import why
from phelix_core.frozen import frozen

STDIN_CAP: Final = 1 << 20
_GLOBAL_VALUES: Final = ("--data-dir", "--queue")
_JOINED_VALUES: Final = tuple(f"{option}=" for option in _GLOBAL_VALUES)
_GLOBAL_SWITCHES: Final = ("--json", "--no-color")
_HELP: Final = ("-h", "--help")
_HELP_WIDTH: Final = 100


@frozen
class Call:
    """What was asked for on the command line; `raw` holds only what was typed."""

    command: Command
    raw: Mapping[str, object]
    data_dir: str | None
    queue: str | None
    json: bool
    no_color: bool
    dry_run: bool
    expect_digest: str | None


class HelpAsked(Exception):
    """Somebody asked for help; the message is the text to print."""


class Parser(argparse.ArgumentParser):
    """A parser that raises instead of leaving the process, and tells no part of a word that it does not know."""

    def error(self, message: str) -> NoReturn:
        """Raise what argparse would print."""
        option, ignored, _ = message.partition(": ignored explicit argument ")
        if ignored:  # of `-hSECRET` this would tell all but the first letter, which nobody recognises as a secret
            message = f"{option} takes no value"
        raise InvalidArgument(f"{message[:1].upper()}{message[1:]}.", hint=f"See `{self.prog} --help`.")


def parse(argv: Sequence[str]) -> Call:
    """Find the command and its typed input; raises `InvalidArgument` or `HelpAsked`."""
    words, rest = _split(argv)
    name = _command_name(words, rest)
    command = load_command(name)
    positionals = words[len(name.split()) :]
    typed = vars(_leaf(command).parse_args([*positionals, *rest]))
    stdin = _Stdin()
    raw = {
        field.name: stdin.fill(field, typed[field.name]) for field in command.fields(Surface.CLI) if field.name in typed
    }
    return Call(
        command=command,
        raw=raw,
        data_dir=typed.get("data_dir"),
        queue=typed.get("queue"),
        json=bool(typed.get("json")),
        no_color=bool(typed.get("no_color")),
        dry_run=bool(typed.get("dry_run")),
        expect_digest=typed.get("expect_digest"),
    )


def wants_json(argv: Sequence[str]) -> bool:
    """Whether `--json` was typed, for answers to argv that could not be parsed."""
    return "--json" in argv


def _split(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """Leading words (the command and what stands right behind it) and the rest, global options anywhere."""
    words: list[str] = []
    rest: list[str] = []
    items = iter(argv)
    for item in items:
        if item in _GLOBAL_SWITCHES or item.startswith(_JOINED_VALUES):
            rest.append(item)
        elif item in _GLOBAL_VALUES:
            rest += [item, *(value for value in [next(items, None)] if value is not None)]
        elif item.startswith("-") and item != "-":
            rest += [item, *items]
        else:
            words.append(item)
    return words, rest


def _command_name(words: list[str], rest: list[str]) -> str:
    for length in (3, 2, 1):
        name = " ".join(words[:length])
        if name in CATALOGUE and name.split() == words[:length]:
            return name
    group = words[0] if words else ""
    members = [name for name in CATALOGUE if name.startswith(f"{group} ")] if group else []
    if any(item in _HELP for item in rest) or not (words or rest):
        raise HelpAsked(_overview(members or list(CATALOGUE)))
    known = ", ".join(name.split()[-1] for name in members) or ", ".join(dict.fromkeys(n.split()[0] for n in CATALOGUE))
    raise InvalidArgument(_no_command(words, rest, group=bool(members)), hint=f"Known: {known}. See `phelix --help`.")


def _no_command(words: list[str], rest: list[str], *, group: bool) -> str:
    """What is wrong with a line that names no command."""
    if not words:
        leading = next((item for item in rest if item not in _GLOBAL_SWITCHES), None)
        behind = f"; `{leading}` may only stand behind it" if leading and not leading.startswith(_GLOBAL_VALUES) else ""
        return f"Name a command{behind}."
    if group and len(words) == 1:
        return f"`{words[0]}` is a group of commands: say which."
    return f"There is no command `{' '.join(words[:2] if group else words[:1])}`."


def _leaf(command: Command) -> argparse.ArgumentParser:
    """The parser of one command; help has a fixed width, since asking the terminal costs an import."""
    parser = Parser(
        prog=f"phelix {command.name}",
        description=command.help,
        epilog=command.caution,
        allow_abbrev=False,
        argument_default=argparse.SUPPRESS,
        formatter_class=lambda prog: argparse.HelpFormatter(prog, width=_HELP_WIDTH, max_help_position=32),
        add_help=False,
    )
    for field in command.fields(Surface.CLI):
        _add(parser, field)
    add = parser.add_argument
    if command.effect is Effect.WRITE:
        add("--dry-run", action="store_true", help="Print exactly what would be written, and write nothing")
        add("--expect-digest", metavar="DIGEST", help="Write only what --dry-run showed under this digest")
    add("--data-dir", metavar="DIR", help="Where records are kept (else PHELIX_DATA_DIR, else ~/.phelix)")
    if command.name.startswith(("queue ", "doctor", "tui", "demo", "mcp ")):
        add("--queue", metavar="FILE", help="The queue's file (else PHELIX_QUEUE, HARNESS_DB_PATH, DATA_DIR/queue.db)")
    add("--json", action="store_true", help="Answer with one JSON document")
    add("--no-color", action="store_true", help="Print without colour")
    add(*_HELP, action=_HelpAction, nargs=0, help="Show this help")
    return parser


class _HelpAction(argparse.Action):
    """Hands the help text up instead of printing it."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        raise HelpAsked(parser.format_help())


def _add(parser: argparse.ArgumentParser, field: Field) -> None:
    if field.positional:
        count = "*" if field.many else None if field.required else "?"
        parser.add_argument(
            field.name, metavar="FILE" if field.file_cap else field.name.upper(), help=field.help, nargs=count
        )
    elif field.kind is bool:
        parser.add_argument(field.option, dest=field.name, action="store_true", help=field.help)
    else:
        kind = _whole_number if field.kind is int else str
        parser.add_argument(
            field.option,
            dest=field.name,
            type=kind,
            action="append" if field.many else "store",
            required=field.required,
            metavar="FILE" if field.file_cap else field.option.lstrip("-").replace("-", "_").upper(),
            help=field.help,
        )


def _whole_number(text: str) -> int:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 19):  # noqa: PLR2004 - digits of 2^63
        raise argparse.ArgumentTypeError("expected a whole number")
    return int(text)


class _Stdin:
    """Standard input as the value of one text option written `-`."""

    def __init__(self) -> None:
        self._taken = False

    def fill(self, field: Field, value: object) -> object:
        """`value`, or what stands on standard input where it is `-`; one trailing newline is dropped."""
        if field.file_cap is not None and value != "-":
            where = field.name if field.positional else field.option.lstrip("-")
            return _text_of(named_file(str(value), where, field.file_cap), field.option.lstrip("-"), field.file_cap)
        if value != "-" or field.kind is not str:
            return value
        if self._taken:
            raise InvalidArgument("Only one option can be read from standard input.")
        self._taken = True
        cap = field.file_cap or STDIN_CAP
        return _text_of(sys.stdin.buffer.read(cap + 1), "Standard input", cap)


def _text_of(data: bytes, where: str, cap: int) -> str:
    if len(data) > cap:
        raise InvalidArgument(f"{where} is larger than {cap} bytes.")
    try:
        return data.decode("utf-8").removesuffix("\n")
    except UnicodeDecodeError:
        raise InvalidArgument(f"{where} is not UTF-8.") from None


def named_file(path: str, where: str, cap: int) -> bytes:
    """What a named file holds, a byte over `cap` at most; one that might keep the reader waiting is refused."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise InvalidArgument(f"{where}: not a regular file.", hint="Send it on standard input, as `-`.")
            return file.read(cap + 1)
    except (OSError, ValueError) as error:
        raise InvalidArgument(f"{where}: the file cannot be read: {why(error)}.") from None


def _overview(names: Sequence[str]) -> str:
    """Help for everything, or for one group of commands."""
    width = max(map(len, names)) + 2
    lines = [
        "Usage: phelix COMMAND [OPTIONS]",
        "",
        "Operator's console and records for fleets of AI agents.",
        "",
        "Commands:",
        *(f"  {name:<{width}}{load_command(name).help.splitlines()[0]}" for name in names),
        "",
        "Everywhere:",
        "  --data-dir DIR  Where records are kept (else PHELIX_DATA_DIR, else ~/.phelix)",
        "  --queue FILE    The queue (else PHELIX_QUEUE, else HARNESS_DB_PATH, else queue.db there)",
        "  --json          Answer with one JSON document on standard output",
        "  --no-color      Print without colour",
        "  --version       Print the version",
        "",
        "`phelix COMMAND --help` tells more. New here? `phelix tui --demo` opens a fleet to look at.",
    ]
    return "\n".join(lines) + "\n"
