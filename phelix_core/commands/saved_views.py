"""`view save`, `list`, `show` and `remove`: filters kept under a name.

A write is bound to what stands under the name when it is shown, byte by byte, good or bad.
"""

from hashlib import sha256
from typing import Annotated

from phelix_core.checks import BY_PLACE, Help
from phelix_core.commands.environment import Environment
from phelix_core.commands.preview import WritePlan, field_changes, plan_of, require_digest
from phelix_core.commands.registry import Command, Effect, command
from phelix_core.commands.session_fields import NOT_OVER_MCP
from phelix_core.errors import InvalidArgument, NotFound
from phelix_core.frozen import frozen
from phelix_core.redaction import redact
from phelix_core.saved_views.model import (
    TITLE,
    VIEW_NAME,
    WHERE,
    SavedView,
    ViewRefused,
    decode,
    require_filter,
)
from phelix_core.saved_views.store import taken
from phelix_core.strictjson import plain


@frozen
class SaveView:
    """Keep a filter under a name, to use it again and to hand it on."""

    name: Annotated[str, BY_PLACE, VIEW_NAME, Help("Name of the view: small letters, digits, hyphens")]
    where: Annotated[str, WHERE, Help("The filter, as in the console's /")]
    title: Annotated[str | None, TITLE, Help("What the view shows, in a line")] = None
    replace: Annotated[bool, Help("Write over the view of that name")] = False


@frozen
class ListViews:
    """List the saved views by name, and the files that are none."""


@frozen
class ShowView:
    """Show one saved view."""

    name: Annotated[str, BY_PLACE, VIEW_NAME, Help("View to show")]


@frozen
class RemoveView:
    """Remove one saved view."""

    name: Annotated[str, BY_PLACE, VIEW_NAME, Help("View to remove")]


@frozen
class UnusableView:
    """A file among the views that is none, with the code and the reason."""

    file: str
    code: str
    reason: str


@frozen
class ViewList:
    """The views by name, how many there are, and the files that cannot be used."""

    views: tuple[SavedView, ...]
    count: int
    unusable: tuple[UnusableView, ...]


@frozen
class RemovedView:
    """Which view was removed."""

    removed: str


@command("view list", effect=Effect.READ, surfaces=NOT_OVER_MCP)
def list_views(request: ListViews, env: Environment) -> ViewList:  # noqa: ARG001 - every command takes it
    """Read them all."""
    good, bad = env.saved_views.load_all()
    unusable = tuple(
        UnusableView(file=redact(file), code=error.code, reason=redact(str(error.details.get("reason", error.message))))
        for file, error in bad
    )
    return ViewList(views=tuple(good), count=len(good), unusable=unusable)


@command("view show", effect=Effect.READ, surfaces=NOT_OVER_MCP)
def show_view(request: ShowView, env: Environment) -> SavedView:
    """Read one."""
    return env.saved_views.load(request.name)


@command("view save", effect=Effect.WRITE, result=SavedView, surfaces=NOT_OVER_MCP)
def save_view(request: SaveView, env: Environment) -> "ViewSaving":
    """Decide to keep a filter."""
    try:
        require_filter(request.where)
    except ViewRefused as refused:
        raise InvalidArgument(f"{refused}.", details={"fields": {"where": str(refused)}}) from None
    return ViewSaving(request, env)


@command("view remove", effect=Effect.WRITE, result=RemovedView, surfaces=NOT_OVER_MCP)
def remove_view(request: RemoveView, env: Environment) -> "ViewRemoval":
    """Decide to remove a view."""
    return ViewRemoval(request, env)


class ViewSaving:
    """The intent to write one view."""

    def __init__(self, request: SaveView, env: Environment) -> None:
        self._request = request
        self._env = env
        self._view = SavedView(name=request.name, where=request.where, title=request.title or None)

    def plan(self) -> WritePlan:
        """Describe the file as it would be, beside what is there."""
        return self._describe(self._env.saved_views.bytes_of(self._request.name))

    def apply(self, expect_digest: str | None) -> SavedView:
        """Write the file, under its lock where there is one already."""

        def agreed(before: bytes | None) -> None:
            if expect_digest:
                require_digest(expect_digest, self._describe(before).digest)

        return self._env.saved_views.save(self._view, agreed, replace=self._request.replace)

    def _describe(self, before: bytes | None) -> WritePlan:
        if before is not None and not self._request.replace:
            raise taken(self._request.name)
        told = () if before is None else (f"the view {self._request.name} that is there is written over",)
        return _plan(save_view, self._request, self._env, before=before, after=self._view, side_effects=told)


class ViewRemoval:
    """The intent to remove one view."""

    def __init__(self, request: RemoveView, env: Environment) -> None:
        self._request = request
        self._env = env

    def plan(self) -> WritePlan:
        """Describe what would go."""
        before = self._env.saved_views.bytes_of(self._request.name)
        if before is None:
            raise NotFound(
                f"There is no saved view {self._request.name}.", hint="`phelix view list` shows those there are."
            )
        return self._describe(before)

    def apply(self, expect_digest: str | None) -> RemovedView:
        """Remove the file under its lock."""

        def agreed(before: bytes | None) -> None:
            if expect_digest:
                require_digest(expect_digest, self._describe(before).digest)

        self._env.saved_views.remove(self._request.name, agreed)
        return RemovedView(removed=self._request.name)

    def _describe(self, before: bytes | None) -> WritePlan:
        return _plan(remove_view, self._request, self._env, before=before, after=None)


def _plan(
    command: Command,
    request: SaveView | RemoveView,
    env: Environment,
    *,
    before: bytes | None,
    after: SavedView | None,
    side_effects: tuple[str, ...] = (),
) -> WritePlan:
    """What changes from the file's bytes to the view; bytes that are no view are told as that."""
    return plan_of(
        command,
        request,
        env,
        target={"view": request.name},
        preconditions={"file": None if before is None else f"sha256:{sha256(before).hexdigest()}"},
        changes=field_changes(_members(request.name, before), {} if after is None else _texts(after)),
        side_effects=side_effects,
    )


def _members(name: str, data: bytes | None) -> dict[str, object]:
    if data is None:
        return {}
    try:
        return _texts(decode(name, data))
    except ViewRefused as refused:
        return {"file": f"unusable: {refused}"}


def _texts(view: SavedView) -> dict[str, object]:
    members = plain(view)
    del members["name"]
    return members
