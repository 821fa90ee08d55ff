"""The skill that agents read: what it shows runs, what it names exists, and it goes only where it belongs."""

import json
import os
import re
import stat
import subprocess
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from phelix_core import VERSION, errors
from phelix_core.checks import Surface
from phelix_core.commands.environment import Environment
from phelix_core.commands.queue.claiming import RESOLUTIONS
from phelix_core.commands.registry import CATALOGUE, load_command
from phelix_core.commands.run import run
from phelix_core.commands.skill import HOSTS, skill_text
from phelix_core.errors import PhelixError
from phelix_core.lifecycle.actions import ACTIONS
from phelix_core.mcp.lifecycle import TOOLS, lifecycle_tools
from phelix_core.mcp.sessions import tools as served_tools
from phelix_core.queue.transitions import CLOSE_STATUSES
from phelix_core.settings import Settings
from phelix_core.strictjson import plain
from tests.rig import PHELIX, FixedClock, Phelix, bytes_of, did, environment, refused

TEXT = skill_text()
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
PROSE = re.sub(r"^```.*?^```$", "", TEXT, flags=re.MULTILINE | re.DOTALL)
CODE_SPANS = [
    span for line in PROSE.splitlines() if not line.startswith("<!--") for span in re.findall("`([^`]+)`", line)
]
CODES = {kind.code: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, PhelixError)}
GLOBAL = {"--json", "--dry-run", "--expect-digest", "--data-dir", "--queue", "--no-color"}


def table(heading: str) -> list[list[str]]:
    """The rows of the table under a heading, cell by cell."""
    below = TEXT.partition(f"\n{heading}")[2].partition("|---")[2].partition("\n")[2]
    rows = below.partition("\n\n")[0].splitlines()
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]


def quoted(cell: str) -> list[str]:
    return re.findall("`([^`]+)`", cell)


# What it shows runs

APPLICATION = """\
name = "billing"
version = "3.0.0"
versions = ["3.0.0", "3.1.0"]

[deploy]
command = ["echo", "deploying {version}"]

[rollback]
command = ["echo", "back to {version}"]

[health]
command = ["true"]
"""


class Shell:
    """One agent's shell: a folder to work in, the programs on its path, and the ids that answers told it."""

    def __init__(self, data_dir: Path, work: Path) -> None:
        self.work = work
        self.known: dict[str, str] = {}
        self.answers: list[Any] = []
        self.environ = {
            "PATH": f"{PHELIX.parent}:{os.environ['PATH']}",
            "HOME": str(work),
            "PHELIX_DATA_DIR": str(data_dir),
            "LC_ALL": "C.UTF-8",
        }

    def run(self, block: str) -> None:
        """Run a block as it stands, and learn ids from its answers, those in files first."""
        before = {path: path.stat().st_mtime_ns for path in self.work.glob("*.json")}
        ran = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block],
            cwd=self.work,
            env={**self.environ, **self.known},
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert (ran.returncode, ran.stderr) == (0, b""), (block, ran.stdout)
        written = [path for path in self.work.glob("*.json") if path.stat().st_mtime_ns != before.get(path)]
        for path in sorted(written, key=lambda path: path.stat().st_mtime_ns):
            self.learn(json.loads(path.read_bytes()))
        for answer in documents(ran.stdout.decode()):
            self.learn(answer)

    def learn(self, answer: Any) -> None:
        self.answers.append(answer)
        result = answer.get("result", {})
        if "operation_id" in answer:
            self.known["OP"] = answer["operation_id"]
        if "plan_hash" in result:
            self.known["PLAN"] = result["plan_id"]
        held = answer.get("context") or result.get("context") or result
        for member, name in {"session_id": "SES", "leaseId": "LEASE", "issueId": "ISSUE"}.items():
            if member in held:
                self.known[name] = held[member]


def documents(text: str) -> list[Any]:
    """The JSON documents that a text holds, one after the other."""
    found: list[Any] = []
    while text := text.lstrip():
        value, end = json.JSONDecoder().raw_decode(text)
        found.append(value)
        text = text[end:]
    return found


def test_every_command_line_that_it_shows_succeeds_in_its_order(phelix: Phelix, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    declared = phelix.data_dir / "apps" / "billing" / "app.toml"
    declared.parent.mkdir(parents=True)
    declared.write_text(APPLICATION)
    shell = Shell(phelix.data_dir, work)
    for block in BLOCKS:
        shell.run(block)
    issues = phelix("queue", "list", "--json").result["issues"]
    assert {issue["task"]: issue["status"] for issue in issues} == {
        "write the schema": "done",
        "serve it": "done",
        "move the first customer": "ready",
    }
    assert [one["status"] for one in phelix("session", "list", "--app", "billing", "--json").result["sessions"]].count(
        "completed"
    ) == 4
    told = json.dumps(shell.answers)
    for member in ("issueTask", "claimMode", "nextBestAction", "leaseExpiresAt", "effectId", "mem0", "advanced"):
        assert f"`{member}`" in PROSE
        assert f'"{member}"' in told


def test_every_block_is_shown_to_a_shell_and_asks_for_answers_that_programs_read() -> None:
    assert PROSE.count("```") == 0
    assert TEXT.count("```") == 2 * len(BLOCKS)
    starts = [line for block in BLOCKS for line in block.splitlines() if line.startswith("phelix")]
    assert len(starts) > 15
    assert [line for line in starts if "--json" not in line and not line.startswith("phelix-lifecycle <<")] == []


# What it names exists


def command_of(span: str) -> str | None:
    """The command that a piece of code names, None where it names none."""
    words = span.removeprefix("phelix ").split()
    named = [" ".join(words[:length]) for length in (3, 2, 1)]
    return next((name for name in named if name in CATALOGUE), None)


def test_every_command_and_option_in_its_prose_exists() -> None:
    options = {name: {field.option for field in load_command(name).fields(Surface.CLI)} for name in CATALOGUE}
    asked: set[str] = set()
    for span in set(CODE_SPANS) - {"phelix ... --json"}:
        name = command_of(span)
        if span.startswith(("phelix ", "session ", "queue ")):
            assert name, span
        for option in re.findall(r"--[a-z-]+", span):
            known = options[name] if name else set[str]().union(*options.values())
            assert option in known | GLOBAL, span
            asked.add(option)
    assert {"--reason", "--if-rev", "--request-id", "--freshness", "--resolution"} <= asked


def test_its_tables_of_statuses_and_resolutions_are_those_of_the_queue() -> None:
    assert {word for row in table("End every claim") for word in quoted(row[0])} == set(CLOSE_STATUSES)
    [line] = [line for line in PROSE.splitlines() if line.startswith("`--resolution requeue`")]
    told = {quoted(line)[0].split()[-1], *quoted(line)[1:3], "resume"}
    assert told == set(RESOLUTIONS)
    assert "--resolution resume" in TEXT


def test_every_action_and_tool_that_it_names_exists_and_means_the_same_command() -> None:
    rows = table("### The same by payload and by MCP")
    assert len(rows) > 8
    for _, commands, actions, tools in rows:
        tool, *tool_actions = quoted(tools)
        named = list(zip(quoted(commands), quoted(actions), tool_actions, strict=True))
        for command, action, over_mcp in named:
            assert command in CATALOGUE
            assert ACTIONS[action].command == command
            assert TOOLS[tool][over_mcp].action == action
    payloads = re.findall(r'"action": "([a-z_]+)"', "".join(BLOCKS))
    assert set(payloads) <= ACTIONS.keys()
    assert set(re.findall(r"\bharness_[a-z]+", TEXT)) <= TOOLS.keys()


def test_it_names_exactly_the_tools_that_are_served_for_sessions_and_plans(tmp_path: Path) -> None:
    served = {tool.name for tool in served_tools(Settings(data_dir=str(tmp_path)))}
    assert set(re.findall(r"\bphelix_[a-z_]+", TEXT)) == served


def test_every_code_has_a_row_that_says_rightly_whether_to_retry() -> None:
    told: dict[str, str] = {}
    for codes, meaning, advice, retry in table("## Error codes"):
        assert meaning
        assert advice
        for code in quoted(codes):
            assert code not in told
            told[code] = retry
    assert told.keys() == CODES.keys()
    for code, retry in told.items():
        assert retry.startswith("yes" if CODES[code].retryable else "no"), code


def test_no_other_word_of_its_prose_looks_like_a_code() -> None:
    loud = {span for span in CODE_SPANS if re.fullmatch("[A-Z]+(_[A-Z]+)+", span)}
    assert loud <= CODES.keys()


def test_over_mcp_reports_are_handed_in_as_it_says(tmp_path: Path) -> None:
    """The members that its prose names for MCP, through the tools themselves."""
    for member in ("sessionToken", "context", "input", "closeInput", "tool", "suggestedArguments", "requires"):
        assert f"`{member}`" in PROSE
    env = environment(tmp_path, FixedClock())
    did(env, "queue init", name="northwind")
    did(env, "queue campaign", project_name="billing", campaign_name="v3")
    issues = [{"task": "write", "priority": "high", "size": "S"}]
    batch = {"milestones": [{"milestone_key": "api", "description": "endpoints", "issues": issues}]}
    did(env, "queue plan", batch=json.dumps(batch))
    tools = {tool.name: tool for tool in lifecycle_tools(Settings(data_dir=str(tmp_path)))}

    def call(tool: str, action: str, **given: object) -> Any:
        answered = tools[tool].call(json.dumps({"action": action, **given}))
        assert not answered.failed, answered.document
        return answered.document

    host = {"host": "build-1", "hostCapabilities": {"workloadClasses": ["code"]}}
    suggested = call("harness_inspector", "next_action", **host)["result"]
    assert suggested["requires"] == ["input.artifacts"]
    begin = suggested["suggestedPayload"]["input"] | {"artifacts": [{"kind": "repo", "path": "."}]}
    begun = call("harness_session", "begin", **begin)
    report = {"title": "t", "summary": "s", "nextStep": "n", "artifactIds": ["commit:1"]}
    call(
        "harness_session",
        "checkpoint",
        sessionToken=begun["sessionToken"],
        input={**report, "taskStatus": "in_progress"},
    )
    call("harness_session", "close", context=begun["context"], closeInput={**report, "taskStatus": "done"})


# Its form


def test_it_is_short_ascii_and_begins_as_hosts_want_it() -> None:
    assert TEXT.isascii()
    assert len(TEXT.splitlines()) < 245
    [front] = re.findall(r"\A---\n(.*?)\n---\n\n# ", TEXT, re.DOTALL)
    members = dict(line.split(": ", 1) for line in front.splitlines())
    assert members.keys() == {"name", "description"}
    assert members["name"] == "phelix"
    assert 100 < len(members["description"]) <= 1024
    assert not set(members["description"]) & set(":#<>\"'"), "plain in YAML without quotes"
    for place in HOSTS.values():
        assert place.endswith(f"/{members['name']}/SKILL.md"), "hosts want the folder to be called as the skill"


def test_without_install_it_is_printed_and_nothing_is_touched(phelix: Phelix) -> None:
    ran = phelix("skill")
    assert (ran.code, ran.out.decode(), ran.err) == (0, TEXT, "")
    for host, place in HOSTS.items():
        assert phelix("skill", "--host", host, "--json").result == {"host": host, "path": place, "text": TEXT}
    assert not phelix.data_dir.exists()
    assert phelix("skill", "--host", "emacs", "--json").error["code"] == "INVALID_ARGUMENT"


# Where it goes


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project's folder with a file of its own."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "README.md").write_text("mine\n")
    return folder


def install(env: Environment, project: Path, host: str = "claude-code") -> Any:
    return plain(did(env, "skill", host=host, install=str(project)))


def as_of(version: str, text: str = "an older text\n") -> str:
    """A file that some version of Phelix wrote."""
    digest = sha256(text.encode()).hexdigest()[:16]
    return f"{text}\n<!-- phelix skill {version} {digest}; in other words -->\n"


@pytest.mark.parametrize("host", HOSTS)
def test_it_is_installed_where_its_host_looks_readable_to_all_and_once(
    phelix: Phelix, project: Path, host: str
) -> None:
    path = project / HOSTS[host]
    argv = ("skill", "--host", host, "--install", ".", "--json")
    first = phelix(*argv, cwd=project, umask=0o022)
    assert first.result == {"host": host, "path": str(path), "outcome": "created"}
    assert path.read_text() == TEXT
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o755
    assert [one.name for one in path.parent.iterdir()] == ["SKILL.md"]
    before = path.stat()
    assert phelix(*argv, cwd=project).result["outcome"] == "unchanged"
    assert path.stat() == before
    assert {one.name for one in project.iterdir()} == {"README.md", HOSTS[host].split("/")[0]}


def test_a_dry_run_shows_the_whole_file_and_writes_nothing(phelix: Phelix, project: Path) -> None:
    before = bytes_of(project)
    ran = phelix("skill", "--install", str(project), "--dry-run")
    assert ran.out.decode().startswith(TEXT)
    assert str(project / HOSTS["claude-code"]) in ran.out.decode()
    plan = phelix("skill", "--install", str(project), "--dry-run", "--json").result
    assert plan["outcome"] == {"text": TEXT}
    assert plan["preconditions"] == {"file": None}
    assert [change["after"].split(",")[0] for change in plan["changes"]] == [f"phelix skill {VERSION}"]
    assert plan["command"] == f"phelix skill --install {project}"
    assert bytes_of(project) == before


def test_only_what_was_shown_is_written(env: Environment, project: Path) -> None:
    command, raw = load_command("skill"), {"install": str(project)}
    shown = plain(run(command, raw, env, dry_run=True).result)
    path = project / HOSTS["claude-code"]
    path.parent.mkdir(parents=True)
    path.write_text(as_of("0.0.9"))
    late = run(command, raw, env, expect_digest=shown["digest"])
    assert late.failure()["code"] == "SESSION_CONFLICT"
    assert path.read_text() == as_of("0.0.9")
    again = plain(run(command, raw, env, dry_run=True).result)
    assert plain(run(command, raw, env, expect_digest=again["digest"]).result)["outcome"] == "updated"


def test_an_older_one_of_ours_is_updated_and_keeps_its_mode(env: Environment, project: Path) -> None:
    install(env, project)
    path = project / HOSTS["claude-code"]
    path.write_text(as_of("0.0.9"))
    path.chmod(0o640)
    assert install(env, project)["outcome"] == "updated"
    assert path.read_text() == TEXT
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [one.name for one in path.parent.iterdir()] == ["SKILL.md"]


@pytest.mark.parametrize(
    "there",
    [
        "---\nname: phelix\n---\nsomebody's own\n", "", TEXT + "\nand a line of mine\n", TEXT[:-1], "mine\n" + TEXT,
        TEXT.replace("lease", "loan"), as_of("0.0.9").replace("older", "other"), as_of("0.0.9")[1:],
    ],
)  # fmt: skip
def test_a_file_that_is_not_ours_or_was_edited_is_refused_and_left_alone(
    env: Environment, project: Path, there: str
) -> None:
    path = project / HOSTS["claude-code"]
    path.parent.mkdir(parents=True)
    path.write_text(there)
    before = bytes_of(project)
    error = refused(env, "skill", install=str(project))
    assert error["code"] == "ALREADY_EXISTS"
    assert "install again" in error["hint"]
    envelope = run(load_command("skill"), {"install": str(project)}, env, dry_run=True)
    assert envelope.failure() == error
    assert bytes_of(project) == before


@pytest.mark.parametrize("place", [".claude", ".claude/skills", ".claude/skills/phelix", HOSTS["claude-code"]])
@pytest.mark.parametrize("kind", ["link", "dangling", "fifo", "other"])
def test_no_link_is_followed_and_nothing_in_the_way_is_moved(
    env: Environment, project: Path, tmp_path: Path, place: str, kind: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "SKILL.md").write_text(as_of("0.0.9"))
    path = project / place
    path.parent.mkdir(parents=True, exist_ok=True)
    target = outside / "SKILL.md" if place.endswith(".md") else outside
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "other":
        _ = path.mkdir() if place.endswith(".md") else path.write_text("a file")
    else:
        path.symlink_to(target if kind == "link" else tmp_path / "absent")
    before = bytes_of(project), bytes_of(outside)
    error = refused(env, "skill", install=str(project))
    assert error["code"] == "ALREADY_EXISTS"
    assert "left as it is" in error["message"]
    assert (bytes_of(project), bytes_of(outside)) == before
    assert not (tmp_path / "absent").exists()


def test_a_folder_that_is_none_is_refused_and_not_made(env: Environment, project: Path) -> None:
    before = bytes_of(project)
    assert refused(env, "skill", install=str(project / "absent"))["code"] == "NOT_FOUND"
    assert refused(env, "skill", install="")["code"] == "NOT_FOUND"
    assert refused(env, "skill", install=str(project / "README.md"))["code"] == "FILESYSTEM_ERROR"
    assert bytes_of(project) == before


def test_a_folder_that_may_not_be_written_is_told_and_left_alone(phelix: Phelix, project: Path) -> None:
    project.chmod(0o555)
    ran = phelix.as_a_plain_user("skill", "--install", str(project), "--json")
    assert ran.error["code"] == "FILESYSTEM_ERROR"
    assert [one.name for one in project.iterdir()] == ["README.md"]


def test_a_read_only_environment_prints_it_and_installs_nothing(
    data_dir: Path, clock: FixedClock, project: Path
) -> None:
    looking = environment(data_dir, clock, read_only=True)
    assert did(looking, "skill").text == TEXT
    assert refused(looking, "skill", install=str(project))["code"] == "READ_ONLY"
    assert [one.name for one in project.iterdir()] == ["README.md"]
