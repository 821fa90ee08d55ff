"""Completion scripts for bash, zsh and fish, written from the registry: commands, options, known values."""

from typing import cast

from phelix_core.checks import Surface
from phelix_core.commands.programs import PrintCompletion
from phelix_core.commands.registry import CATALOGUE, Command, Effect, Field, load_command
from phelix_core.settings import Settings

_GLOBAL = ("--data-dir", "--json", "--no-color", "--help")


def main(request: PrintCompletion, settings: Settings) -> int:  # noqa: ARG001 - every program takes both
    """Print the script of one shell."""
    print({"bash": _bash, "zsh": _zsh, "fish": _fish}[request.shell](), end="")
    return 0


def _words() -> dict[str, list[str]]:
    """What may follow each prefix: sub-commands after a group, options after a command."""
    words: dict[str, list[str]] = {"": list(dict.fromkeys(name.split()[0] for name in CATALOGUE))}
    for name in CATALOGUE:
        group, _, verb = name.partition(" ")
        if verb:
            words.setdefault(group, []).append(verb)
        words[name] = _options(load_command(name))
    return words


def _options(command: Command) -> list[str]:
    fields = command.fields(Surface.CLI)
    own = [word for field in fields for word in (_values(field) if field.positional else [field.option])]
    writing = ["--dry-run", "--expect-digest"] if command.effect is Effect.WRITE else []
    return [*own, *writing, *_GLOBAL]


def _values(field: Field) -> list[str]:
    """The only values a field takes, where they are few and known."""
    return [str(value) for check in field.checks for value in cast("list[object]", check.schema.get("enum", []))]


def _choices() -> dict[tuple[str, str], list[str]]:
    """Values that may follow an option of a command."""
    fields = [(name, field) for name in CATALOGUE for field in load_command(name).fields(Surface.CLI)]
    return {(name, field.option): _values(field) for name, field in fields if not field.positional and _values(field)}


def _bash() -> str:
    cases = "\n".join(f'        "{prefix}") words="{" ".join(found)}" ;;' for prefix, found in _words().items())
    choices = "\n".join(
        f'        "{name} {option}") words="{" ".join(of)}" ;;' for (name, option), of in _choices().items()
    )
    return f"""\
_phelix() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" word path="" words=""
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$word" in -*) break ;; esac
        case "$path" in *" "*) break ;; esac
        path="${{path:+$path }}$word"
    done
    case "$path" in
{cases}
    esac
    case "$path ${{COMP_WORDS[COMP_CWORD-1]}}" in
{choices}
        "session list --view") words="$(_phelix_views)" ;;
    esac
    [ "$COMP_CWORD" -eq 3 ] && case "$path" in session\\ create|session\\ list|session\\ prune) ;;
        session\\ *) words="$words $(_phelix_sessions)" ;;
        plan\\ show|plan\\ apply|authz\\ approve|authz\\ revoke|authz\\ check) words="$words $(_phelix_plans)" ;;
        operation\\ status|operation\\ cancel) words="$words $(_phelix_operations)" ;;
        view\\ show|view\\ remove) words="$words $(_phelix_views)" ;; esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
{_NAMES}complete -F _phelix phelix
"""


# bash expands the words that it is given, commands in them too: only names that can hold none are offered.
_NAMES = """\
_phelix_names() {
    local file
    for file in "${PHELIX_DATA_DIR:-$HOME/.phelix}/$1/"*"$2"; do
        [ -e "$file" ] || continue
        file="${file##*/}"
        file="${file%"$2"}"
        case "$file" in *[!a-z0-9_-]*) ;; *) printf '%s\\n' "$file" ;; esac
    done
}
_phelix_sessions() { _phelix_names sessions .json; }
_phelix_views() { _phelix_names views .toml; }
_phelix_plans() { _phelix_names plans .json; }
_phelix_operations() { _phelix_names ops .json; }
"""


def _zsh() -> str:
    return f"""\
#compdef phelix
autoload -U +X bashcompinit && bashcompinit
{_bash()}"""


def _fish() -> str:
    lines, choices = ["complete -c phelix -f"], _choices()
    for prefix, found in _words().items():
        path = prefix.split()
        if not path:
            condition = "__fish_use_subcommand"
        else:
            condition = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in path)
        for word in found:
            what = f"-l {word.removeprefix('--')}" if word.startswith("--") else f"-a {word}"
            if of := choices.get((prefix, word)):
                what += f" -x -a '{' '.join(of)}'"
            lines.append(f"complete -c phelix -n '{condition}' {what}")
    for condition, what in (
        ("session; and __fish_seen_subcommand_from show checkpoint complete fail cancel", ("sessions", "json", "")),
        ("view; and __fish_seen_subcommand_from show remove", ("views", "toml", "")),
        ("plan; and __fish_seen_subcommand_from show apply", ("plans", "json", "")),
        ("authz; and __fish_seen_subcommand_from approve revoke check", ("plans", "json", "")),
        ("operation; and __fish_seen_subcommand_from status cancel", ("ops", "json", "")),
        ("session; and __fish_seen_subcommand_from list", ("views", "toml", "-l view -x ")),
    ):
        folder, suffix, option = what
        lines.append(
            f"complete -c phelix -n '__fish_seen_subcommand_from {condition}' {option}-a "
            f"'(for f in (set -q PHELIX_DATA_DIR; and echo $PHELIX_DATA_DIR; or echo ~/.phelix)/{folder}/*.{suffix}; "
            f"basename $f .{suffix}; end)'"
        )
    return "\n".join(lines) + "\n"
