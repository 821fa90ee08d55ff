"""Payloads through the real `phelix-lifecycle`, their place holders filled with what the answers before told."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

FIXTURES = Path(__file__).parents[1] / "fixtures"
LIFECYCLE = Path(sys.executable).with_name("phelix-lifecycle")
VERSION = "6.0.0"


class Told:
    """What one call of the program came to."""

    def __init__(self, ran: "subprocess.CompletedProcess[bytes]") -> None:
        self.code, self.out, self.err = ran.returncode, ran.stdout, ran.stderr

    @property
    def answer(self) -> Any:
        assert self.code == 0, self.err.decode()
        assert self.err == b"", "a success needs no narration"
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        assert self.code == 1
        assert self.out == b"", "a refusal leaves stdout empty"
        return json.loads(self.err)


class Program:
    """The program over one data directory."""

    def __init__(self, data_dir: Path, home: Path) -> None:
        self.data_dir = data_dir
        self.environ = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(home),
            "PHELIX_DATA_DIR": str(data_dir),
            "LC_ALL": "C.UTF-8",
            "TMPDIR": str(home),
        }
        self.known: dict[str, Any] = {"dbPath": str(data_dir / "queue.db")}

    def __call__(self, payload: Any, *argv: str, env: dict[str, str] | None = None) -> Told:
        text = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        ran = subprocess.run(
            [str(LIFECYCLE), *argv],
            input=text,
            capture_output=True,
            env={**self.environ, **(env or {})},
            timeout=60,
            check=False,
        )
        return Told(ran)

    def do(self, action: str, context: Any = None, /, **given: Any) -> Any:
        """The answer of an action that must succeed."""
        held = {} if context is None else {"context": context}
        return self({"contractVersion": VERSION, "action": action, **held, "input": given}).answer

    def play(self, payload: Any) -> Told:
        """One payload with its place holders; what its answer tells fills the next one's."""
        told = self(filled(payload, self.known))
        if told.code == 0:
            self.learn(told.answer)
        return told

    def learn(self, answer: Any) -> None:
        context = answer.get("context") or answer["result"].get("context")
        if context is not None and "leaseId" in context:
            self.known |= {"context": context, "issueId": context["issueId"]}
        for name in ("workspaceId", "projectId", "campaignId", "issueId"):
            if name in answer.get("result", {}):
                self.known[name] = answer["result"][name]


def filled(value: Any, known: dict[str, Any]) -> Any:
    """A payload with each place holder, `${name}`, replaced."""
    if isinstance(value, dict):
        return {name: filled(member, known) for name, member in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [filled(item, known) for item in cast("list[Any]", value)]
    if isinstance(value, str) and value.startswith("${"):
        return known[value[2:-1]]
    return value


def payloads(folder: str) -> dict[str, Any]:
    """The payloads of a folder by their names, in their order."""
    return {path.stem: json.loads(path.read_text()) for path in sorted((FIXTURES / folder).glob("*.json"))}


WORDS: dict[str, tuple[type, ...]] = {
    "text": (str,),
    "number": (int, float),
    "flag": (bool,),
    "object": (dict,),
    "nothing": (type(None),),
}


def misfits(shape: Any, value: Any, where: str = "") -> Iterator[str]:
    """Places where an answer lacks a member of a shape or holds another type; more members are no misfit."""
    if isinstance(shape, list):
        if not isinstance(value, list):
            yield f"{where}: not a list"
            return
        for number, item in enumerate(cast("list[Any]", value)):
            yield from misfits(shape[0], item, f"{where}[{number}]")  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(shape, dict):
        members = cast("dict[str, Any]", shape)
        if not isinstance(value, dict):
            yield f"{where}: not an object"
        else:
            found = cast("dict[str, Any]", value)
            by_kind = "entryType" in found and "entryType" not in members
            yield from _members(members.get(str(found["entryType"]), {}) if by_kind else members, found, where)
    elif shape != "any" and (not isinstance(value, WORDS[shape]) or (shape == "number" and isinstance(value, bool))):
        yield f"{where}: {type(value).__name__} where {shape} is expected"


def _members(shape: dict[str, Any], value: dict[str, Any], where: str) -> Iterator[str]:
    for name, expected in shape.items():
        plain, optional = name.rstrip("?"), name.endswith("?")
        if plain in value:
            yield from misfits(expected, value[plain], f"{where}.{plain}")
        elif not optional:
            yield f"{where}.{plain}: missing"
