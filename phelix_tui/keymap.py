"""`<data-dir>/keys.toml`: other keys for the console's bindings, checked before Textual sees them.

    [keys]
    "room.act" = "ctrl+x"
    "list.down" = "j,down,n"

Each entry names a binding by its id and gives all of its keys. What is wrong with one is told once, with file and
entry, and the rest is used:

- The id is none of ours, or one whose keys are fixed: in dialogs, which ask for decisions, no key can be moved. So
  nothing that writes can come to a bare key; what opens the menu of actions may be moved, an action may not.
- A key has no such name, arrives under another one (`ctrl+i` is what a terminal sends for tab), or leaves the program.
- A binding that works while text is typed (it has a key such as escape) would be left with letters alone.
- **Clash**: two bindings that are in force together would share a key, and do not do so by default. The binding that
  was there keeps the key; of two entries of the file, the first does.

Bindings are found in the classes of rooms, dialogs and widgets, which are read only where there is such a file. A
room counts as if it held a list and a page. Textual itself gives a key that is asked for to the other binding without a
word, and reports a binding that has two keys as a clash with itself: nothing is to be done in its
`handle_bindings_clash`. Source: console page, section 3.
"""

import pkgutil
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final, cast

from textual.binding import Binding, Keymap
from textual.keys import REPLACED_KEYS, Keys, key_to_character

from phelix_core.clock import SystemClock
from phelix_core.errors import NotFound, PhelixError
from phelix_core.files import Folder, UnreadableFile
from phelix_core.frozen import frozen_in_order
from phelix_core.text import SafeStr
from phelix_core.views.shown import shown

FILE: Final = "keys.toml"
TABLE: Final = "keys"
LARGEST_FILE: Final = 64 * 1024
"""Bytes; an entry for every binding takes about four thousand."""

_MODIFIERS: Final = frozenset({"ctrl", "alt", "shift", "super", "hyper", "meta"})
_NAMED: Final = frozenset(key.value.rpartition("+")[2] for key in Keys if not key.value.startswith("<"))
_LEAVING: Final = ("ctrl+c", "ctrl+q")
_ARRIVES_AS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "ctrl+i": "tab",
        "ctrl+m": "enter",
        "ctrl+j": "enter on some terminals",
        "ctrl+h": "backspace on some terminals",
        "ctrl+left_square_bracket": "escape",
        "return": "enter",
        "newline": "ctrl+j",
    }
)


@frozen_in_order
class Problem:
    """An entry that is not used, or not with all of its keys, and why; safe to show. An empty entry is the file."""

    entry: SafeStr
    reason: SafeStr

    @property
    def told(self) -> SafeStr:
        """One line for a notice, with file and entry."""
        return SafeStr(f"{FILE}: {f'{self.entry}: ' if self.entry else ''}{self.reason}")


@frozen_in_order
class LoadedKeys:
    """What `App.set_keymap` takes, and what of the file cannot be used."""

    keymap: Keymap
    problems: tuple[Problem, ...]


@frozen_in_order
class Declared:
    """Every binding there is: keys by id, the ids that may be moved, and which are in force together."""

    keys: Mapping[str, frozenset[str]]
    movable: frozenset[str]
    typing: frozenset[str]
    """Movable ids that also work while a text field has the focus."""
    together: tuple[frozenset[str], ...]


_NO_KEYS: Final = LoadedKeys({}, ())


def load_keys(data_dir: str) -> LoadedKeys:
    """Read the file, which may be missing; whatever is wrong with it, there is an answer."""
    try:
        data = Folder(data_dir, SystemClock()).read(FILE, LARGEST_FILE)
    except NotFound:
        return _NO_KEYS
    except UnreadableFile as error:
        return _unusable(f"{error}")
    except PhelixError as error:
        return _unusable(error.message)
    try:
        raw = tomllib.loads(data.decode())
    except (ValueError, RecursionError) as error:
        return _unusable(f"not TOML: {error}")
    return checked(raw, declared())


def _unusable(reason: str) -> LoadedKeys:
    return LoadedKeys({}, (Problem(SafeStr(""), shown(reason)),))


def checked(raw: Mapping[str, object], there: Declared) -> LoadedKeys:
    """What of a file's content can be used, and what is wrong with the rest."""
    problems = [Problem(shown(name), SafeStr(f"only the table [{TABLE}] is read")) for name in raw if name != TABLE]
    table = raw.get(TABLE, {})
    if not isinstance(table, dict):
        return LoadedKeys({}, (*problems, Problem(SafeStr(TABLE), SafeStr("must be a table"))))
    wanted: dict[str, list[str]] = {}
    for entry, value in _entries(cast("dict[str, object]", table)):
        keys, wrong = _keys_of(entry, value, there)
        problems += [Problem(shown(entry), shown(reason)) for reason in wrong]
        if keys:
            wanted[entry] = keys
    while (problem := _taken_back(wanted, there)) is not None:
        problems.append(problem)
    return LoadedKeys({entry: ",".join(keys) for entry, keys in wanted.items()}, tuple(problems))


def _entries(table: Mapping[str, object], before: str = "") -> Iterator[tuple[str, object]]:
    """Ids and values: without quotation marks, TOML takes the dot of an id for a table in a table."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _entries(cast("dict[str, object]", value), f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def _keys_of(entry: str, value: object, there: Declared) -> tuple[list[str], list[str]]:
    """The keys that an entry asks for, and what is wrong with it."""
    if entry not in there.keys:
        return [], ["there is no binding of that id"]
    if entry not in there.movable:
        return [], ["its keys are fixed: it belongs to a dialog"]
    if not isinstance(value, str) or not value.strip():
        return [], ['must be one key or several, as in "ctrl+x" or "j,down"']
    keys: list[str] = []
    wrong: list[str] = []
    for named in value.split(","):
        key = _normal(named.strip())
        reason = why_not(key)
        if reason is not None:
            wrong.append(f"{key or 'an empty key'} {reason}")
        elif key not in keys:
            keys.append(key)
    return keys, wrong


def _normal(named: str) -> str:
    """The key as Textual names it: `question_mark` for `?`."""
    if not named:
        return ""
    modifiers, plus, last = named.rpartition("+") if len(named) > 1 else ("", "", named)
    if not last:  # `ctrl++`
        modifiers, plus, last = named[:-1].rstrip("+"), "+", "+"
    return f"{modifiers}{plus}{next(iter(Binding.make_bindings([Binding(last, '')]))).key}"


def why_not(key: str) -> str | None:
    """Why a key, under Textual's name, cannot be used; None where it can."""
    if not key:
        return "is no key"
    *modifiers, last = key.split("+")
    if not _MODIFIERS.issuperset(modifiers) or len(set(modifiers)) != len(modifiers) or not _is_key(last):
        return "is not the name of a key"
    if key in _LEAVING:
        return "always leaves the console"
    if key in _ARRIVES_AS:
        return f"cannot be told from {_ARRIVES_AS[key]}"
    if modifiers == ["shift"] and len(last) == 1:
        return f"arrives as {last.upper()}: write that"
    return None


def _is_key(name: str) -> bool:
    if len(name) == 1:
        return name.isprintable()
    return name in _NAMED or _character(name) is not None


def _character(key: str) -> str | None:
    """The character that a key types; None where it types none."""
    character = key_to_character(REPLACED_KEYS.get(key, key))
    return character if character is not None and character.isprintable() else None


def _types_text(key: str) -> bool:
    return _character(key) is not None


# What entries do to each other


def _taken_back(wanted: dict[str, list[str]], there: Declared) -> Problem | None:
    """Take one key, or one entry, that cannot be had; answers what it was, None where there is none left.

    What loses its entry has its own keys again, and another one may have asked for them: so everything is looked at
    again each time. Each time something goes, so it ends.
    """
    clash = _first_clash(wanted, there)
    if clash is not None:
        loser, holder, key = clash
        wanted[loser].remove(key)
        if not wanted[loser]:
            del wanted[loser]
        return Problem(shown(loser), shown(f"{key} stays with {holder}, which is in force at the same time"))
    for entry, keys in wanted.items():
        if entry in there.typing and all(map(_types_text, keys)):
            del wanted[entry]
            reason = "needs a key that types no text, such as escape or ctrl+g: it also works while text is typed"
            return Problem(shown(entry), SafeStr(reason))
    return None


def _first_clash(wanted: Mapping[str, list[str]], there: Declared) -> tuple[str, str, str] | None:
    """An entry, the binding it clashes with, and the key; the file's last entry before any other."""
    places = {entry: place for place, entry in enumerate(wanted)}
    for loser in reversed(list(wanted)):
        for key in wanted[loser]:
            for holder in _sharing(loser, there):
                is_earlier = places.get(holder, -1) < places[loser]
                has_key = key in (wanted[holder] if holder in wanted else there.keys[holder])
                is_so_anyway = key in there.keys[loser] and key in there.keys[holder]
                if is_earlier and has_key and not is_so_anyway:
                    return loser, holder, key
    return None


def _sharing(binding: str, there: Declared) -> list[str]:
    """The other bindings that are in force together with one."""
    return sorted({other for group in there.together if binding in group for other in group} - {binding})


# What there is


@cache
def declared() -> Declared:
    """Find every binding of the console; reads the modules of its rooms, dialogs and widgets."""
    from phelix_tui.app import ConsoleApp  # noqa: PLC0415 - the app reads this module
    from phelix_tui.form import Choice  # noqa: PLC0415 - the same, and below
    from phelix_tui.screens.dialog import Dialog  # noqa: PLC0415
    from phelix_tui.screens.room import Room  # noqa: PLC0415
    from phelix_tui.widgets.pages import TextPage  # noqa: PLC0415
    from phelix_tui.widgets.rowlist import RowList  # noqa: PLC0415

    screens = import_module("phelix_tui.screens")
    for found in pkgutil.iter_modules(screens.__path__):
        import_module(f"{screens.__name__}.{found.name}")
    return declare(
        everywhere=ConsoleApp,
        rooms=_kinds_of(Room),
        dialogs=_kinds_of(Dialog),
        moving=(RowList, TextPage),
        asking=(Choice,),
    )


def declare(
    *,
    everywhere: type,
    rooms: Iterable[type],
    dialogs: Iterable[type],
    moving: Iterable[type],
    asking: Iterable[type],
) -> Declared:
    """What these classes declare; `moving` are widgets of rooms and dialogs, `asking` those of dialogs alone."""
    keys: dict[str, frozenset[str]] = {}
    in_rooms, in_dialogs = set[str](), set[str]()
    together: list[frozenset[str]] = []
    app, moves, asks = _ids(everywhere, keys), [_ids(one, keys) for one in moving], [_ids(one, keys) for one in asking]
    for room in rooms:
        own = _ids(room, keys)
        in_rooms |= own
        together += [app | own | widget for widget in moves]
    for dialog in dialogs:
        own = _ids(dialog, keys)
        in_dialogs |= own
        together += [own | widget for widget in (*moves, *asks)]
    works_in_rooms = in_rooms | app
    typing = {one for one in works_in_rooms if not all(map(_types_text, keys[one]))}
    movable = works_in_rooms.union(*moves) - in_dialogs.union(*asks)
    return Declared(keys, frozenset(movable), frozenset(typing), tuple(dict.fromkeys(together)))


def _kinds_of(kind: type) -> list[type]:
    """A class and all that are made of it, in the order of their names."""
    found = {kind}
    for made in kind.__subclasses__():
        found.update(_kinds_of(made))
    return sorted(found, key=lambda one: (one.__module__, one.__qualname__))


def _ids(kind: type, keys: dict[str, frozenset[str]]) -> frozenset[str]:
    """Ids of the bindings that a class of ours has; their keys are added to `keys`."""
    found: dict[str, set[str]] = {}
    for part in kind.__mro__:
        raw: Iterable[Any] = part.__dict__.get("BINDINGS", ())
        for binding in Binding.make_bindings(raw):
            if binding.id is not None:
                found.setdefault(binding.id, set()).add(binding.key)
    for name, own in found.items():
        keys[name] = keys.get(name, frozenset()) | own
    return frozenset(found)


def under(bindings: Iterable[Binding], keymap: Keymap) -> list[Binding]:
    """Bindings as a keymap leaves them, for whoever tells of keys."""
    told: dict[tuple[str, str, str], Binding] = {}
    for binding in bindings:
        moved = keymap.get(binding.id or "")
        for key in binding.key.split(",") if moved is None else moved.split(","):
            told.setdefault((binding.id or "", binding.action, key), binding.with_key(key))
    return list(told.values())
