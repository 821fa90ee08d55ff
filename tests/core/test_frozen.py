"""A frozen class is the standard frozen, slotted, keyword-only dataclass to everyone who looks."""

import copy
import dataclasses
import pickle
import subprocess
import sys
from collections.abc import Mapping
from types import MappingProxyType

import pytest
from pydantic import TypeAdapter, ValidationError

from phelix_core.frozen import changed, frozen

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
from phelix_core.frozen import changed, frozen
from phelix_core.strictjson import dumps, plain

@frozen
class Point:
    x: int
    y: int = 0

assert dumps(plain(changed(Point(x=1), y=2))) == '{\\n  "x": 1,\\n  "y": 2\\n}'
print(sorted({"dataclasses", "inspect"} & set(sys.modules)))
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
