import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from phelix_core import VERSION

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def lint_imports(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What import-linter says of the contracts in pyproject."""
    ran = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--cache-dir", tmp_path_factory.mktemp("cache")],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "200", "TERM": "dumb", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return ran.stdout + ran.stderr


def test_every_import_contract_is_kept(lint_imports: str) -> None:
    assert " 0 broken" in lint_imports, lint_imports


def test_the_contracts_are_those_that_the_architecture_names() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    contracts = {contract["name"]: contract for contract in settings["contracts"]}
    assert {
        "Floors", "Decisions are pure", "The core has no screen", "Only commands touch a store",
    } <= contracts.keys()  # fmt: skip
    assert contracts["Floors"]["exhaustive"] is True, "a new module must choose its floor"
    protected = contracts["Only commands touch a store"]["protected_modules"]
    stores = {
        str(path.relative_to(ROOT).with_suffix("")).replace("/", ".") for path in ROOT.glob("phelix_core/*/store.py")
    }
    assert stores <= set(protected), "a store that anything may import"


def test_every_module_that_decides_is_held_pure() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    pure = next(contract for contract in settings["contracts"] if contract["name"] == "Decisions are pure")
    names = {"model", "transitions", "staleness", "references", "summary", "routing", "planning", "decisions"}
    deciding = {
        str(path.relative_to(ROOT).with_suffix("")).replace("/", ".")
        for path in ROOT.glob("phelix_core/*/*.py")
        if path.stem in names
    }
    assert deciding <= set(pure["source_modules"])


def test_the_script_starts_where_an_early_interrupt_is_caught() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts["phelix"] == "phelix_core.cli:start"


def test_the_version_is_the_one_that_pyproject_says() -> None:
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == VERSION
