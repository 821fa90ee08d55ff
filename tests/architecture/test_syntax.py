"""What the syntax trees say: where bytes may change, who names programs, that everything says what it is."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORE = sorted((ROOT / "phelix_core").rglob("*.py"))
TESTS = sorted(path for path in (ROOT / "tests").rglob("test_*.py"))
BYTES_CHANGE_IN = {
    "phelix_core/files.py": "the only writer of records",
    "phelix_core/sqlite.py": "opens databases for their stores",
    "phelix_core/arc/output.py": "makes the log of a run, which is a command's output and no record",
    "phelix_core/cli/streams.py": "stands /dev/null in for a closed stream",
    "phelix_core/commands/faults.py": "writes the report of a fault nobody foresaw",
    "phelix_core/commands/skill_file.py": "puts a file into a project, which is no record of ours",
    "phelix_core/mcp/wire.py": "writes the protocol's lines to the host; stands /dev/null in for standard input",
    "phelix_core/sessions/index.py": "makes and drops the listing index, which is derived and may go at any time",
    "phelix_core/queue/sqlite.py": "makes the queue's file with its modes before SQLite opens it",
    "phelix_core/touched.py": "tells the listing index which ids a writer touched",
}
CHANGING = {
    "os": {
        "chmod", "chown", "fchmod", "fchown", "ftruncate", "lchown", "link", "makedirs", "mkdir", "mkfifo", "mknod",
        "open", "pwrite", "remove", "removedirs", "rename", "renames", "replace", "rmdir", "symlink", "truncate",
        "unlink", "utime", "write", "writev",
    },
    "shutil": {"copy", "copy2", "copyfile", "copytree", "move", "rmtree", "chown"},
    "tempfile": {"mkstemp", "mkdtemp", "NamedTemporaryFile", "TemporaryDirectory", "TemporaryFile"},
}  # fmt: skip
PATH_METHODS = {"write_text", "write_bytes", "touch", "rename", "hardlink_to", "symlink_to", "unlink", "rmdir"}
READ_FLAGS = {"O_RDONLY", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_DIRECTORY"}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def changes_bytes(node: ast.AST) -> bool:
    """Whether a call may create, change or remove a file."""
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    if isinstance(called, ast.Name):
        return called.id == "open" and mode_of(node, place=1) not in {"r", "rb"}
    if not isinstance(called, ast.Attribute):
        return False
    if isinstance(called.value, ast.Name) and called.value.id in CHANGING:
        return called.attr in CHANGING[called.value.id] and (called.attr != "open" or not reads_only(node))
    return called.attr in PATH_METHODS or (called.attr == "open" and mode_of(node, place=0) not in {"r", "rb"})


def mode_of(node: ast.Call, place: int) -> str:
    """The mode of an `open`, "?" where it is not spelled out there."""
    given = next((keyword.value for keyword in node.keywords if keyword.arg == "mode"), None)
    given = given or (node.args[place] if len(node.args) > place else ast.Constant("r"))
    return given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else "?"


def reads_only(node: ast.Call) -> bool:
    """Whether the flags of an `os.open` are spelled out there and can change nothing."""
    flags = node.args[1]
    named = [part.attr for part in ast.walk(flags) if isinstance(part, ast.Attribute)]
    return (
        bool(named)
        and set(named) <= READ_FLAGS
        and not [part for part in ast.walk(flags) if isinstance(part, ast.Name) and part.id != "os"]
    )


def test_bytes_change_in_few_files_and_each_has_its_reason() -> None:
    found = {name_of(path) for path in CORE for node in ast.walk(tree(path)) if changes_bytes(node)}
    assert found <= BYTES_CHANGE_IN.keys()
    assert {"phelix_core/files.py", "phelix_core/cli/streams.py"} <= found, "the search itself still finds"


@pytest.mark.parametrize(
    "code",
    [
        "os.replace(a, b)", "os.rename(a, b)", "os.link(a, b)", "os.unlink(a)", "open(a, 'w')", "open(a, mode='ab')",
        "open(a, mode)", "Path(a).write_text(b)", "Path(a).open('w')", "os.open(a, flags)", "os.open(a, os.O_WRONLY)",
        "os.open(a, os.O_RDONLY | os.O_CREAT)", "shutil.rmtree(a)", "tempfile.mkstemp()", "p.unlink()",
    ],
)  # fmt: skip
def test_the_search_finds_each_way_to_change_a_file(code: str) -> None:
    assert [node for node in ast.walk(ast.parse(code)) if changes_bytes(node)]


@pytest.mark.parametrize(
    "code", ["open(a)", "open(a, 'rb')", "open(a, mode='r')", "os.open(a, os.O_RDONLY | os.O_CLOEXEC)"]
)
def test_the_search_lets_reading_pass(code: str) -> None:
    assert not [node for node in ast.walk(ast.parse(code)) if changes_bytes(node)]


def test_only_the_command_line_names_what_stands_above_it() -> None:
    naming = {
        name_of(path)
        for path in CORE
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "phelix_tui" in node.value
    }
    assert naming == {"phelix_core/cli/main.py"}


CATCH_EVERYTHING = {
    "phelix_core/cli/main.py": "the process's edge",
    "phelix_core/cli/lifecycle.py": "the process's edge",
    "phelix_core/mcp/calls.py": "a tool call's edge: a fault is an answer, and the server lives on",
    "phelix_core/memory/mem0.py": "the edge of a library of others, which names no list of what it raises",
    "phelix_core/memory/bounded.py": "the edge of a thread: nothing stands above it",
}


def test_only_the_outermost_edges_catch_everything() -> None:
    catching = {
        name_of(path)
        for path in CORE
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or (isinstance(node.type, ast.Name) and node.type.id in {"Exception", "BaseException"}))
        and not any(isinstance(inner, ast.Raise) and inner.exc is None for inner in ast.walk(node))
    }
    assert catching == CATCH_EVERYTHING.keys()


def test_no_request_module_postpones_its_annotations() -> None:
    postponing = {
        name_of(path)
        for path in CORE
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ImportFrom) and node.module == "__future__"
    }
    assert postponing == set()


def undocumented(path: Path) -> Iterator[str]:
    if not ast.get_docstring(tree(path)):
        yield f"{name_of(path)} itself"
    yield from _undocumented_in(tree(path), name_of(path))


def _undocumented_in(node: ast.Module | ast.ClassDef, where: str) -> Iterator[str]:
    for inner in node.body:
        if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and not inner.name.startswith("_"):
            if not ast.get_docstring(inner):
                yield f"{where}: {inner.name}"
            if isinstance(inner, ast.ClassDef):
                yield from _undocumented_in(inner, f"{where}: {inner.name}")


def test_every_module_and_every_public_class_and_function_says_what_it_promises() -> None:
    told = {"phelix_core/queue/reading.py: Reading", "phelix_core/queue/writing.py: Writing"}
    silent = [silent for path in CORE for silent in undocumented(path)]
    assert [one for one in silent if one.rpartition(": ")[0] not in told] == [], "a driver's questions: its port says"


def test_no_module_or_class_is_named_for_nothing_in_particular() -> None:
    empty = {"util", "utils", "helper", "helpers", "manager", "data", "info", "common", "misc", "base"}
    named = [path.stem for path in CORE] + [
        node.name for path in CORE for node in ast.walk(tree(path)) if isinstance(node, ast.ClassDef)
    ]
    assert [
        name for name in named if name.lower().lstrip("_") in empty or name.endswith(("Manager", "Helper", "Utils"))
    ] == []


def test_files_stay_of_a_size_that_a_person_reads_at_once() -> None:
    long = {name_of(path): lines for path in CORE if (lines := len(path.read_text().splitlines())) > 600}
    assert long == {}


def sentences(node: ast.Module | ast.ClassDef, subject: str = "") -> Iterator[str]:
    """What each test says; in a class, the class is the subject of its sentences."""
    for inner in node.body:
        if isinstance(inner, ast.ClassDef):
            yield from sentences(inner, re.sub("(?<!^)(?=[A-Z])", "_", inner.name.removeprefix("Test")).lower() + "_")
        elif isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)) and inner.name.startswith("test_"):
            yield subject + inner.name.removeprefix("test_")


def test_every_test_is_named_by_a_sentence_of_its_own() -> None:
    for path in TESTS:
        said = list(sentences(tree(path)))
        assert said, f"{name_of(path)} tests nothing"
        assert [sentence for sentence in said if sentence.count("_") < 2] == [], name_of(path)
        assert len(said) == len(set(said)), f"of two tests of one name in {name_of(path)}, the first never runs"


def test_no_test_mocks_our_own_code_or_sleeps() -> None:
    mocking = {
        f"{name_of(path)}:{node.lineno}"
        for path in TESTS
        for node in ast.walk(tree(path))
        if (isinstance(node, (ast.Import, ast.ImportFrom)) and "mock" in ast.unparse(node))
        or (isinstance(node, ast.Call) and ast.unparse(node.func) in {"time.sleep", "sleep"})
    }
    assert mocking == set()
