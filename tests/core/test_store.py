import os
from pathlib import Path

import pytest

from phelix_core.commands.environment import Environment
from phelix_core.errors import AlreadyExists, FilesystemError, NotFound, PhelixError, SessionCorrupt, SessionInvalid
from phelix_core.sessions import transitions
from phelix_core.sessions.model import Session, encode
from phelix_core.sessions.transitions import References, Stamp
from tests.rig import bytes_of

ID = "ses_{:016x}".format


def new(env: Environment, number: int = 1) -> Session:
    session = transitions.create(ID(number), env.actor, env.stamp(), title="ship", project=None, app=None)
    return env.sessions.create(session)


def step(session: Session) -> Session:
    stamp = Stamp(at_ms=session.updated_at_ms + 1, via="cli")
    return transitions.checkpoint(session, stamp, step="next", note=None, linked=References())


def record(env: Environment, number: int = 1) -> Path:
    return Path(env.sessions.path, f"{ID(number)}.json")


def test_a_new_record_is_its_bytes_under_its_name_private_in_a_private_folder(env: Environment) -> None:
    session = new(env)
    assert record(env).read_bytes() == encode(session)
    assert record(env).stat().st_mode & 0o7777 == 0o600
    assert Path(env.sessions.path).stat().st_mode & 0o7777 == 0o700
    assert env.sessions.load(ID(1)) == session


def test_an_existing_id_is_never_taken_over(env: Environment) -> None:
    new(env)
    before = bytes_of(Path(env.settings.data_dir))
    with pytest.raises(AlreadyExists):
        new(env)
    assert bytes_of(Path(env.settings.data_dir)) == before


def test_an_update_writes_what_the_change_answers(env: Environment) -> None:
    after = env.sessions.update(new(env).session_id, step)
    assert record(env).read_bytes() == encode(after)
    assert after.rev == 2


def test_a_change_that_refuses_leaves_every_byte(env: Environment) -> None:
    new(env)
    before = bytes_of(Path(env.settings.data_dir))

    def refuse(_: Session) -> Session:
        raise FilesystemError

    with pytest.raises(FilesystemError):
        env.sessions.update(ID(1), refuse)
    assert bytes_of(Path(env.settings.data_dir)) == before


def test_updating_what_is_not_there_leaves_no_lock_and_makes_no_folder(env: Environment) -> None:
    with pytest.raises(NotFound):
        env.sessions.update(ID(9), step)
    assert not Path(env.settings.data_dir).exists()
    new(env)
    with pytest.raises(NotFound):
        env.sessions.update(ID(9), step)
    assert not list(Path(env.sessions.path).glob("*.lock"))


def test_members_of_another_version_survive_an_update_at_every_level(env: Environment) -> None:
    new(env)
    text = record(env).read_text()
    text = text.replace('"type": "cli",', '"type": "cli", "x-actor": {"deep": [1]},')
    text = text.replace('"seq": 0,', '"seq": 0, "x-event": null,')
    record(env).write_text(text[:-2] + ',\n  "x-top": 2\n}')
    env.sessions.update(ID(1), step)
    after = env.sessions.update(ID(1), step)
    assert after.extra == {"x-top": 2}
    assert after.actor.extra == {"x-actor": {"deep": [1]}}
    assert after.events[0].extra == {"x-event": None}
    assert env.sessions.load(ID(1)) == after


def test_listing_reports_a_bad_record_and_hides_no_other(env: Environment) -> None:
    good = new(env)
    record(env, 2).write_bytes(b"garbage")
    record(env, 3).write_bytes(encode(good))
    found = dict(env.sessions.load_all())
    assert found[ID(1)] == good
    assert isinstance(found[ID(2)], SessionCorrupt)
    assert isinstance(found[ID(3)], SessionInvalid), "the record of session 1 under the name of session 3"


def test_names_that_are_no_records_are_not_listed(env: Environment) -> None:
    new(env)
    folder = Path(env.sessions.path)
    for name in (
        "notes.txt",
        f"{ID(2)}.json.tmp-123",
        f"{ID(2)}.JSON",
        f"{ID(2)}.json~",
        f".{ID(2)}.json",
        "ses_1.json",
    ):
        (folder / name).write_text("{}")
    os.close(os.open(os.fsencode(folder) + b"/\xff.json", os.O_CREAT | os.O_WRONLY))
    assert env.sessions.ids() == [ID(1)]


def test_an_absent_folder_has_no_sessions(env: Environment) -> None:
    assert env.sessions.ids() == []
    assert list(env.sessions.load_all()) == []


def test_leftovers_of_a_killed_writer_go_with_the_next_write_of_that_record_alone(env: Environment) -> None:
    new(env, 1)
    new(env, 2)
    staging = Path(env.sessions.path, ".staging")
    for number in (1, 2):
        (staging / f"{ID(number)}.json.dead").write_text("half")
    env.sessions.update(ID(1), step)
    assert [path.name for path in staging.iterdir()] == [f"{ID(2)}.json.dead"]


def test_removal_takes_the_record_and_its_lock_if_it_is_still_as_agreed(env: Environment) -> None:
    session = new(env)
    env.sessions.update(ID(1), step)
    assert env.sessions.remove(ID(1), lambda found: found == session) is False
    assert record(env).exists()
    assert env.sessions.remove(ID(1), lambda found: found.rev == 2) is True
    assert [path.name for path in Path(env.sessions.path).iterdir()] == [".staging"]
    assert env.sessions.remove(ID(1), lambda _: True) is False


@pytest.mark.parametrize("session_id", ["../x", "ses_x", "", "ses_0000000000000001\n"])
def test_no_malformed_id_reaches_the_file_system(env: Environment, session_id: str) -> None:
    def update(session_id: str) -> Session:
        return env.sessions.update(session_id, step)

    for use in (env.sessions.load, update):
        with pytest.raises(ValueError, match="session id") as caught:
            use(session_id)
        assert not isinstance(caught.value, PhelixError)
