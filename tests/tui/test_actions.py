"""What can be done to what is on the screen, and why not; what is sent to the core for it."""

import pytest

from phelix_core.checks import Surface
from phelix_core.commands.registry import CATALOGUE, Effect, load_command
from phelix_core.views.rows import BadRecord
from phelix_tui.actions import SESSION_ACTIONS, TERMINAL, SessionTarget, why_not
from phelix_tui.form import form_fields
from tests.tui.test_arrangement import IDS, START, summary

LOCKED = "read-only: start without --read-only to make changes"


@pytest.mark.parametrize(
    ("target", "locked", "reason"),
    [
        (SessionTarget(IDS[0], summary()), None, None),
        (SessionTarget(IDS[0], summary()), LOCKED, LOCKED),
        (None, None, "no session is selected"),
        (None, LOCKED, LOCKED),
        (SessionTarget(IDS[0], summary(status="failed")), None, "closed: failed at"),
        (
            SessionTarget(IDS[0], summary(status="completed", updated_at_ms=START)),
            None,
            "closed: completed at 14:13:20Z",
        ),
        (SessionTarget(IDS[0], BadRecord("SESSION_CORRUPT")), None, "cannot be read (SESSION_CORRUPT)"),
        (SessionTarget(IDS[0], BadRecord("SESSION_INVALID", summary())), None, "Phelix never writes over it"),
    ],
)
def test_an_action_says_why_it_cannot_be_done_now(
    target: SessionTarget | None, locked: str | None, reason: str | None
) -> None:
    told = why_not(target, locked)
    assert (told is None) == (reason is None)
    assert (reason or "") in (told or "")


def test_every_action_is_a_write_command_of_the_console_with_a_key_of_its_own() -> None:
    assert len({action.key for action in SESSION_ACTIONS}) == len(SESSION_ACTIONS)
    for action in SESSION_ACTIONS:
        command = load_command(action.command)
        assert command.effect is Effect.WRITE
        assert Surface.TUI in command.surfaces


def test_every_session_write_that_the_console_carries_on_one_record_is_an_action() -> None:
    """Architecture: a feature on one surface only needs a reason in its declaration."""
    carried = {
        name
        for name in CATALOGUE
        if (command := load_command(name)).effect is Effect.WRITE
        and any(field.name == "session_id" for field in command.fields(Surface.TUI))
    }
    assert carried == {action.command for action in SESSION_ACTIONS}


def test_what_a_closing_action_asks_for_is_a_field_of_its_form() -> None:
    for action in SESSION_ACTIONS:
        names = [field.name for field in form_fields(load_command(action.command))]
        assert not {"session_id", "if_rev"} & set(names), "the screen fills these in"
        if action.tier == TERMINAL:
            assert action.asks == names[0]


def test_the_core_is_sent_what_was_filled_in_for_the_revision_on_the_screen() -> None:
    target = SessionTarget(IDS[0], summary(rev=7))
    assert target.raw(SESSION_ACTIONS[0], {"step": "deploy", "note": "", "plans": ()}) == {
        "session_id": IDS[0],
        "step": "deploy",
        "if_rev": 7,
    }
    assert SessionTarget(IDS[0], BadRecord("SESSION_CORRUPT")).rev is None
