"""`phelix mcp config`: each snippet is what its host reads, and the command in it starts a server."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.architecture.test_start import RUNNER, imported
from tests.mcp.host import Host
from tests.rig import Phelix

HOSTS = {"claude-code": "mcpServers", "codex": "mcp_servers", "vscode": "servers", "cursor": "mcpServers"}


def servers_in(host: str, snippet: str) -> Any:
    """The servers that a host finds in a file that holds the snippet."""
    read: Any = tomllib.loads(snippet) if host == "codex" else json.loads(snippet)
    assert list(read) == [HOSTS[host]]
    return read[HOSTS[host]]


@pytest.mark.parametrize("host", HOSTS)
def test_the_snippet_of_each_host_starts_a_server_that_offers_its_tools(
    phelix: Phelix, tmp_path: Path, data_dir: Path, host: str
) -> None:
    [(name, server)] = servers_in(host, phelix("mcp", "config", "--host", host).out.decode()).items()
    assert name == "phelix"
    assert server.get("type", "stdio") == "stdio"
    assert server["args"][:2] == ["mcp", "serve"]
    assert Path(server["command"]).is_absolute()
    with Host([server["command"], *server["args"]], tmp_path) as told:
        told.greet()
        assert len(told.answer(told.request("tools/list", {}))["result"]["tools"]) == 13
        told.result(told.call("phelix_session_create"))
    assert len(list(data_dir.glob("sessions/ses_*.json"))) == 1, "in the data directory in force where it was printed"


@pytest.mark.parametrize("host", HOSTS)
def test_folders_with_any_name_are_told_exactly_and_in_ascii(phelix: Phelix, tmp_path: Path, host: str) -> None:
    folder, queue = f'{tmp_path}/a "b"\\ é\u202e\x1b\n\t😀', f"{tmp_path}/q'.db"
    ran = phelix("mcp", "config", "--host", host, "--server=lifecycle", "--data-dir", folder, "--queue", queue)
    assert ran.out.isascii()
    assert not set(ran.out) & ({*range(32)} - {10})
    [(name, server)] = servers_in(host, ran.out.decode()).items()
    assert name == "phelix-lifecycle"
    assert server["args"] == ["mcp", "lifecycle", "--data-dir", folder, "--queue", queue]


def test_what_a_server_would_find_by_itself_is_left_out(phelix: Phelix) -> None:
    del phelix.environ["PHELIX_DATA_DIR"]
    [server] = servers_in("cursor", phelix("mcp", "config", "--host=cursor").out.decode()).values()
    assert server["args"] == ["mcp", "serve"]
    [server] = servers_in("cursor", phelix("mcp", "config", "--host=cursor", "--queue=/q.db").out.decode()).values()
    assert server["args"] == ["mcp", "serve", "--queue", "/q.db"]


def test_under_json_the_snippet_stands_in_an_envelope(phelix: Phelix) -> None:
    for host in HOSTS:
        plain = phelix("mcp", "config", "--host", host)
        told = phelix("mcp", "config", "--host", host, "--json").result
        assert told["snippet"] == plain.out.decode()
        assert told["place"]
        [server] = servers_in(host, told["snippet"]).values()
        assert told["command"] == [server["command"], *server["args"]]
    assert phelix("mcp", "config", "--json").result["host"] == "claude-code"


@pytest.mark.parametrize("words", [["--host=emacs"], ["--server=both"], ["x"]])
def test_an_unknown_host_or_server_is_refused(phelix: Phelix, words: list[str]) -> None:
    assert phelix("mcp", "config", *words, "--json").error["code"] == "INVALID_ARGUMENT"


def test_a_folder_that_no_file_can_name_is_refused(phelix: Phelix, tmp_path: Path) -> None:
    ran = phelix("mcp", "config", "--data-dir", bytes(tmp_path) + b"/\xff", "--json")
    assert ran.error["code"] == "INVALID_ARGUMENT"


def test_an_interpreter_without_the_script_beside_it_is_told_to_start_the_same(phelix: Phelix, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    bare = tmp_path / "bin" / "python"
    bare.symlink_to(sys.executable)
    code = "import sys; sys.executable = sys.argv.pop(1); from phelix_core.cli import start; sys.exit(start())"
    argv = [sys.executable, "-c", code, str(bare), "mcp", "config", "--host=cursor"]
    said = subprocess.run(argv, env=phelix.environ, capture_output=True, text=True, check=True, timeout=60).stdout
    [server] = servers_in("cursor", said).values()
    assert server["command"] == str(bare)
    assert server["args"][0] == "-c"
    assert server["args"][2:4] == ["mcp", "serve"]


def test_only_a_server_pays_for_the_protocol(phelix: Phelix) -> None:
    for argv in (["mcp", "config"], ["mcp", "config", "--json"], ["mcp", "serve", "--help"], ["session", "list"]):
        assert not imported(RUNNER, phelix, *argv) & {"mcp", "mcp_types", "pydantic", "asyncio", "anyio"}
