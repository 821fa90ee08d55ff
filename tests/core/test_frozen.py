"""A frozen class is the standard frozen, slotted, keyword-only dataclass to everyone who looks."""

import copy
import dataclasses
import pickle
import subprocess
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from phelix_core.frozen import changed, frozen, frozen_in_order

NONE: Mapping[str, object] = MappingProxyType({})


@frozen
class Ours:
    """What ours is."""

    name: str
    size: int = 1
    extra: Mapping[str, object] = NONE

    @property
    def doubled(self) -> int:
        return 2 * self.size


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Theirs:
    """What ours is."""

    name: str
    size: int = 1
    extra: Mapping[str, object] = dataclasses.field(default_factory=dict[str, object])


def test_members_defaults_methods_and_text_are_those_of_the_standard_class() -> None:
    ours = Ours(name="a")
    assert (ours.name, ours.size, ours.extra, ours.doubled) == ("a", 1, {}, 2)
    assert repr(Ours(name="a", extra={})) == repr(Theirs(name="a")).replace("Theirs", "Ours")
    assert Ours.__doc__ == Theirs.__doc__
    assert not hasattr(ours, "__dict__")


def test_equality_and_hash_follow_the_members_and_the_class() -> None:
    assert Ours(name="a") == Ours(name="a", size=1)
    assert Ours(name="a") != Ours(name="a", size=2)
    assert Ours(name="a") != Theirs(name="a")
    assert hash(Ours(name="a", extra=())) == hash(Ours(name="a", extra=()))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("words", [{}, {"name": "a", "colour": "red"}, {"size": 1}])
def test_missing_and_unknown_members_are_refused(words: dict[str, object]) -> None:
    for kind in (Ours, Theirs):
        with pytest.raises(TypeError):
            kind(**words)  # pyright: ignore[reportArgumentType]


def test_members_are_given_by_name_only() -> None:
    with pytest.raises(TypeError):
        Ours("a")  # pyright: ignore[reportCallIssue]


@frozen_in_order
class Point:
    """Members that may be given in their order."""

    x: int
    y: int = 0


def test_members_in_order_are_taken_matched_and_counted_as_the_standard_class_does() -> None:
    like = dataclasses.make_dataclass("Point", [("x", int), ("y", int, 0)], frozen=True, slots=True)
    kinds: tuple[Any, ...] = (Point, like)
    for kind in kinds:
        assert (kind(1, 2).x, kind(1, y=2).y, kind(1).y, kind(y=3, x=1).y) == (1, 2, 0, 3)
        assert kind(1, 2) == dataclasses.replace(kind(1), y=2)
        assert kind.__match_args__ == ("x", "y")
        assert [field.kw_only for field in dataclasses.fields(kind)] == [False, False]
        for wrong in ((), (1, 2, 3)):
            with pytest.raises(TypeError):
                kind(*wrong)
        with pytest.raises(dataclasses.FrozenInstanceError):
            kind(1).x = 2
    assert pickle.loads(pickle.dumps(Point(1, 2))) == copy.deepcopy(Point(1, 2)) == changed(Point(1), y=2)
    assert Ours.__match_args__ == ()


def test_a_class_without_members_is_one_too() -> None:
    @frozen
    class Empty:
        """Nothing to say."""

    assert Empty() == Empty()
    with pytest.raises(TypeError):
        Empty(name="a")  # pyright: ignore[reportCallIssue]


def test_nothing_can_be_changed_added_or_deleted() -> None:
    ours = Ours(name="a")
    for change in (lambda: setattr(ours, "name", "b"), lambda: setattr(ours, "new", 1), lambda: delattr(ours, "name")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            change()
    assert ours == Ours(name="a")


def test_a_changed_copy_leaves_the_original() -> None:
    ours = Ours(name="a", size=3)
    assert changed(ours, name="b") == dataclasses.replace(ours, name="b") == Ours(name="b", size=3)
    assert ours.name == "a"
    with pytest.raises(TypeError):
        changed(ours, colour="red")


def test_copies_and_pickles_are_equal() -> None:
    ours = Ours(name="a", size=3, extra={"x": [1]})
    assert copy.deepcopy(ours) == copy.copy(ours) == pickle.loads(pickle.dumps(ours)) == ours


def test_the_standard_library_and_pydantic_see_a_dataclass() -> None:
    assert dataclasses.is_dataclass(Ours)
    assert dataclasses.asdict(Ours(name="a", extra={})) == dataclasses.asdict(Theirs(name="a"))
    shape = [[(field.name, field.type, field.kw_only) for field in dataclasses.fields(kind)] for kind in (Ours, Theirs)]
    assert shape[0] == shape[1]
    ours, theirs = TypeAdapter(Ours), TypeAdapter(Theirs)
    assert ours.json_schema() == {**theirs.json_schema(), "title": "Ours"}
    assert ours.validate_json('{"name": "a", "size": 2}') == Ours(name="a", size=2)
    with pytest.raises(ValidationError):
        ours.validate_json('{"size": 2}')


def test_declaring_and_using_one_imports_neither_dataclasses_nor_inspect() -> None:
    code = """
import sys
from phelix_core.frozen import changed, frozen, frozen_in_order
from phelix_core.strictjson import dumps, plain

@frozen
class Point:
    x: int
    y: int = 0

assert dumps(plain(changed(Point(x=1), y=2))) == '{\\n  "x": 1,\\n  "y": 2\\n}'
print(sorted({"dataclasses", "inspect"} & set(sys.modules)))
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
