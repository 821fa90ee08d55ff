"""Public reports 6, 7, 8 and 9: no change in the folder stays unseen, whatever happens to the events."""

import asyncio
import contextlib
import errno
import os
import resource
import shutil
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import watchfiles

from phelix_core.mounts import remote_kind
from phelix_tui import native
from phelix_tui.native import native_changes
from phelix_tui.watch import NATIVE, POLLING, Batch, FolderWatch

NEVER = 3600.0
plain: Callable[..., AsyncIterator[set[Any]]] = watchfiles.awatch  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


class Ear:
    """Reads a watch's batches, and lets a test wait for the one it needs."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.names: set[str] = set()
        self.came = asyncio.Event()
        self.open = asyncio.Event()
        self.open.set()

    async def listen(self, watch: FolderWatch) -> None:
        async for batch in watch.changes():
            self.batches.append(batch)
            self.names |= batch.names or frozenset()
            self.came.set()
            await self.open.wait()

    async def until(self, true: Callable[[], object], timeout: float = 5.0) -> None:  # noqa: ASYNC109
        async with asyncio.timeout(timeout):
            while not true():
                self.came.clear()
                await self.came.wait()

    async def silent_for(self, seconds: float) -> bool:
        before = len(self.batches)
        try:
            await self.until(lambda: len(self.batches) > before, seconds)
        except TimeoutError:
            return True
        return False

    def reasons(self) -> list[str]:
        return [batch.reason for batch in self.batches]

    def forget(self) -> None:
        self.batches.clear()
        self.names.clear()


@asynccontextmanager
async def listening(watch: FolderWatch) -> AsyncGenerator[Ear]:
    ear = Ear()
    task = asyncio.create_task(ear.listen(watch))
    try:
        await ear.until(lambda: ear.batches)
        yield ear
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def native_only(folder: Path, **more: Any) -> FolderWatch:
    """A watch whose second and third layers sleep, so that only events are seen."""
    return FolderWatch(str(folder), reconcile_s=NEVER, look_s=NEVER, **more)


def replace(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)


def hidden(name: str) -> bool:
    return name.startswith(".")


async def test_the_first_batch_says_everything_once_the_watch_stands(tmp_path: Path) -> None:
    watch = native_only(tmp_path)
    async with listening(watch) as ear:
        assert ear.batches == [Batch(None, "start")]
        assert (watch.mode, watch.reason, watch.restarts) == (NATIVE, "", 0)
        (tmp_path / "a.json").write_text("1", encoding="utf-8")
        await ear.until(lambda: ear.names == {"a.json"})
        assert watch.last_event_at is not None
        assert watch.last_lag_ms is not None


async def test_a_thousand_rename_replaces_are_all_seen_in_the_end(tmp_path: Path) -> None:
    seen: dict[str, str] = {}
    watch = native_only(tmp_path, ignores=hidden)
    async with listening(watch) as ear:
        for turn in range(1000):
            replace(tmp_path / f"{turn % 40}.json", str(turn))
            if turn % 50 == 0:
                await asyncio.sleep(0)
        last = {f"{n}.json": str(960 + n) for n in range(40)}

        def caught_up() -> bool:
            for name in ear.names:
                seen[name] = (tmp_path / name).read_text(encoding="utf-8")
            return seen == last

        await ear.until(caught_up)
        assert set(ear.reasons()) == {"start", "changed"}
        ear.forget()
        last["7.json"] = "one more"
        replace(tmp_path / "7.json", "one more")
        await ear.until(caught_up)


async def test_watching_the_file_itself_loses_the_second_replace(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    replace(path, "0")
    changes = plain(path, debounce=50, step=10, recursive=False, watch_filter=None)
    first = asyncio.ensure_future(anext(changes))
    await asyncio.sleep(0)
    replace(path, "1")
    await asyncio.wait_for(first, 5)
    second = asyncio.ensure_future(anext(changes))
    await asyncio.sleep(0)
    replace(path, "2")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(second, 0.3)


async def test_after_a_calm_every_change_is_still_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "CALM_AFTER_MS", 30)
    changes = native_changes(str(tmp_path), watch_filter=lambda _, path: path.endswith(".json"))
    coming = asyncio.ensure_future(anext(changes))
    try:
        for turn in range(5):
            done, _ = await asyncio.wait({coming}, timeout=0.15)  # several calms: the step has changed meanwhile
            assert not done
            replace(tmp_path / "a.txt", "not asked for")
            replace(tmp_path / f"{turn}.json", "1")
            assert {path for _, path in await asyncio.wait_for(coming, 5)} == {str(tmp_path / f"{turn}.json")}
            coming = asyncio.ensure_future(anext(changes))
    finally:
        coming.cancel()
        await asyncio.gather(coming, return_exceptions=True)
        await changes.aclose()


async def test_a_write_in_place_is_seen(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("1", encoding="utf-8")
    async with listening(native_only(tmp_path)) as ear:
        with (tmp_path / "a.json").open("w", encoding="utf-8") as file:
            file.flush()
            file.write("22")
        await ear.until(lambda: ear.names == {"a.json"})


async def test_nothing_is_lost_while_the_caller_is_busy(tmp_path: Path) -> None:
    async with listening(native_only(tmp_path)) as ear:
        ear.open.clear()
        for number in range(300):
            (tmp_path / f"{number}.json").write_text("1", encoding="utf-8")
        await ear.until(lambda: ear.names)
        ear.open.set()
        await ear.until(lambda: len(ear.names) == 300)


async def test_an_idle_folder_says_nothing_and_ignored_names_do_not_either(tmp_path: Path) -> None:
    watch = FolderWatch(str(tmp_path), ignores=hidden, reconcile_s=NEVER, look_s=0.02)
    async with listening(watch) as ear:
        assert await ear.silent_for(0.2)
        (tmp_path / ".lock").write_text("", encoding="utf-8")
        (tmp_path / ".lock").unlink()
        (tmp_path.parent / "beside.txt").write_text("", encoding="utf-8")
        assert await ear.silent_for(0.3)
        assert watch.restarts == 0


async def test_names_in_folders_that_watchfiles_hides_by_default_are_seen(tmp_path: Path) -> None:
    folder = tmp_path / "node_modules" / ".git"
    folder.mkdir(parents=True)
    async with listening(native_only(folder)) as ear:
        (folder / "a.json").write_text("1", encoding="utf-8")
        await ear.until(lambda: ear.names == {"a.json"})


# Report 8: events are lost


async def deaf(*_paths: str, **_options: Any) -> AsyncIterator[set[Any]]:
    await asyncio.Event().wait()
    yield set()


async def test_dropped_events_of_a_write_in_place_heal_within_one_period(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("1", encoding="utf-8")
    watch = FolderWatch(str(tmp_path), reconcile_s=0.2, look_s=0.05, awatch=deaf)
    async with listening(watch) as ear:
        (tmp_path / "a.json").write_text("22", encoding="utf-8")
        await ear.until(lambda: Batch(None, "reconcile") in ear.batches, 1.0)


async def test_dropped_events_of_a_rename_are_missed_by_the_look_much_sooner(tmp_path: Path) -> None:
    watch = FolderWatch(str(tmp_path), reconcile_s=NEVER, look_s=0.05, awatch=deaf)
    async with listening(watch) as ear:
        replace(tmp_path / "a.json", "1")
        await ear.until(lambda: Batch(None, "missed") in ear.batches, 1.0)
        ear.forget()
        replace(tmp_path / "a.json", "2")
        await ear.until(lambda: Batch(None, "missed") in ear.batches, 1.0)


async def test_without_the_layers_a_dropped_event_is_never_seen(tmp_path: Path) -> None:
    async with listening(native_only(tmp_path, awatch=deaf)) as ear:
        replace(tmp_path / "a.json", "1")
        assert await ear.silent_for(0.4)


# Report 9: the folder goes and comes


@pytest.mark.parametrize("gap", [False, True])
async def test_a_folder_made_anew_is_watched_again(tmp_path: Path, gap: bool) -> None:  # noqa: FBT001
    folder = tmp_path / "sessions"
    folder.mkdir()
    async with listening(native_only(folder)) as ear:
        for turn in range(3):
            ear.forget()
            shutil.rmtree(folder)
            if gap:
                await ear.until(lambda: Batch(None, "replaced") in ear.batches)
                ear.forget()
            folder.mkdir()
            await ear.until(lambda: Batch(None, "replaced") in ear.batches)
            (folder / f"{turn}.json").write_text("1", encoding="utf-8")
            await ear.until(lambda turn=turn: f"{turn}.json" in ear.names)


async def test_plain_watching_is_silent_after_the_folder_was_made_anew(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    changes = plain(folder, debounce=50, step=10, recursive=False, watch_filter=None)
    first = asyncio.ensure_future(anext(changes))
    await asyncio.sleep(0)
    shutil.rmtree(folder)
    await asyncio.wait_for(first, 5)
    folder.mkdir()
    second = asyncio.ensure_future(anext(changes))
    await asyncio.sleep(0)
    (folder / "a.json").write_text("1", encoding="utf-8")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(second, 0.3)


async def test_a_folder_renamed_away_and_back_is_watched_again(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    async with listening(native_only(folder)) as ear:
        folder.rename(tmp_path / "aside")
        await ear.until(lambda: Batch(None, "replaced") in ear.batches)
        ear.forget()
        (tmp_path / "aside").rename(folder)
        await ear.until(lambda: Batch(None, "replaced") in ear.batches)
        (folder / "a.json").write_text("1", encoding="utf-8")
        await ear.until(lambda: "a.json" in ear.names)


async def test_a_folder_that_does_not_exist_yet_is_waited_for(tmp_path: Path) -> None:
    folder = tmp_path / "not" / "yet" / "sessions"
    async with listening(FolderWatch(str(folder), reconcile_s=NEVER, look_s=0.1)) as ear:
        ear.forget()
        folder.mkdir(parents=True)
        await ear.until(lambda: Batch(None, "replaced") in ear.batches)
        ear.forget()
        replace(folder / "a.json", "1")
        await ear.until(lambda: "a.json" in ear.names or Batch(None, "replaced") in ear.batches)


async def test_a_whole_tree_made_anew_is_found_by_the_look(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "deep" / "sessions"
    folder.mkdir(parents=True)
    async with listening(FolderWatch(str(folder), reconcile_s=NEVER, look_s=0.05)) as ear:
        ear.forget()
        os.rename(tmp_path / "data", tmp_path / "aside")
        await ear.until(lambda: Batch(None, "replaced") in ear.batches)
        ear.forget()
        folder.mkdir(parents=True)
        await ear.until(lambda: Batch(None, "replaced") in ear.batches)


async def test_a_linked_folder_is_watched_where_it_really_is(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "other").mkdir()
    link = tmp_path / "link"
    link.symlink_to("real")
    async with listening(native_only(link)) as ear:
        (tmp_path / "real" / "a.json").write_text("1", encoding="utf-8")
        await ear.until(lambda: ear.names == {"a.json"})
        ear.forget()
        link.unlink()
        link.symlink_to("other")
        await ear.until(lambda: ear.batches)
        (tmp_path / "other" / "b.json").write_text("1", encoding="utf-8")
        await ear.until(lambda: "b.json" in ear.names)


# Report 7, and other refusals


async def test_a_name_that_is_not_utf8_does_not_end_the_watch(tmp_path: Path) -> None:
    watch = native_only(tmp_path)
    async with listening(watch) as ear:
        os.close(os.open(os.fsencode(tmp_path) + b"/\xff.json", os.O_CREAT))
        await ear.until(lambda: Batch(None, "restarted") in ear.batches)
        assert (watch.mode, watch.restarts) == (NATIVE, 1)
        (tmp_path / "a.json").write_text("1", encoding="utf-8")
        await ear.until(lambda: "a.json" in ear.names)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EMFILE])
async def test_a_refused_watch_turns_to_polling_and_comes_back(tmp_path: Path, code: int) -> None:
    refusing = True

    async def sometimes(*paths: str, **options: Any) -> AsyncIterator[set[Any]]:
        if refusing:
            raise OSError(code, os.strerror(code))
        async for changes in native_changes(*paths, **options):
            yield changes

    watch = FolderWatch(str(tmp_path), reconcile_s=0.5, poll_s=0.02, awatch=sometimes)
    async with listening(watch) as ear:
        assert watch.mode == POLLING
        assert os.strerror(code) in watch.reason
        replace(tmp_path / "a.json", "1")
        await ear.until(lambda: Batch(None, "polled") in ear.batches)
        refusing = False
        await ear.until(lambda: watch.mode == NATIVE)
        (tmp_path / "b.json").write_text("1", encoding="utf-8")
        await ear.until(lambda: "b.json" in ear.names)


async def test_without_a_descriptor_left_the_folder_is_polled(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    watch = FolderWatch(str(tmp_path), reconcile_s=NEVER, poll_s=0.02)
    await asyncio.to_thread(os.getpid)  # the thread, and what it needs, is there
    taken: list[int] = []
    changes = watch.changes()
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.open("/dev/null", os.O_RDONLY))
        first = await anext(changes)
    finally:
        for descriptor in taken:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert first == Batch(None, "start")
    assert watch.mode == POLLING
    assert "Too many open files" in watch.reason
    replace(tmp_path / "a.json", "1")
    assert await asyncio.wait_for(anext(changes), 5) == Batch(None, "polled")
    await changes.aclose()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


async def test_polling_sees_two_changes_within_one_tick_of_the_clock(tmp_path: Path) -> None:
    watch = FolderWatch(str(tmp_path), reconcile_s=NEVER, poll_s=0.005, remote_kind=lambda _: "nfs4")
    async with listening(watch) as ear:
        assert watch.mode == POLLING
        assert watch.reason.startswith("nfs4")
        for turn in range(30):
            replace(tmp_path / "a.json", str(turn))
            at_turn = len(ear.batches)
            await ear.until(lambda at_turn=at_turn: len(ear.batches) > at_turn)
        assert set(ear.reasons()) == {"start", "polled"}


async def test_a_watcher_that_keeps_dying_is_started_ever_more_slowly(tmp_path: Path) -> None:
    starts = 0

    async def dying(*_paths: str, **_options: Any) -> AsyncIterator[set[Any]]:
        nonlocal starts
        starts += 1
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        raise RuntimeError("boom")
        yield set()

    watch = native_only(tmp_path, awatch=dying, poll_s=0.02)
    async with listening(watch) as ear:
        await ear.until(lambda: watch.restarts >= 2)
        assert "boom" in watch.reason
        assert 3 <= starts <= 4
        ear.forget()
        replace(tmp_path / "a.json", "1")
        await ear.until(lambda: any(batch.names is None for batch in ear.batches))


async def test_leaving_the_watch_closes_the_watcher(tmp_path: Path) -> None:
    closed: list[bool] = []

    async def open_ended(*_paths: str, **_options: Any) -> AsyncIterator[set[Any]]:
        try:
            await asyncio.Event().wait()
            yield set()
        finally:
            closed.append(True)

    async with listening(native_only(tmp_path, awatch=open_ended)):
        pass
    assert closed == [True]


def test_network_file_systems_are_told_by_the_longest_mount_point(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(
        "root / overlay rw 0 0\nserver:/x /srv nfs4 rw 0 0\n"
        "d /srv/my\\040disk ext4 rw 0 0\ns /home fuse.sshfs rw 0 0\n",
        encoding="utf-8",
    )
    table = str(mounts)
    assert remote_kind("/srv/phelix", table) == "nfs4"
    assert remote_kind("/srv", table) == "nfs4"
    assert remote_kind("/srv/my disk/phelix", table) is None
    assert remote_kind("/srvx", table) is None
    assert remote_kind("/home/me", table) == "fuse.sshfs"
    assert remote_kind("/opt", table) is None
    assert remote_kind("/opt", str(tmp_path / "none")) is None
