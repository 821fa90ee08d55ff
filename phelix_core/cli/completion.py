"""Completion scripts for bash, zsh and fish, written from the registry: commands, options, known values."""

from phelix_core.checks import Surface
from phelix_core.commands.programs import PrintCompletion
from phelix_core.commands.registry import CATALOGUE, Command, Effect, load_command
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
    own = [field.option for field in command.fields(Surface.CLI) if not field.positional]
    writing = ["--dry-run", "--expect-digest"] if command.effect is Effect.WRITE else []
    return [*own, *writing, *_GLOBAL]


def _bash() -> str:
    cases = "\n".join(f'        "{prefix}") words="{" ".join(found)}" ;;' for prefix, found in _words().items())
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
    [ "$COMP_CWORD" -eq 3 ] && case "$path" in session\\ create|session\\ list|session\\ prune) ;;
        session\\ *) words="$words $(_phelix_sessions)" ;; esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
{_SESSIONS}complete -F _phelix phelix
"""


_SESSIONS = """\
_phelix_sessions() {
    local file
    for file in "${PHELIX_DATA_DIR:-$HOME/.phelix}"/sessions/ses_*.json; do
        [ -e "$file" ] && file="${file##*/}" && printf '%s\\n' "${file%.json}"
    done
}
"""


def _zsh() -> str:
    return f"""\
#compdef phelix
autoload -U +X bashcompinit && bashcompinit
{_bash()}"""


def _fish() -> str:
    lines = ["complete -c phelix -f"]
    for prefix, found in _words().items():
        path = prefix.split()
        if not path:
            condition = "__fish_use_subcommand"
        else:
            condition = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in path)
        for word in found:
            what = f"-l {word.removeprefix('--')}" if word.startswith("--") else f"-a {word}"
            lines.append(f"complete -c phelix -n '{condition}' {what}")
    lines.append(
        "complete -c phelix -n '__fish_seen_subcommand_from show checkpoint complete fail cancel' -a "
        "'(for f in (set -q PHELIX_DATA_DIR; and echo $PHELIX_DATA_DIR; or echo ~/.phelix)/sessions/ses_*.json; "
        "basename $f .json; end)'"
    )
    return "\n".join(lines) + "\n"
