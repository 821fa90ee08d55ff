"""A call starts lean: what a process has imported when it is done says what every call pays for."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.rig import FixedClock, Phelix, did, environment

ID = "ses_0000000000000001"
HEAVY = {
    "rich", "textual", "mcp", "asyncio", "pydantic", "pydantic_core", "uuid", "secrets", "subprocess", "logging",
    "importlib.metadata", "watchfiles", "phelix_tui", "tomllib", "tempfile", "traceback", "unittest",
    "typing_extensions",
}  # fmt: skip
PREVIEW = {"phelix_core.commands.preview", "hashlib"}
RUNNER = """
import sys
from phelix_core.cli.main import main
status = main(sys.argv[1:])
sys.stderr.write("\\n@" + " ".join(sorted(sys.modules)))
sys.exit(status)
"""
HOT = {
    "checkpoint": ["session", "checkpoint", ID, "--step", "deploy", "--note", "10%", "--json"],
    "show": ["session", "show", ID, "--json"],
    "list": ["session", "list", "--json"],
    "create": ["session", "create", "--title", "x", "--json"],
    "complete": ["session", "complete", ID, "--result", "done", "--json"],
}


def imported(code: str, phelix: Phelix, *argv: str) -> set[str]:
    """Names of all modules that a fresh interpreter holds after `code`."""
    ran = subprocess.run(
        [sys.executable, "-c", code, *argv], env=phelix.environ, capture_output=True, text=True, check=True, timeout=60
    )
    return set(ran.stderr.rpartition("@")[2].split())


def test_importing_the_command_line_imports_nothing_heavy(phelix: Phelix) -> None:
    code = "import sys, phelix_core.cli.main; sys.stderr.write('@' + ' '.join(sys.modules))"
    modules = imported(code, phelix)
    assert "phelix_core.cli.main" in modules
    assert modules & HEAVY == set()


@pytest.mark.parametrize("argv", HOT.values(), ids=HOT.keys())
def test_a_hot_call_imports_nothing_heavy_and_no_means_to_describe_itself(
    phelix: Phelix, data_dir: Path, argv: list[str]
) -> None:
    did(environment(data_dir, FixedClock()), "session create", title="ship")
    modules = imported(RUNNER, phelix, *argv)
    assert "phelix_core.commands.run" in modules
    assert modules & (HEAVY | PREVIEW) == set()
    assert not [name for name in modules if name.startswith("phelix_core.cli.render") or name == "rich"]


def test_a_plain_answer_for_people_needs_no_terminal_library(phelix: Phelix, data_dir: Path) -> None:
    did(environment(data_dir, FixedClock()), "session create", title="ship")
    assert imported(RUNNER, phelix, "session", "list") & HEAVY == set()


def test_a_preview_pays_for_itself_alone(phelix: Phelix, data_dir: Path) -> None:
    did(environment(data_dir, FixedClock()), "session create", title="ship")
    modules = imported(RUNNER, phelix, "session", "fail", ID, "--dry-run", "--json")
    assert modules >= PREVIEW, "the search itself still finds"
    assert modules & HEAVY == set()


def test_only_the_module_of_the_command_that_is_called_is_imported(phelix: Phelix) -> None:
    modules = imported(RUNNER, phelix, "session", "list", "--json")
    assert not [name for name in modules if name in {"phelix_core.commands.demo", "phelix_core.commands.doctor"}]


def test_the_core_is_imported_without_a_screen_whatever_is_called(phelix: Phelix) -> None:
    for argv in (["doctor"], ["schema", "--json"], ["completion", "bash"], ["--help"]):
        assert not imported(RUNNER, phelix, *argv) & {"textual", "watchfiles", "phelix_tui", "mcp"}
    assert json.loads(phelix("schema", "--json").out)["status"] == "succeeded"
