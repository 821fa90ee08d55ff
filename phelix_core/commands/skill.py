"""`phelix skill`: the text that teaches an agent the protocol, printed or put where its host looks for skills.

The hosts read one open format, a SKILL.md with `name` and `description` before its text, and differ in where they look.
The last line of an installed file names the version that wrote it and a digest of the text above. By that alone a file
is ours: one that is ours and unedited is brought up to date, any other is left as it is.
"""

import os
import re
from hashlib import sha256
from typing import Annotated, Final

from phelix_core import VERSION
from phelix_core.checks import Help, Surface, capped, one_of
from phelix_core.commands.environment import Environment
from phelix_core.commands.preview import FieldChange, WritePlan, digest_of, require_digest
from phelix_core.commands.registry import Effect, command, equivalent
from phelix_core.commands.skill_file import ProjectFile
from phelix_core.errors import AlreadyExists
from phelix_core.frozen import frozen
from phelix_core.redaction import redact

HOSTS: Final = {
    "claude-code": ".claude/skills/phelix/SKILL.md",
    "codex": ".agents/skills/phelix/SKILL.md",
    "vscode": ".github/skills/phelix/SKILL.md",
    "cursor": ".cursor/skills/phelix/SKILL.md",
}
"""For each host the place in a project where it looks for this skill."""
_TEXT: Final = f"{os.path.dirname(__file__)}/skill.md"
_MARKED: Final = re.compile(rb"(.*\n)\n<!-- phelix skill (\S{1,32}) ([0-9a-f]{16})[^\n]*-->\n", re.DOTALL)


@frozen
class TeachAgents:
    """Print the skill that teaches an agent how to work with Phelix, or install it into a project."""

    host: Annotated[str, one_of(*HOSTS), Help("claude-code, which is the default, codex, vscode or cursor")] = (
        "claude-code"
    )
    install: Annotated[
        str | None, capped(4096), Help("Folder of the project; the file goes where the host looks for skills")
    ] = None


@frozen
class SkillText:
    """The text, and the place in a project where its host looks for it."""

    host: str
    path: str
    text: str


@frozen
class SkillInstalled:
    """Where the skill is, and whether it was created, updated or unchanged."""

    host: str
    path: str
    outcome: str


@command("skill", effect=Effect.WRITE, result=SkillText | SkillInstalled, surfaces=frozenset({Surface.CLI}))
def skill(request: TeachAgents, env: Environment) -> "SkillText | SkillInstallation":  # noqa: ARG001 - every command takes it
    """Read the text, or decide to install it."""
    if request.install is None:
        return SkillText(host=request.host, path=HOSTS[request.host], text=skill_text())
    return SkillInstallation(request, request.install)


class SkillInstallation:
    """The intent to put the skill into one project."""

    def __init__(self, request: TeachAgents, folder: str) -> None:
        self._request = request
        self._text = skill_text()
        self._file = ProjectFile(folder, HOSTS[request.host])
        self._path = redact(os.path.join(os.path.abspath(folder), HOSTS[request.host]))

    def plan(self) -> WritePlan:
        """Describe the file that would be written, beside what is there."""
        return self._describe(self._file.read())

    def apply(self, expect_digest: str | None) -> SkillInstalled:
        """Write the file, unless it is there already as it would be written."""
        before = self._file.read()
        plan = self._describe(before)
        if expect_digest:
            require_digest(expect_digest, plan.digest)
        if plan.changes:
            self._file.write(self._text.encode(), before)
        outcome = "unchanged" if not plan.changes else "created" if before is None else "updated"
        return SkillInstalled(host=self._request.host, path=self._path, outcome=outcome)

    def _describe(self, before: bytes | None) -> WritePlan:
        after = self._text.encode()
        target = {"file": self._path, "host": self._request.host}
        preconditions = {"file": None if before is None else _digest(before)}
        told = None if before is None else f"phelix skill {_version(before)}, {_digest(before)}"
        change = FieldChange(field="file", before=told, after=f"phelix skill {VERSION}, {_digest(after)}")
        changes = () if before == after else (change,)
        return WritePlan(
            action="skill",
            target=target,
            preconditions=preconditions,
            changes=changes,
            event=None,
            side_effects=() if changes else ("the file is there already, as it would be written",),
            command=equivalent(skill, self._request, install=redact(self._request.install or "")),
            digest=digest_of("skill", target, preconditions, changes),
            outcome={"text": self._text},
        )


def skill_text() -> str:
    """The whole file: front matter, text, and the line that says whose it is."""
    with open(_TEXT, "rb") as file:
        text = file.read()
    mark = f"<!-- phelix skill {VERSION} {sha256(text).hexdigest()[:16]}; `phelix skill` replaces it while unedited -->"
    return f"{text.decode('ascii')}\n{mark}\n"


def _version(data: bytes) -> str:
    """The version that wrote a file of ours; any other file, and an edited one, is refused."""
    found = _MARKED.fullmatch(data)
    if found is None:
        raise AlreadyExists(
            "There is a file at this place that Phelix did not write; it was left as it is.",
            hint="Move it away and install again, or print the text with `phelix skill` and merge the two.",
        )
    text, version, digest = found.groups()
    if sha256(text).hexdigest()[:16] != digest.decode():
        raise AlreadyExists(
            "The skill that is there has been edited since Phelix wrote it; it was left as it is.",
            hint="Keep your own words in a file of their own, remove this one, and install again.",
        )
    return redact(version.decode("ascii", "replace"))


def _digest(data: bytes) -> str:
    return f"sha256:{sha256(data).hexdigest()}"
