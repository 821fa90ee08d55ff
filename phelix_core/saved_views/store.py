"""The only reader and writer of `views/<name>.toml`: bytes and locks.

A file that is bad is told with its reason and hides no other. What is no regular file is neither followed
nor waited for, neither replaced nor removed.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Final

from phelix_core.checks import CheckFailed
from phelix_core.clock import Clock
from phelix_core.errors import AlreadyExists, FilesystemError, InvalidArgument, NotFound, PhelixError
from phelix_core.files import Folder, UnreadableFile
from phelix_core.saved_views.model import (
    LARGEST_FILE,
    SUFFIX,
    VIEW_NAME,
    SavedView,
    ViewRefused,
    decode,
    encode,
    file_name,
    lock_name,
)

_LEFTOVER_AGE_S: Final = 3_600
_MEND: Final = "Correct the file, write it anew with `phelix view save {name} --replace`, or remove it: {path}"

Agreed = Callable[[bytes | None], None]
"""Looks at the file's bytes as they are under the lock, None where there is no file; raises where it disagrees."""


class SavedViewStore:
    """Saved views in one folder."""

    def __init__(self, folder: str, clock: Clock) -> None:
        self._folder = Folder(folder, clock)
        self._clock = clock

    def path_of(self, name: str) -> str:
        """Where the view `name` is, or would be."""
        return f"{self._folder.path}/{file_name(name)}"

    def load(self, name: str) -> SavedView:
        """One view; raises `NotFound`, `InvalidArgument` for a bad file, or `FilesystemError`."""
        data = self.bytes_of(name)
        if data is None:
            raise NotFound(f"There is no saved view {name}.", hint="`phelix view list` shows those there are.")
        try:
            return decode(name, data)
        except ViewRefused as refused:
            raise self._unusable(name, str(refused)) from None

    def load_all(self) -> tuple[list[SavedView], list[tuple[str, PhelixError]]]:
        """Every view by name, and every file that is none, with why; one that vanishes meanwhile is left out."""
        good: list[SavedView] = []
        bad: list[tuple[str, PhelixError]] = []
        for file in sorted(name for name in self._folder.names() if name.endswith(SUFFIX)):
            try:
                good.append(self.load(VIEW_NAME.apply(file.removesuffix(SUFFIX))))
            except CheckFailed as failed:
                bad.append((file, InvalidArgument(f"its name is none: {failed}", hint="Rename the file.")))
            except NotFound:
                continue
            except PhelixError as error:
                bad.append((file, error))
        return good, bad

    def bytes_of(self, name: str) -> bytes | None:
        """What the file of `name` holds, good or bad; None where there is none. Raises as `load` does."""
        try:
            return self._folder.read(file_name(name), LARGEST_FILE)
        except NotFound:
            return None
        except UnreadableFile as unreadable:
            raise self._unusable(name, f"it is {unreadable}") from None
        except FilesystemError as error:
            error.hint = f"See to the file: {self.path_of(name)}"
            raise

    def save(self, view: SavedView, agreed: Agreed, *, replace: bool) -> SavedView:
        """Write a view; with `replace` over the one of its name, else that one is `AlreadyExists`."""
        name, data = file_name(view.name), encode(view)
        self.bytes_of(view.name)  # what may not be written over is refused before there is a lock file
        if replace:
            with suppress(NotFound), self._folder.locked(name, lock_name(view.name)) as found:
                agreed(self.bytes_of(view.name))
                self._folder.clear_staged(name)
                self._folder.replace(name, data, found)
                return view
        agreed(None)
        try:
            self._folder.create(name, data)
        except AlreadyExists:
            raise taken(view.name) from None
        return view

    def remove(self, name: str, agreed: Agreed) -> None:
        """Remove the view `name`, good or bad, and its lock file."""
        file, lock = file_name(name), lock_name(name)
        self.bytes_of(name)
        try:
            with self._folder.locked(file, lock):
                agreed(self.bytes_of(name))
                self._folder.clear_staged(file)
                self._folder.remove(file, lock)
        except NotFound:
            raise NotFound(
                f"There is no saved view {name}.", hint="`phelix view list` shows those there are."
            ) from None

    def lax_modes(self) -> list[str]:
        """Paths among the views that other users may open."""
        return self._folder.lax_modes()

    def leftovers(self) -> list[str]:
        """Paths of temporary files of killed writers, over an hour old."""
        return self._folder.old_leftovers(self._clock.now_ms() / 1_000, _LEFTOVER_AGE_S, lambda _: False)

    def _unusable(self, name: str, reason: str) -> InvalidArgument:
        return InvalidArgument(
            f"The saved view {name} cannot be used: {reason}.",
            hint=_MEND.format(name=name, path=self.path_of(name)),
            details={"reason": reason},
        )


def taken(name: str) -> AlreadyExists:
    """The refusal to write over a view that nobody said to replace."""
    return AlreadyExists(
        f"A saved view {name} exists already.", hint="Choose another name, or replace it with --replace."
    )
