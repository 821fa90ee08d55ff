"""The completion script of bash in a real bash; zsh runs the same one through its own emulation."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from phelix_core.checks import Surface
from phelix_core.commands.environment import Environment
from phelix_core.commands.registry import CATALOGUE, load_command
from tests.rig import PHELIX, Phelix, did

ASK = """
source <("$0" completion bash)
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_phelix
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def offered(phelix: Phelix) -> Callable[..., list[str]]:
    if shutil.which("bash") is None:
        pytest.skip("no bash here")

    def ask(*words: str) -> list[str]:
        ran = subprocess.run(
            ["bash", "-c", ASK, PHELIX, "phelix", *words],
            env=phelix.environ,
            capture_output=True,
            text=True,
            check=True,
        )
        return ran.stdout.split()

    return ask


def test_bash_offers_commands_options_and_sessions(offered: Callable[..., list[str]], env: Environment) -> None:
    session_id = did(env, "session create").session_id
    assert set(offered("")) == {name.split()[0] for name in CATALOGUE}
    assert offered("session", "ch") == ["checkpoint"]
    assert offered("session", "fail", "ses_") == [session_id]
    options = {field.option for field in load_command("session list").fields(Surface.CLI)}
    assert set(offered("session", "list", "")) >= options
    assert offered("session", "list", "--st") == ["--status"]


def test_bash_offers_the_values_that_are_known(offered: Callable[..., list[str]]) -> None:
    assert offered("session", "list", "--status", "") == ["active", "completed", "failed", "cancelled"]
    assert offered("session", "list", "--json", "--status", "c") == ["completed", "cancelled"]
    assert offered("completion", "z") == ["zsh"]


def test_bash_offers_what_plans_and_operations_take(offered: Callable[..., list[str]]) -> None:
    assert offered("plan", "") == ["create", "show", "list", "apply"]
    assert offered("authz", "r") == ["revoke"]
    assert set(offered("plan", "create", "")) >= {"deploy", "rollback", "--to", "--reason", "--dry-run"}
    assert offered("operation", "list", "--status", "in") == ["indeterminate"]
    assert offered("inspect", "he") == ["health"]
    assert "--dry-run" not in offered("operation", "status", "")


def test_bash_offers_saved_views_where_one_is_named(offered: Callable[..., list[str]], env: Environment) -> None:
    did(env, "session create")
    did(env, "view save", name="late", where="is:stale")
    did(env, "view save", name="mine", where="app=billing")
    assert offered("session", "list", "--view", "l") == ["late"]
    assert set(offered("view", "show", "")) >= {"late", "mine"}
    assert offered("view", "remove", "m") == ["mine"]
    assert not [word for word in offered("view", "show", "") if word.startswith("ses_")]


def test_a_file_with_a_hostile_name_is_not_offered_and_runs_nothing(
    offered: Callable[..., list[str]], data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder, name in (("sessions", "ses_$(touch run).json"), ("views", "$(touch run).toml"), ("views", "`id`.toml")):
        (data_dir / folder).mkdir(parents=True, exist_ok=True)
        (data_dir / folder / name).touch()
    assert "touch" not in " ".join(offered("session", "fail", "") + offered("view", "show", ""))
    assert not (tmp_path / "run").exists()


def test_a_data_directory_with_a_hostile_name_runs_nothing(
    offered: Callable[..., list[str]], phelix: Phelix, tmp_path: Path
) -> None:
    phelix.environ["PHELIX_DATA_DIR"] = f"{tmp_path}/$(touch {tmp_path}/run)"
    offered("session", "fail", "")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script_that_names_every_command(phelix: Phelix, shell: str) -> None:
    script = phelix("completion", shell).out.decode()
    for name in CATALOGUE:
        assert name.split()[-1] in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)
