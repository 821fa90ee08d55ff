"""A saved view: a filter under a name, and its file's bytes; no disk.

The file is TOML with `where`, a filter that parses, and perhaps a `title` of one line; nothing else. It may
be somebody else's: what it says is redacted as it would be had it been typed here, and both texts must be
what a terminal shows as it is, since a filter stands in an input again once it is chosen.
"""

from typing import Final

from phelix_core.checks import Check, CheckFailed, full_match
from phelix_core.frozen import frozen
from phelix_core.redaction import free_text, redact
from phelix_core.text import visible

WHERE_CAP: Final = 2_000
TITLE_CAP: Final = 200
LARGEST_FILE: Final = 64 * 1024
"""Bytes; a view takes about one hundred."""
SUFFIX: Final = ".toml"
_MEMBERS: Final = ("where", "title")
_LONGEST_TOLD: Final = 40


def _name() -> Check:
    """Accept what may name a file and an option's value, and is no secret: a name is told wherever there is a list."""
    form = full_match("[a-z][a-z0-9-]{0,39}", "a name of at most 40 small letters, digits and hyphens")

    def apply(value: str) -> str:
        form.apply(value)
        if redact(value) != value:
            raise CheckFailed("expected a name, and this looks like a secret")
        return value

    return Check(apply, form.schema)


VIEW_NAME: Final = _name()


@frozen
class SavedView:
    """A name, the filter that it stands for, and what to call it in a list."""

    name: str
    where: str
    title: str | None = None


class ViewRefused(ValueError):
    """A file that is no saved view; the message says why, in a sentence without its stop."""


def file_name(name: str) -> str:
    """The name of the file that holds the view `name`."""
    return f"{name}{SUFFIX}"


def lock_name(name: str) -> str:
    """The name of the lock file that guards the view `name`."""
    return f"{name}.lock"


def one_line(cap: int) -> Check:
    """Accept free text of one line, of at most `cap` bytes, that a terminal shows as it is; a secret is cut out."""
    redacted = free_text(cap)

    def apply(value: str) -> str:
        kept: str = redacted.apply(value)
        if visible(kept) != kept:
            raise CheckFailed("expected one line without control characters or invisible ones")
        return kept

    return Check(apply, redacted.schema)


WHERE: Final = one_line(WHERE_CAP)
TITLE: Final = one_line(TITLE_CAP)


def decode(name: str, data: bytes) -> SavedView:
    """The view that `data` holds; raises `ViewRefused`, which names what is wrong and no value."""
    written = _table(data)
    unknown = sorted(set(written) - set(_MEMBERS))
    if unknown:
        named = f" {unknown[0]}" if _is_plain(unknown[0]) else ""
        raise ViewRefused(f"it holds an unknown key{named}; known are {' and '.join(_MEMBERS)}")
    if "where" not in written:
        raise ViewRefused("it has no where, the filter that it stands for")
    where = _text("where", written["where"], WHERE)
    title = _text("title", written.get("title", ""), TITLE)
    require_filter(where)
    return SavedView(name=name, where=where, title=title or None)


def encode(view: SavedView) -> bytes:
    """The file's bytes; the same view is always the same bytes."""
    members = (("title", view.title), ("where", view.where))
    return "".join(f"{name} = {_quoted(value)}\n" for name, value in members if value is not None).encode()


def require_filter(where: str) -> None:
    """Refuse text that is no filter, or that filters nothing."""
    from phelix_core.views import filter as filters  # noqa: PLC0415 - the name's pattern must cost a list nothing

    try:
        query = filters.parse(where)
    except filters.FilterError as error:
        hint = f": {error.hint}" if error.hint else ""
        raise ViewRefused(f"where is no filter: {error.message.rstrip('.')}{hint}") from None
    if query.is_empty:
        raise ViewRefused("where is empty; it would show everything")


def _table(data: bytes) -> dict[str, object]:
    import tomllib  # noqa: PLC0415 - the name's pattern must cost a list nothing

    try:
        return tomllib.loads(data.decode())
    except UnicodeDecodeError:
        raise ViewRefused("it is not UTF-8") from None
    except (ValueError, RecursionError) as error:
        # What tomllib says may quote the file; where it stopped is all that helps to correct it.
        place = f"{error}".rpartition("(at ")[2].rstrip(")") if "(at " in f"{error}" else ""
        raise ViewRefused(f"it is not TOML at {place}" if place else "it is not TOML") from None


def _text(member: str, value: object, check: Check) -> str:
    if not isinstance(value, str):
        raise ViewRefused(f"{member} is not text")
    try:
        kept: str = check.apply(value)
    except CheckFailed as failed:
        raise ViewRefused(f"{member}: {failed}") from None
    return kept


def _is_plain(key: str) -> bool:
    """Whether a key is short and simple enough to be told."""
    return len(key) <= _LONGEST_TOLD and key.isascii() and key.replace("_", "").replace("-", "").isalnum()


def _quoted(text: str) -> str:
    """A basic string of TOML: JSON's escapes are among its own, and it wants one more."""
    from json import dumps  # noqa: PLC0415 - as above

    return dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")
