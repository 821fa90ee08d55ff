"""One write on a record of its own, and the judgement on what is left of it after a fault.

Whatever happened, the record is the old one or the new one, whole; what was acknowledged is there; what was refused
changed nothing; and the next write works and clears up.
"""

from itertools import count
from pathlib import Path
from typing import Any

from phelix_core.commands.registry import load_command
from phelix_core.commands.run import run
from phelix_core.sessions.model import Session, decode
from tests.core.faults.nursery import WORDS, Told, environment

FIRST = "session create, first"
"""The first record of all: its folders are made too."""
KINDS = (*WORDS, FIRST)

_MAY_TELL = {"kill": {"", "OK"}, "interrupt": {"OK", "FILESYSTEM_ERROR", "OUTCOME_UNKNOWN", "CANCELLED"}}
_MAY_FAIL = {"OK", "FILESYSTEM_ERROR", "OUTCOME_UNKNOWN"}
_numbers = count(1)


class Trial:
    """A data directory made for one write of kind `kind`."""

    def __init__(self, scratch: Path, kind: str, store: str = "real") -> None:
        self.command = kind.partition(",")[0]
        self.data_dir = scratch / f"trial-{next(_numbers)}"
        self.sessions = self.data_dir / "sessions"
        self._env = environment(str(self.data_dir), "real")
        raw = dict(WORDS[self.command])
        if kind != FIRST:
            self._there = self._do("session create", title="was there before").session_id
            if self.command != "session create":
                raw["session_id"] = self._there
        self.before = self.records()
        out = str(scratch / f"{self.data_dir.name}.out")
        self.case: dict[str, Any] = {
            "data_dir": str(self.data_dir),
            "store": store,
            "command": self.command,
            "raw": raw,
            "out": out,
        }

    def _do(self, name: str, **raw: object) -> Any:
        envelope = run(load_command(name), raw, self._env)
        assert envelope.error is None, envelope.error
        return envelope.result

    def records(self) -> dict[str, bytes]:
        """Every record by its id."""
        return {path.stem: path.read_bytes() for path in self.sessions.glob("ses_*.json")}

    def staged(self) -> list[str]:
        """Names of temporary files."""
        return [path.name for path in (self.sessions / ".staging").glob("*")]

    def judge(self, told: Told, mode: str) -> None:
        """Assert what must be true after the fault `mode`, whatever it hit."""
        assert told.noise == "", told.noise
        changed = self._whole_changes()
        assert told.code in _MAY_TELL.get(mode.partition("-")[0], _MAY_FAIL), told
        if told.code == "OK":
            assert changed, "acknowledged and lost"
        if told.code == "FILESYSTEM_ERROR":
            assert not changed, "refused and yet changed"
        assert len(self.staged()) <= 1
        if mode.partition("-")[0] != "kill" and not changed:
            assert self.staged() == [], "a refused write left its temporary file"
        self._next_write_works()

    def _whole_changes(self) -> list[Session]:
        """The records that differ from before; each must be whole and one step on."""
        after = self.records()
        assert after.keys() >= self.before.keys()
        changed = [decode(after[name], name) for name in after if after[name] != self.before.get(name)]
        assert len(changed) <= 1
        for session in changed:
            known = self.before.get(session.session_id)
            rev = decode(known, session.session_id).rev if known else 0
            assert session.rev == rev + 1
        return changed

    def _next_write_works(self) -> None:
        """Write to every open record, and a new one; nothing of a record that is written to stays staged."""
        for name, data in self.records().items():
            session = decode(data, name)
            if session.status == "active":
                assert self._do("session checkpoint", session_id=name, step="goes on").rev == session.rev + 1
                assert not [left for left in self.staged() if left.startswith(name)]
        assert self._do("session create", title="goes on").rev == 1
