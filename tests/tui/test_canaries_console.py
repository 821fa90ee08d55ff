"""P14 in the console: what goes into a dialog, and what other tools' records hold, is nowhere seen and nowhere kept.

One exception: what somebody is typing stands in the input that it is typed into, for as long as it stands there.
"""

import io
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widgets import Button

from phelix_core.cli.main import main
from phelix_core.strictjson import dumps
from phelix_tui.app import ConsoleApp
from phelix_tui.form import Entry, FormField
from phelix_tui.guard import AFTER_PASTE_S
from phelix_tui.screens.confirm import CommandForm, ConfirmScreen
from phelix_tui.screens.conflict import ConflictScreen
from phelix_tui.screens.fleet import FleetRoom
from phelix_tui.screens.help import HelpScreen
from phelix_tui.screens.session import SessionRoom
from phelix_tui.screens.views import ViewsMenu
from phelix_tui.starting import as_svg
from phelix_tui.widgets.pages import Bar, TextPage
from tests.canaries import CANARIES, found_in, found_under, in_turn
from tests.tui.hostile import hostile_record
from tests.tui.stage import Stage, fleet_of, opened, until
from tests.tui.terminals import console, fill, gone_within, ready
from tests.tui.walks import agent_does, confirm, form, home, menu, page, press_apply, record_of, toasts, told, type_in

ID = "ses_0000000000000001"
TYPED = next(canary for canary in CANARIES if canary.kind == "gitlab")
_CAPS = {"step": 120, "note": 500}


def seen(app: ConsoleApp) -> str:
    """Everything on the screen and on its pages, in passing notices and on the clipboard, but for filled inputs."""
    screen = app.screen
    entries = [entry.region for entry in screen.query(Entry)]
    said: list[str] = []
    for y, strip in enumerate(screen._compositor.render_strips()):  # pyright: ignore[reportPrivateUsage]
        for region in entries:
            if region.y <= y < region.bottom:
                strip = Strip.join([strip.crop(0, region.x), strip.crop(region.right)])  # noqa: PLW2901 - what is left
        said.append(strip.text)
    said += [bar.text for bar in screen.query(Bar)] + [page.text for page in screen.query(TextPage)]
    said += [*toasts(app), app.clipboard]
    if not any(entry.value for entry in screen.query(Entry)):
        said.append(as_svg(app))
    return "\n".join(said)


def check(app: ConsoleApp) -> None:
    """No canary is seen."""
    holding = [line for line in seen(app).split("\n") if found_in(line)]
    assert not holding, holding


def batches(cap: int) -> Iterator[str]:
    """All of them, as many at a time as fit in `cap` bytes; one that does not fit stands alone."""
    batch = ""
    for canary in CANARIES:
        if batch and len(batch) + len(canary.text) >= cap:
            yield batch
            batch = ""
        batch = f"{batch}\n{canary.text}" if batch else canary.text
    yield batch


SOME_EACH = [pytest.param(text, id=f"part {number}") for number, text in enumerate(batches(1_100), 1)]


async def paste(app: ConsoleApp, pilot: Pilot[Any], text: str) -> None:
    """Paste, and wait until the guard takes keys again."""
    app.post_message(events.Paste(text))
    await pilot.pause()

    def is_over() -> bool:
        return time.monotonic() > app.guard._pasted_at + AFTER_PASTE_S  # pyright: ignore[reportPrivateUsage]

    await until(pilot, is_over, "keys count again")


async def planned(app: ConsoleApp, pilot: Pilot[Any]) -> None:
    """Wait until the form has asked the core about what is filled in now."""
    screen: Any = app.screen
    await until(pilot, lambda: screen._planned == screen.values(), "the core was asked", 10)
    await pilot.pause()


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    stage = Stage(tmp_path / "data")
    agent_does(stage, "session create", title="ship billing v3", app="billing")
    return stage


# What is typed


@pytest.mark.parametrize("key", ["k", "c", "f", "x"])
async def test_what_is_pasted_into_any_field_of_any_form_is_seen_there_alone(stage: Stage, key: str) -> None:
    async with stage.app(100, 40) as (app, pilot):
        await form(pilot, key)
        for field in app.screen.query(FormField):
            entry = field.query_one(Entry)
            entry.focus()
            for number, text in enumerate(batches(_CAPS.get(field.field.name, 2_000))):
                entry.value = ""
                if number:
                    entry.value = text.replace("\n", " ")
                else:
                    await paste(app, pilot, text)
                assert found_in(entry.value)
                await planned(app, pilot)
                check(app)
            entry.value = ""
        await pilot.press("escape")
        await home(app, pilot)
        check(app)
    assert found_under(stage.data_dir) == {}


async def test_what_is_typed_is_redacted_from_the_form_on(stage: Stage) -> None:
    """Form, confirmation, the command copied from it, what is told in passing, the story, the record, the file."""
    async with stage.app(100, 40) as (app, pilot):
        session_id = fleet_of(app).cursor_id or ""
        await form(pilot, "c")
        await paste(app, pilot, TYPED.text[:-8])
        await type_in(pilot, TYPED.text[-8:])
        await planned(app, pilot)
        assert "[REDACTED:gitlab-token]" in page(app, "plan")
        check(app)
        await press_apply(app, pilot)
        await opened(pilot, ConfirmScreen)
        await until(pilot, lambda: "[REDACTED:" in page(app, "plan"), "the plan")
        await pilot.press("y")
        assert "[REDACTED:gitlab-token]" in app.clipboard
        check(app)
        await press_apply(app, pilot)
        await told(app, pilot, "is written")
        await home(app, pilot)
        check(app)
        await look_at_everything(app, pilot)
    assert "[REDACTED:gitlab-token]" in record_of(stage, session_id)["final_result"]
    assert found_under(stage.data_dir) == {}


async def look_at_everything(app: ConsoleApp, pilot: Pilot[Any]) -> None:
    """Story, record, menu, help, each checked."""
    await pilot.press("enter")
    await opened(pilot, SessionRoom)
    await until(pilot, lambda: "Timeline" in page(app, "story"), "the story")
    check(app)
    await pilot.press("tab")
    await until(pilot, lambda: '"schema_version"' in page(app, "story"), "the record")
    check(app)
    await pilot.press("question_mark")
    await opened(pilot, HelpScreen)
    check(app)
    await pilot.press("escape")
    await until(pilot, lambda: isinstance(app.screen, SessionRoom), "the room")
    await menu(pilot)
    check(app)
    await pilot.press("escape")
    await until(pilot, lambda: isinstance(app.screen, SessionRoom), "the room")
    await pilot.press("escape")
    await home(app, pilot)


async def test_what_is_pasted_where_nothing_takes_text_is_nowhere(stage: Stage) -> None:
    async with stage.app(100, 40) as (app, pilot):
        for text in batches(2_000):
            await paste(app, pilot, text)
            check(app)
        await menu(pilot)
        for text in batches(2_000):
            await paste(app, pilot, text)
            check(app)
        assert app.is_running
    assert found_under(stage.data_dir) == {}


async def test_a_filter_is_seen_in_its_input_alone(stage: Stage) -> None:
    """Good ones and bad ones, while they are typed and once they are entered."""
    async with stage.app(100, 40) as (app, pilot):
        for text in (*batches(500), f"is:{TYPED.text}", f"{TYPED.text}=1", f"/{TYPED.text}("):
            await pilot.press("slash")
            await paste(app, pilot, text)
            check(app)
            await pilot.press("enter")
            check(app)
            await pilot.press("escape")
            await home(app, pilot)
    assert found_under(stage.data_dir) == {}


async def test_a_filter_that_is_saved_and_the_fields_of_its_form_are_seen_in_their_inputs_alone(stage: Stage) -> None:
    async with stage.app(100, 40) as (app, pilot):
        await pilot.press("slash")
        await paste(app, pilot, f"title~{TYPED.text}")
        await pilot.press("enter")
        await pilot.press("v")
        menu_of_views = await opened(pilot, ViewsMenu)
        await until(pilot, lambda: menu_of_views.settled, "the counts")
        check(app)
        await pilot.press("s")
        await opened(pilot, CommandForm)
        check(app)
        for field in app.screen.query(FormField):
            entry = field.query_one(Entry)
            entry.focus()
            for text in batches(200):
                entry.value = ""
                await paste(app, pilot, text)
                await planned(app, pilot)
                check(app)
            entry.value = "kept" if field.field.name == "name" else TYPED.text
        await planned(app, pilot)
        await press_apply(app, pilot)
        await opened(pilot, ConfirmScreen)
        await until(pilot, lambda: page(app, "plan").count("[REDACTED:") > 1, "the plan")
        await pilot.press("y")
        check(app)
        await press_apply(app, pilot)
        await told(app, pilot, "is written")
        await home(app, pilot)
    assert "[REDACTED:" in (stage.data_dir / "views" / "kept.toml").read_text()
    assert found_under(stage.data_dir) == {}


async def overtaken(stage: Stage, app: ConsoleApp, pilot: Pilot[Any], text: str) -> ConflictScreen:
    """A confirmation whose session an agent changed in the same moment."""
    screen = await confirm(app, pilot, "c", text)
    agent_does(stage, "session checkpoint", session_id=screen.target.id, note="theirs")
    screen.query_one("#apply", Button).press()
    return await opened(pilot, ConflictScreen)


async def test_a_conflict_shows_and_copies_the_change_without_it(stage: Stage) -> None:
    async with stage.app(120, 40) as (app, pilot):
        await form(pilot, "c")
        await paste(app, pilot, TYPED.text)
        await planned(app, pilot)
        await press_apply(app, pilot)
        screen: Any = await opened(pilot, ConfirmScreen)
        await until(pilot, lambda: "[REDACTED:" in page(app, "plan"), "the plan")
        agent_does(stage, "session checkpoint", session_id=screen.target.id, note="theirs")
        screen.query_one("#apply", Button).press()
        await opened(pilot, ConflictScreen)
        check(app)
        await pilot.press("y")
        await told(app, pilot, "OSC 52")
        check(app)


# What other tools stored


def plant(stage: Stage, text: str) -> tuple[Path, ...]:
    """One record with `text` in every place for text, linked to an operation that tells it too."""
    operation = "op_00000000000000aa"
    for folder in ("sessions", "ops"):
        (stage.data_dir / folder).mkdir(parents=True, exist_ok=True)
    record = hostile_record(ID, text) | {"operation_ids": [operation]}
    files = (stage.data_dir / "sessions" / f"{ID}.json", stage.data_dir / "ops" / f"{operation}.json")
    told = {"schema_version": "1", "id": operation, "kind": text, "app": text, "status": text}
    for file, document in zip(files, (record, told), strict=True):
        file.write_bytes(dumps(document).encode())
    return files


@pytest.mark.parametrize("text", SOME_EACH)
async def test_story_record_preview_and_plans_of_a_foreign_record_show_none(tmp_path: Path, text: str) -> None:
    stage = Stage(tmp_path / "data")
    files = plant(stage, text)
    async with stage.app(120, 40) as (app, pilot):
        await until(pilot, lambda: ID in page(app, "preview"), "the preview")
        assert not found_in(page(app, "preview"))
        await pilot.press("enter")
        await opened(pilot, SessionRoom)
        await until(pilot, lambda: "Timeline" in page(app, "story"), "the story")
        check(app)
        await pilot.press("tab")
        await until(pilot, lambda: '"schema_version"' in page(app, "story"), "the record")
        assert "[REDACTED:" in page(app, "story")
        check(app)
        await pilot.press("question_mark")
        await opened(pilot, HelpScreen)
        check(app)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, SessionRoom), "the room")
        await form(pilot, "k")
        await type_in(pilot, "mine")
        await planned(app, pilot)
        assert "[REDACTED:" in page(app, "plan")
        assert not found_in(page(app, "plan"))
    assert found_under(stage.data_dir, files) == {}


async def test_the_list_shows_none_of_a_foreign_record(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "data")
    plant(stage, TYPED.text)
    async with stage.app(200, 40) as (app, pilot):
        await until(pilot, lambda: fleet_of(app).row_count == 1, "the row")
        check(app)


async def test_the_head_of_a_dialog_shows_none_of_a_foreign_record(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "data")
    plant(stage, TYPED.text)
    async with stage.app(200, 40) as (_, pilot):
        screen = await form(pilot, "c")
        assert not found_in(screen.query_one("#proposal-title", Bar).text)


async def test_a_conflict_shows_none_of_a_foreign_record(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "data")
    plant(stage, TYPED.text)
    async with stage.app(120, 40) as (app, pilot):
        await overtaken(stage, app, pilot, "mine")
        assert not found_in(page(app, "base") + page(app, "current"))


@pytest.mark.parametrize("text", SOME_EACH)
async def test_a_record_that_cannot_be_read_tells_nothing_of_it(tmp_path: Path, text: str) -> None:
    stage = Stage(tmp_path / "data")
    files = plant(stage, text)
    files[0].write_bytes(dumps(hostile_record(ID, text) | {"status": text}).encode())
    async with stage.app(120, 40) as (app, pilot):
        await until(pilot, lambda: "SESSION_INVALID" in page(app, "preview"), "the preview")
        check(app)
        await menu(pilot)
        check(app)
    assert found_under(stage.data_dir, files) == {}


# What stands around it


async def test_a_bad_theme_file_is_told_without_it(stage: Stage) -> None:
    (stage.data_dir / "themes").mkdir()
    (stage.data_dir / "themes" / f"{in_turn(0).text}.toml").write_text("nonsense")
    (stage.data_dir / "themes" / "keys.toml").write_text(f"{dumps(in_turn(1).text)} = 1")
    (stage.data_dir / "themes" / "name.toml").write_text(f"name = {dumps(in_turn(2).text)}")
    async with stage.app(200, 40) as (app, _):
        check(app)


async def test_a_folder_called_by_a_secret_is_not_told(tmp_path: Path) -> None:
    stage = Stage(tmp_path / TYPED.text)
    async with stage.app(200, 40) as (app, _):
        check(app)


@pytest.mark.parametrize("text", SOME_EACH)
def test_a_fault_ends_the_console_with_a_report_without_it(
    tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Textual alone would print every local variable of every frame."""

    def fail(self: FleetRoom) -> None:
        held = text
        raise RuntimeError(f"about {held} in {self.id}")

    monkeypatch.setattr(FleetRoom, "loaded", fail)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)]
    monkeypatch.setattr("sys.stdout", streams[0])
    monkeypatch.setattr("sys.stderr", streams[1])
    code = main(["tui", "--data-dir", str(tmp_path / "data"), "--screenshot", str(tmp_path / "shot.svg"), "--json"])
    out, err = (stream.buffer.getvalue() for stream in streams)  # pyright: ignore[reportAttributeAccessIssue]
    assert code == 1
    assert b"INTERNAL" in err
    assert b"held" not in err
    [report] = tmp_path.glob("phelix-report-*")
    assert not found_in(out + err + report.read_bytes())
    assert not (tmp_path / "shot.svg").exists()


# On a terminal


def test_no_byte_on_a_terminal_tells_a_theme_a_paste_or_what_was_written(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    fill(data_dir, 3)
    with console(data_dir, "--theme", in_turn(0).text, cols=110, PHELIX_THEME=in_turn(1).text) as terminal:
        ready(terminal)
        terminal.wait_for("There is no theme")
        for text in batches(2_000):
            terminal.paste(text)
        terminal.wait_quiet()
        terminal.send("q")
        gone_within(terminal, 5)
        assert not found_in(terminal.raw)
    assert found_under(data_dir) == {}


def test_on_a_terminal_what_is_typed_stands_in_its_input_and_never_in_the_plan(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    fill(data_dir, 3)
    with console(data_dir, cols=110, rows=40) as terminal:
        ready(terminal)
        terminal.send("a")
        terminal.wait_for("Act on")
        terminal.wait_quiet(0.5)
        terminal.send("k")
        terminal.wait_for("Step reached")
        terminal.wait_quiet(0.5)
        terminal.paste(TYPED.text)
        terminal.wait_for("[REDACTED:gitlab-token]")
        holding = [line for line in terminal.lines() if found_in(line)]
        assert len(holding) == 1, "the input, and nothing else"
        assert "│ step  " in holding[0]
        terminal.send("escape")
    assert found_under(data_dir) == {}
