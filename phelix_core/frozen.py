"""`@frozen` makes what `@dataclass(frozen=True, slots=True, kw_only=True)` makes, for a tenth of the start.

The standard decorator compiles six methods a class, about 0.9 ms each in every process, and its module imports
`inspect`, about 10 ms: together a third of a command line call. Here one set of methods serves every class, and
`__init__` is compiled for a class when its first instance is made, which most classes of a call never see. To
`dataclasses.fields` and `replace`, to pydantic and to type checkers such a class is a dataclass: its
`__dataclass_fields__` are those of the standard decorator, made when somebody asks.
"""

from collections.abc import Callable, Iterable
from operator import attrgetter
from types import NoneType
from typing import Any, Final, TypeVar, dataclass_transform

_Made = TypeVar("_Made")

REQUIRED: Final = object()
"""Stands where a member has no default."""
_SIMPLE: Final = (str, int, float, tuple, NoneType)


@dataclass_transform(frozen_default=True, kw_only_default=True)
def frozen(declared: type[_Made]) -> type[_Made]:
    """Make a class of annotated members immutable, slotted and built by keyword."""
    return _frozen(declared, by_name=True)


@dataclass_transform(frozen_default=True)
def frozen_in_order(declared: type[_Made]) -> type[_Made]:
    """As `frozen`, of a class whose members may be given in their order, too."""
    return _frozen(declared, by_name=False)


def _frozen(declared: type[_Made], *, by_name: bool) -> type[_Made]:
    names = tuple(declared.__annotations__)
    body = {name: value for name, value in vars(declared).items() if name not in ("__dict__", "__weakref__")}
    defaults = {name: body.pop(name, REQUIRED) for name in names}
    body |= {
        "__slots__": names,
        "__frozen_members__": tuple(defaults.items()),
        "__match_args__": () if by_name else names,
        "__dataclass_fields__": _LateFields(),
        "__init__": _first_init,
        "__eq__": _eq,
        "__hash__": _hash,
        "__repr__": _repr,
        "__setattr__": _refuse,
        "__delattr__": _refuse,
        "__reduce__": _reduce,
    }
    return type(declared)(declared.__name__, declared.__bases__, body)


def members_of(kind: type) -> tuple[tuple[str, object], ...]:
    """Each member of a frozen class or any other dataclass with its default, or `REQUIRED`."""
    known: tuple[tuple[str, object], ...] | None = getattr(kind, "__frozen_members__", None)
    if known is not None:
        return known
    from dataclasses import MISSING, fields  # noqa: PLC0415 - the import is what this module saves

    return tuple((field.name, REQUIRED if field.default is MISSING else field.default) for field in fields(kind))


def changed(value: _Made, **changes: object) -> _Made:
    """`value` with some members replaced, as `dataclasses.replace` does."""
    kind = type(value)
    if not hasattr(kind, "__frozen_members__"):
        return kind(**{name: getattr(value, name) for name, _ in members_of(kind)} | changes)
    members = members_in(value) | changes
    if len(members) != len(members_of(kind)):
        raise TypeError(f"{kind.__name__} has no such member: {', '.join(changes)}")
    return made_of(kind, members.values())


def members_in(value: object) -> dict[str, Any]:
    """The members of an instance of a frozen class by name."""
    names, get, _ = _ways_of(type(value))
    return dict(zip(names, get(value), strict=True))


def made_of(kind: type[_Made], values: Iterable[object]) -> _Made:
    """An instance of a frozen class from its members' values in order; costs no compiled `__init__`."""
    made = object.__new__(kind)
    for put, value in zip(_ways_of(kind)[2], values, strict=True):
        put(made, value)
    return made


_Ways = tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]], tuple[Callable[[Any, object], None], ...]]
_WAYS: Final[dict[type, _Ways]] = {}


def _ways_of(kind: type) -> _Ways:
    """Names of the members of a frozen class, what gets them all, and what puts each."""
    known = _WAYS.get(kind)
    if known is None:
        names = tuple(name for name, _ in members_of(kind))
        get: Any = attrgetter(*names) if len(names) > 1 else _values
        known = _WAYS[kind] = names, get, tuple(vars(kind)[name].__set__ for name in names)
    return known


def _first_init(self: object, *in_order: object, **given: object) -> None:
    """Stands for `__init__` until the first instance is made."""
    kind = type(self)
    kind.__init__ = _compiled_init(kind)
    kind.__init__(self, *in_order, **given)


def _compiled_init(kind: type) -> Callable[..., None]:
    """An `__init__` that fills the slots by their own descriptors, which no `__setattr__` guards."""
    known: dict[str, Any] = {f"put_{name}": vars(kind)[name].__set__ for name, _ in members_of(kind)}
    known |= {f"default_{name}": default for name, default in members_of(kind)}
    words = [name if default is REQUIRED else f"{name}=default_{name}" for name, default in members_of(kind)]
    lines = [f"    put_{name}(self, {name})" for name, _ in members_of(kind)] or ["    pass"]
    by_name = words and not vars(kind)["__match_args__"]
    given = ", ".join(["self", *(["*"] if by_name else []), *words])
    exec("\n".join([f"def __init__({given}):", *lines]), known)  # noqa: S102 - names of a declaration
    return known["__init__"]


def _values(value: Any) -> tuple[object, ...]:
    return tuple(getattr(value, name) for name, _ in value.__frozen_members__)


def _eq(self: object, other: object) -> bool:
    if type(self) is not type(other):
        return NotImplemented
    if self is other:
        return True
    get = _ways_of(type(self))[1]
    return get(self) == get(other)


def _hash(self: object) -> int:
    return hash(_ways_of(type(self))[1](self))


def _repr(self: Any) -> str:
    members = ", ".join(f"{name}={getattr(self, name)!r}" for name, _ in self.__frozen_members__)
    return f"{type(self).__qualname__}({members})"


def _refuse(self: object, name: str, *_: object) -> None:
    from dataclasses import FrozenInstanceError  # noqa: PLC0415 - the import is what this module saves

    raise FrozenInstanceError(f"{name} of {type(self).__name__} cannot be changed")


def _reduce(self: Any) -> tuple[object, ...]:
    kind: type[object] = self.__class__
    return _rebuilt, (kind, {name: getattr(self, name) for name, _ in members_of(kind)})


def _rebuilt(kind: type[_Made], members: dict[str, object]) -> _Made:
    return kind(**members)


class _LateFields:
    """`__dataclass_fields__` of a frozen class: made by the standard decorator when somebody asks."""

    def __get__(self, instance: object, kind: type) -> Any:
        from dataclasses import dataclass, field  # noqa: PLC0415 - the import is what this module saves

        body: dict[str, Any] = {"__annotations__": kind.__annotations__, "__module__": kind.__module__}
        for name, default in members_of(kind):
            if isinstance(default, _SIMPLE):
                body[name] = default
            elif default is not REQUIRED:
                body[name] = field(default_factory=lambda default=default: default)
        like: Any = dataclass(frozen=True, kw_only=not vars(kind)["__match_args__"])(type(kind.__name__, (), body))
        kind.__dataclass_params__ = like.__dataclass_params__  # pyright: ignore[reportAttributeAccessIssue]
        kind.__dataclass_fields__ = like.__dataclass_fields__  # pyright: ignore[reportAttributeAccessIssue]
        return like.__dataclass_fields__
