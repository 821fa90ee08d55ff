"""One row of another tool's, read strictly: what cannot be read is told, and never guessed or cut. Pure.

A text is kept whole up to the cap of any JSON value, whatever our own commands would take, and passes the
redactor. What only adds to a row is left out of it, with a note; a row that would lie without it is `Unfit`.
"""

import json
from collections.abc import Callable, Mapping
from typing import TypeVar, cast

from phelix_core.errors import InvalidArgument
from phelix_core.queue import payload
from phelix_core.queue.importing.source import Cell
from phelix_core.queue.model import JSON_CAP, WORD_CAP
from phelix_core.queue.policy import Policy, read_policy
from phelix_core.redaction import redact
from phelix_core.strictjson import JsonRefused, loads
from phelix_core.text import TextRefused, utf8_size

_Read = TypeVar("_Read")


class Unfit(Exception):
    """A row that cannot be kept; the message says why."""


def told(word: Cell) -> str:
    """An id of the file as a report shows it."""
    if not isinstance(word, str):
        return "(no id)"
    shown = redact(word)
    return shown if len(shown.encode("utf-8", "replace")) <= WORD_CAP else "(an id over the cap)"


class Cells:
    """One row; `notes` gather what it was kept without."""

    def __init__(self, row: Mapping[str, Cell]) -> None:
        self._row = row
        self.notes: list[str] = []
        self._own: str | None = None

    def is_set(self, name: str) -> bool:
        """Whether the row holds anything there."""
        return self._row[name] is not None

    def text(self, name: str) -> str:
        """A text, redacted."""
        return redact(self._exact(name))

    def _exact(self, name: str) -> str:
        value = self._row[name]
        if not isinstance(value, str):
            raise Unfit(f"{name}: expected text")
        try:
            size = utf8_size(value)
        except TextRefused as refused:
            raise Unfit(f"{name}: {refused}") from None
        if size > JSON_CAP:
            raise Unfit(f"{name}: {size} bytes of UTF-8 are over the cap of {JSON_CAP}, and it is never cut")
        return value

    def key(self) -> str:
        """The row's own id, which must be one that a command can name."""
        if self._own is not None:
            return self._own
        own = self._exact("id")
        if not own:
            raise Unfit("id: expected text")
        if utf8_size(own) > WORD_CAP:
            raise Unfit(f"id: over the cap of {WORD_CAP} bytes, so that no command could name it")
        if redact(own) != own:
            raise Unfit("id: it looks like a secret, and hidden it would be another id")
        self._own = own
        return own

    def reference(self, name: str) -> str:
        """The id of another row, as it is."""
        return self._exact(name)

    def one_of(self, name: str, words: tuple[str, ...]) -> str:
        """One of a vocabulary's words."""
        word = self._exact(name)
        if word not in words:
            raise Unfit(f"{name}: expected one of {', '.join(words)}")
        return word

    def time(self, name: str) -> int:
        """A time, in milliseconds."""
        at = _or_unfit(lambda: payload.a_time(self._exact(name), name))
        return 0 if at is None else at

    def time_or(self, name: str, instead: int, whose: str) -> int:
        """A time, or where it is none that of something near, with a note."""
        try:
            return self.time(name)
        except Unfit:
            self.notes.append(f"{name}: no time; {whose} stands for it")
            return instead

    def json(self, name: str) -> object:
        """Any JSON value."""
        try:
            return loads(self._exact(name).encode())
        except JsonRefused as refused:
            raise Unfit(f"{name}: {refused}") from None

    def members(self, name: str) -> str:
        """A JSON object, redacted throughout, as text."""
        return _or_unfit(lambda: payload.free_json(self.json(name), name))

    def members_or_text(self, name: str) -> str:
        """A JSON object by convention, kept as text where it is none."""
        try:
            return self.members(name)
        except Unfit:
            return self.text(name)

    def policy(self, name: str) -> Policy:
        """A policy."""
        return _or_unfit(lambda: read_policy(self.json(name), name))

    def ids(self, name: str) -> tuple[str, ...]:
        """A JSON list of other rows' ids, each once, as they are."""
        value = self.json(name)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in cast("list[object]", value)):
            raise Unfit(f"{name}: expected a list of texts")
        return tuple(dict.fromkeys(cast("list[str]", value)))

    def texts(self, name: str) -> list[str]:
        """A JSON list of texts, redacted."""
        return [redact(word) for word in self.ids(name)]

    def entries(self, name: str) -> str:
        """A JSON list of objects with ids, redacted throughout, as text."""
        return compact(_or_unfit(lambda: payload.entries(self.json(name), name)))

    def maybe(self, name: str, read: Callable[[str], _Read]) -> _Read | None:
        """What may be missing; what is there and cannot be read is left out, with a note."""
        return self.lenient(name, read, None) if self.is_set(name) else None

    def lenient(self, name: str, read: Callable[[str], _Read], instead: _Read) -> _Read:
        """What only adds to the row; where it cannot be read, `instead`, with a note."""
        try:
            return read(name)
        except Unfit as unfit:
            self.notes.append(f"{unfit}; kept without it")
            return instead


def _or_unfit(read: Callable[[], _Read]) -> _Read:
    try:
        return read()
    except InvalidArgument as refused:
        raise Unfit(refused.message.removesuffix(".")) from None


def compact(value: object) -> str:
    """JSON as rows keep it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
