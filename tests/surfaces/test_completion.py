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
