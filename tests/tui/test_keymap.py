"""`keys.toml`: what moves, what cannot, that clashes are settled before Textual sees them; the rest is used."""

import ast
import os
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.binding import Binding, BindingsMap
from textual.widgets import Input

import phelix_tui
from phelix_tui.keymap import FILE, LARGEST_FILE, Declared, LoadedKeys, checked, declared, load_keys, under, why_not
from phelix_tui.screens.dialog import Dialog
from phelix_tui.screens.fleet import FleetRoom
from phelix_tui.screens.menu import ActionMenu
from phelix_tui.screens.queue import QueueRoom
from tests.tui.stage import Stage, fleet_of, opened, until

THERE = declared()
MOVABLE = sorted(THERE.movable)
SOME_KEYS = ["x", "j", "q", "a", "slash", "escape", "ctrl+g", "tab", "f5", "enter", "1", "question_mark", "space"]


def asked(**entries: str) -> LoadedKeys:
    return checked({"keys": {name.replace("__", ".").replace("_", "-"): keys for name, keys in entries.items()}}, THERE)


def told(loaded: LoadedKeys) -> list[str]:
    return [problem.told for problem in loaded.problems]


def written(folder: Path, text: str | bytes) -> LoadedKeys:
    folder.mkdir(exist_ok=True)
    (folder / FILE).write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_keys(str(folder))


def ids_in_the_source() -> set[str]:
    """The ids of all bindings, read from the text of the console's modules."""
    found: set[str] = set()
    for path in Path(phelix_tui.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Binding":
                found |= {ast.literal_eval(given.value) for given in node.keywords if given.arg == "id"}
    return found


def test_every_binding_of_the_console_is_known_by_its_id() -> None:
    assert THERE.keys.keys() == ids_in_the_source()
    assert {"room.act", "list.down", "app.help", "fleet.find"} <= THERE.movable


def test_no_binding_of_a_dialog_can_be_moved_so_that_nothing_that_writes_comes_to_a_bare_key() -> None:
    dialogs = {
        one for one in THERE.keys if one.split(".")[0] in {"dialog", "menu", "views", "conflict", "choice", "help"}
    }
    assert {"views.save", "views.remove", "conflict.replan", "dialog.back"} <= dialogs
    for one in sorted(dialogs):
        loaded = checked({"keys": {one: "f5"}}, THERE)
        assert loaded.keymap == {}
        assert told(loaded) == [f"keys.toml: {one}: its keys are fixed: it belongs to a dialog"]


def test_every_entry_names_all_keys_of_a_binding_in_long_or_short_form() -> None:
    loaded = asked(room__act="ctrl+x", app__help="?, f1", list__down="n,down")
    assert loaded == LoadedKeys({"room.act": "ctrl+x", "app.help": "question_mark,f1", "list.down": "n,down"}, ())
    assert asked(app__help="ctrl++,+,ctrl+slash").keymap == {"app.help": "ctrl+plus,plus,ctrl+slash"}


def test_what_is_wrong_is_told_with_file_and_entry_and_the_rest_is_used(tmp_path: Path) -> None:
    loaded = written(
        tmp_path,
        """
        colour = "x"
        [keys]
        room.act = "ctrl+x"          # without quotation marks TOML takes it for a table in a table
        "room.copy" = ["c"]
        "nope.nope" = "x"
        "fleet.find" = ""
        "app.help" = "f1,hyper+nothing,,f1"
        "app.queue" = "ctrl+c"
        "app.theme" = "ctrl+i"
        "list.first" = "shift+g"
        """,
    )
    assert loaded.keymap == {"room.act": "ctrl+x", "app.help": "f1"}
    assert told(loaded) == [
        "keys.toml: colour: only the table [keys] is read",
        'keys.toml: room.copy: must be one key or several, as in "ctrl+x" or "j,down"',
        "keys.toml: nope.nope: there is no binding of that id",
        'keys.toml: fleet.find: must be one key or several, as in "ctrl+x" or "j,down"',
        "keys.toml: app.help: hyper+nothing is not the name of a key",
        "keys.toml: app.help: an empty key is no key",
        "keys.toml: app.queue: ctrl+c always leaves the console",
        "keys.toml: app.theme: ctrl+i cannot be told from tab",
        "keys.toml: list.first: shift+g arrives as G: write that",
    ]


@pytest.mark.parametrize("key", ["x", "X", "slash", "at", "underscore", "f12", "ctrl+up", "alt+enter", "é", "pagedown"])
def test_a_key_that_a_terminal_can_send_is_one(key: str) -> None:
    assert why_not(key) is None


@pytest.mark.parametrize(
    "key", ["", "xy", "ctl+x", "ctrl+ctrl+x", "ctrl+", "\x1b", "<any>", "ctrl+q", "return", "ctrl+m"]
)
def test_what_is_no_key_or_not_to_be_had_is_refused(key: str) -> None:
    assert why_not(key) is not None


def test_a_missing_file_moves_nothing_and_an_unusable_one_is_told_once(tmp_path: Path) -> None:
    assert load_keys(str(tmp_path / "nowhere")) == LoadedKeys({}, ())
    assert told(written(tmp_path, "[keys"))[0].startswith("keys.toml: not TOML: ")
    assert told(written(tmp_path, b"\xff\xfe"))[0].startswith("keys.toml: not TOML: ")
    assert told(written(tmp_path, "keys = 3")) == ["keys.toml: keys: must be a table"]
    assert told(written(tmp_path, "#" * (LARGEST_FILE + 1))) == [f"keys.toml: larger than {LARGEST_FILE} bytes"]
    (tmp_path / FILE).unlink()
    os.mkfifo(tmp_path / FILE)
    assert told(load_keys(str(tmp_path))) == ["keys.toml: not a regular file"], "and nobody waits for a writer"


def test_hostile_names_in_the_file_are_told_safely(tmp_path: Path) -> None:
    loaded = written(tmp_path, '[keys]\n"\\u001b]0;pwn\\u0007" = "x"\n"room.act" = "\\u001b[2J"\n')
    assert loaded.keymap == {}
    assert not any(ord(character) < 32 for line in told(loaded) for character in line)


class TestAClash:
    def test_is_lost_by_the_entry_and_the_binding_that_was_there_keeps_its_key(self) -> None:
        loaded = asked(fleet__find="a,w")
        assert loaded.keymap == {"fleet.find": "w"}
        assert told(loaded) == ["keys.toml: fleet.find: a stays with room.act, which is in force at the same time"]
        assert asked(fleet__find="a").keymap == {}

    def test_between_two_entries_is_won_by_the_first_of_the_file(self) -> None:
        loaded = asked(lists__mark="w", fleet__find="w")
        assert loaded.keymap == {"lists.mark": "w"}
        assert told(loaded) == ["keys.toml: fleet.find: w stays with lists.mark, which is in force at the same time"]

    def test_is_none_where_the_other_binding_moves_away(self) -> None:
        swapped = asked(fleet__find="v", fleet__views="slash")
        assert swapped == LoadedKeys({"fleet.find": "v", "fleet.views": "slash"}, ())

    def test_comes_back_where_the_other_binding_cannot_move_away_after_all(self) -> None:
        loaded = asked(fleet__find="v", fleet__views="a")
        assert loaded.keymap == {}
        assert len(loaded.problems) == 2

    def test_is_none_between_rooms_that_are_never_in_front_together(self) -> None:
        assert asked(fleet__find="F", queue__find="F").problems == ()

    def test_is_one_with_the_list_that_has_the_focus_in_the_room(self) -> None:
        assert told(asked(room__act="j"))[0].startswith("keys.toml: room.act: j stays with list.down")

    def test_is_one_with_a_dialog_in_which_the_list_moves(self) -> None:
        assert told(asked(list__down="y"))[0].startswith("keys.toml: list.down: y stays with ")
        assert "list.open" not in asked(list__open="x").keymap, "x removes a view where views are listed"


def test_a_binding_that_works_while_text_is_typed_keeps_a_key_that_types_none() -> None:
    assert asked(fleet__clear="z").keymap == {}
    assert "types no text" in told(asked(fleet__clear="z"))[0]
    assert asked(fleet__clear="z,ctrl+g").keymap == {"fleet.clear": "z,ctrl+g"}
    assert asked(app__palette="P").keymap == {}


def pairs_of(loaded: LoadedKeys, there: Declared) -> set[tuple[str, str, str]]:
    """Bindings in force together that share a key and do not do so by default."""
    keys = {one: set(loaded.keymap[one].split(",")) if one in loaded.keymap else own for one, own in there.keys.items()}
    return {
        (one, other, key)
        for group in there.together
        for one, other in combinations(sorted(group), 2)
        for key in keys[one] & keys[other]
        if key not in there.keys[one] & there.keys[other]
    }


@given(
    st.dictionaries(st.sampled_from(MOVABLE), st.lists(st.sampled_from(SOME_KEYS), min_size=1, max_size=3), max_size=8)
)
def test_whatever_is_asked_for_no_two_bindings_come_to_share_a_key(wanted: dict[str, list[str]]) -> None:
    entries = {one: ",".join(keys) for one, keys in wanted.items()}
    loaded = checked({"keys": entries}, THERE)
    assert pairs_of(loaded, THERE) == set()
    assert loaded.keymap.keys() <= entries.keys()
    again = checked({"keys": dict(loaded.keymap)}, THERE)
    assert again == LoadedKeys(loaded.keymap, ()), "what is used is in order by itself"


def test_the_search_for_shared_keys_finds_one_in_a_map_that_nobody_checked() -> None:
    assert pairs_of(LoadedKeys({"fleet.find": "a"}, ()), THERE)


def test_bindings_are_told_under_the_keys_that_they_have_now() -> None:
    declared_there = [*Binding.make_bindings([Binding("j,down", "go", "Down", id="list.down"), Binding("x", "y", "Z")])]
    assert [one.key for one in under(declared_there, {"list.down": "n,ctrl+n"})] == ["n", "ctrl+n", "x"]
    assert [one.key for one in under(declared_there, {})] == ["j", "down", "x"]


async def test_the_console_obeys_the_new_keys_and_no_longer_the_old(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "data")
    stage.fill(5)
    loaded = written(stage.data_dir, '[keys]\n"room.act" = "ctrl+x"\n"list.down" = "n,ctrl+n"\n"app.queue" = "Q"\n')
    assert loaded.problems == ()
    async with stage.app() as (app, pilot):
        app.set_keymap(loaded.keymap)
        assert isinstance(app.screen, FleetRoom)
        fleet = fleet_of(app)
        first = fleet.cursor_id
        await pilot.press("j", "down")
        assert fleet.cursor_id == first
        await pilot.press("n", "ctrl+n")
        assert fleet.cursor_id == fleet.rows[2].id
        await pilot.press("a")
        assert not isinstance(app.screen, Dialog)
        await pilot.press("ctrl+x")
        await opened(pilot, ActionMenu)
        await pilot.press("n", "escape")
        await until(pilot, lambda: not isinstance(app.screen, Dialog), "the menu closes")
        await pilot.press("3")
        assert not isinstance(app.screen, QueueRoom)
        await pilot.press("Q")
        await until(pilot, lambda: isinstance(app.screen, QueueRoom), "the queue opens")


async def test_a_moved_key_types_its_letter_in_a_text_field(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "data")
    stage.fill(5)
    loaded = asked(fleet__clear="z,ctrl+g", room__act="w", app__palette="P,ctrl+p", fleet__pane="e,f6")
    assert loaded.problems == ()
    async with stage.app() as (app, pilot):
        app.set_keymap(loaded.keymap)
        await pilot.press("slash")
        await until(pilot, lambda: isinstance(app.focused, Input), "the filter has the focus")
        field = app.focused
        assert isinstance(field, Input)
        await pilot.press("z", "w", "P", "e")
        await pilot.pause()
        assert field.value == "zwPe"
        assert isinstance(app.screen, FleetRoom)
        await pilot.press("ctrl+g")
        await until(pilot, lambda: not isinstance(app.focused, Input), "the key that types nothing leaves the field")


async def test_textual_gives_a_key_away_unasked_which_is_why_clashes_are_settled_before(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "data")
    stage.fill(3)
    wanted = {"fleet.find": "a,f"}
    async with stage.app() as (app, pilot):
        app.set_keymap(checked({"keys": wanted}, THERE).keymap)
        await pilot.press("a")
        await opened(pilot, ActionMenu)
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, Dialog), "the menu closes")
        app.set_keymap(wanted)
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.focused, Input), "the control: what `a` was for has lost its key")


def test_textual_reports_a_binding_of_two_keys_as_a_clash_with_itself_and_not_a_real_one() -> None:
    there = BindingsMap([Binding("j,down", "x", id="list.down"), Binding("a", "y", id="room.act")])
    assert {one.id for one in there.copy().apply_keymap({"list.down": "n"}).clashed_bindings} == {"list.down"}
    assert there.copy().apply_keymap({"list.down": "n,a"}).clashed_bindings == set()
