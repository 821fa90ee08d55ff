"""Typed reading of one JSON object: each member taken by name and kind, the unknown rest kept.

What is wrong is told apart: a broken shape (missing, another type) and a broken rule (`invalid`).
"""

from typing import NoReturn, cast

from phelix_core.checks import MAX_INTEGER, Check, CheckFailed


class ShapeRefused(Exception):
    """What is wrong with a document; `invalid` tells a broken rule from a broken shape."""

    def __init__(self, message: str, *, invalid: bool = False) -> None:
        super().__init__(message)
        self.invalid = invalid


class Members:
    """The members of one JSON object; those not taken are left in `rest`.

    Every method raises `ShapeRefused`. Empty optional text counts as absent.
    """

    __slots__ = ("rest", "where")

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, dict):
            raise ShapeRefused(f"{where} is not an object")
        self.rest = cast("dict[str, object]", value)
        self.where = where

    def wrong(self, name: str, expected: str) -> NoReturn:
        """Refuse member `name`."""
        raise ShapeRefused(f"{name} of {self.where} is not {expected}")

    def text(self, name: str) -> str:
        """A text that must be there."""
        value = self.rest.pop(name, None)
        if not isinstance(value, str):
            self.wrong(name, "text")
        return value

    def optional_text(self, name: str) -> str | None:
        """A text, or None where it is absent, null or empty."""
        value = self.rest.pop(name, None)
        if value is not None and not isinstance(value, str):
            self.wrong(name, "text")
        return value or None

    def integer(self, name: str, default: int | None = None) -> int:
        """A whole number within 0..2^53."""
        value = self.rest.pop(name, default)
        if type(value) is not int:
            self.wrong(name, "an integer")
        if not 0 <= value <= MAX_INTEGER:
            raise ShapeRefused(f"{name} of {self.where} is outside 0..2^53", invalid=True)
        return value

    def flag(self, name: str) -> bool:
        """A truth value."""
        value = self.rest.pop(name, None)
        if not isinstance(value, bool):
            self.wrong(name, "true or false")
        return value

    def items(self, name: str) -> list[object]:
        """A list; absent or null is an empty one."""
        value = self.rest.pop(name, None)
        if value is None:
            return []
        if not isinstance(value, list):
            self.wrong(name, "a list")
        return cast("list[object]", value)

    def ids(self, name: str, form: Check) -> tuple[str, ...]:
        """A list of ids of one form."""
        found: list[str] = []
        for item in self.items(name):
            if not isinstance(item, str):
                self.wrong(name, "a list of texts")
            try:
                found.append(form.apply(item))
            except CheckFailed:
                raise ShapeRefused(f"{name} of {self.where} holds an id of another form", invalid=True) from None
        return tuple(found)
