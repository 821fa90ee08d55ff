"""The memory on mem0: the real library on real files. Where the whole process matters, one of its own."""

import json
import os
import sqlite3
import stat
import subprocess
import sys
import types
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from phelix_core.clock import SystemClock
from phelix_core.memory.embedding import DIMENSIONS, SPACE, embed
from phelix_core.memory.mem0 import NOT_INSTALLED, Mem0Memory
from phelix_core.memory.opening import open_memory
from phelix_core.memory.port import Keepsake, MemoryScope, MemoryUnavailable
from phelix_core.settings import MemorySettings, Settings

TASK = MemoryScope(workspace="northwind", project="billing", campaign="W-1", task="I-1")
RUN = MemoryScope(workspace="northwind", project="billing", campaign="W-1", task="I-1", run="RUN-1")
PASSWORD = "correct-horse-battery-staple"


def keepsake(key: str, text: str, scope: MemoryScope = RUN) -> Keepsake:
    return Keepsake(
        key=key,
        kind="summary",
        text=text,
        scope=scope,
        checkpoint_id="C-1",
        artifact_ids=("commit:abc", "log, with a comma"),
        note="the rest",
        metadata={"adapterId": "phelix", "user_id": "somebody else", "expiration_date": "2001-01-01"},
    )


def in_process(code: str, *argv: str, **environ: str) -> subprocess.Popen[str]:
    """Start `code` in a Python of its own, where every warning is an error; `open_at` opens a memory in a folder."""
    preamble = (
        "import sys\n"
        "from phelix_core.clock import SystemClock\n"
        "from phelix_core.memory.mem0 import Mem0Memory\n"
        "from phelix_core.memory.port import Keepsake, MemoryScope, MemoryUnavailable\n"
        "RUN = MemoryScope(workspace='northwind', project='billing', campaign='W-1', task='I-1', run='RUN-1')\n"
        "TASK = MemoryScope(workspace='northwind', project='billing', campaign='W-1', task='I-1')\n"
        "def kept(key, text):\n"
        "    return Keepsake(key=key, kind='note', text=text, scope=RUN, checkpoint_id='C-1')\n"
        "def open_at(folder, **choices):\n"
        "    return Mem0Memory(folder, SystemClock(), **choices)\n"
    )
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", preamble + code, *argv],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environ,
    )


def ended(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")
    return out


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data" / "memory"


@pytest.fixture
def memory(folder: Path) -> Mem0Memory:
    return Mem0Memory(str(folder), SystemClock())


def texts(memory: Mem0Memory, query: str, scope: MemoryScope = TASK, limit: int = 20) -> list[str]:
    return [one.text for one in memory.recall(query, scope, limit)]


def configured(tmp_path: Path, config: object, embedder: str = "local") -> Mem0Memory:
    (tmp_path / "mem0.json").write_text(json.dumps(config))
    return Mem0Memory(str(tmp_path / "memory"), SystemClock(), embedder=embedder, config=str(tmp_path / "mem0.json"))


def test_what_was_kept_is_recalled_word_for_word_with_its_reference_and_the_nearest_first(memory: Mem0Memory) -> None:
    memory.remember(keepsake("k1", "The invoice template moved to the shared folder."))
    ref = memory.remember(keepsake("k2", "  Canary at 10 %:\n\tbilling timed out — roll back.  "))
    memory.remember(keepsake("k3", "Fonts are embedded in every picture now."))
    first, *rest = memory.recall("why did the billing canary fail?", TASK, 3)
    assert (first.ref, first.text) == (ref, "  Canary at 10 %:\n\tbilling timed out — roll back.  ")
    assert len(rest) == 2
    assert [one.score for one in (first, *rest)] == sorted((one.score or 0 for one in (first, *rest)), reverse=True)


def test_no_more_is_recalled_than_was_asked_for(memory: Mem0Memory) -> None:
    for number in range(5):
        memory.remember(keepsake(f"k{number}", f"canary {number}"))
    assert len(memory.recall("canary", TASK, 2)) == 2
    assert memory.recall("canary", TASK, 0) == ()


OTHERS = {
    "workspace": MemoryScope(workspace="southwind", project="billing", campaign="W-1", task="I-1", run="RUN-1"),
    "project": MemoryScope(workspace="northwind", project="search", campaign="W-1", task="I-1", run="RUN-1"),
    "campaign": MemoryScope(workspace="northwind", project="billing", campaign="W-2", task="I-1", run="RUN-1"),
    "task": MemoryScope(workspace="northwind", project="billing", campaign="W-1", task="I-2", run="RUN-1"),
    "project without a campaign": MemoryScope(workspace="northwind", project="search"),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS.keys())
def test_a_scope_recalls_nothing_of_another(memory: Mem0Memory, other: MemoryScope) -> None:
    memory.remember(keepsake("k1", "the canary of this one"))
    memory.remember(keepsake("k2", "the canary of another", other))
    assert texts(memory, "canary") == ["the canary of this one"]
    assert texts(memory, "canary", other) == ["the canary of another"]


def test_a_wider_scope_recalls_what_was_kept_in_every_narrower_one_and_in_every_run(memory: Mem0Memory) -> None:
    memory.remember(keepsake("k1", "canary one"))
    memory.remember(keepsake("k2", "canary two", OTHERS["task"]))
    memory.remember(keepsake("k3", "canary three", OTHERS["campaign"]))
    project = MemoryScope(workspace="northwind", project="billing")
    assert set(texts(memory, "canary", project)) == {"canary one", "canary two", "canary three"}
    campaign = MemoryScope(workspace="northwind", project="billing", campaign="W-1")
    assert set(texts(memory, "canary", campaign)) == {"canary one", "canary two"}


@pytest.mark.parametrize("name", ["*", "north wind", "a/b\n", "' OR 1=1 --", "%2A", "ÅÄÖ 北風", "{'in': ['a']}"])
def test_a_scope_of_any_name_recalls_its_own_alone(memory: Mem0Memory, name: str) -> None:
    odd = MemoryScope(workspace=name, project=name, campaign=name, task=name)
    memory.remember(keepsake("k1", "the canary of this one"))
    memory.remember(keepsake("k2", "the canary of a name", odd))
    assert texts(memory, "canary", odd) == ["the canary of a name"]
    assert texts(memory, "canary") == ["the canary of this one"]


def test_a_keepsake_given_again_is_one_memory_of_one_reference(memory: Mem0Memory, folder: Path) -> None:
    ref = memory.remember(keepsake("k1", "the canary held"))
    assert memory.remember(keepsake("k1", "the canary held")) == ref
    assert Mem0Memory(str(folder), SystemClock()).remember(keepsake("k1", "the canary held")) == ref
    assert texts(memory, "canary") == ["the canary held"]


def test_two_keepsakes_of_one_text_are_two_memories(memory: Mem0Memory) -> None:
    assert memory.remember(keepsake("k1", "the canary held")) != memory.remember(keepsake("k2", "the canary held"))
    assert texts(memory, "canary") == ["the canary held"] * 2


def test_provenance_is_kept_and_metadata_can_neither_move_nor_hide_a_memory(memory: Mem0Memory, folder: Path) -> None:
    memory.remember(keepsake("k1", "the canary held"))
    assert texts(memory, "canary") == ["the canary held"]
    with sqlite3.connect(folder / "memory.db") as db:
        (payload,) = db.execute("SELECT payload FROM memories").fetchone()
    db.close()
    told = json.loads(payload)
    assert (told["kind"], told["checkpoint_id"], told["note"]) == ("summary", "C-1", "the rest")
    assert json.loads(told["artifact_ids"]) == ["commit:abc", "log, with a comma"]
    assert (told["user_id"], told["meta_user_id"], told["run_id"]) == ("northwind", "somebody else", "RUN-1")


def test_several_processes_writing_at_once_lose_nothing_and_double_nothing(memory: Mem0Memory, folder: Path) -> None:
    code = (
        "memory, me = open_at(sys.argv[1]), sys.argv[2]\n"
        "for number in range(25):\n"
        "    print(f'own-{me}-{number}', memory.remember(kept(f'own-{me}-{number}', f'canary {me} {number}')))\n"
        "    print(f'shared-{number}', memory.remember(kept(f'shared-{number}', f'canary for all {number}')))\n"
    )
    writers = [in_process(code, str(folder), name) for name in ("a", "b", "c")]
    said = [line.split() for writer in writers for line in ended(writer).splitlines()]
    refs = {key: {ref for named, ref in said if named == key} for key, _ in said}
    assert len(said) == 150
    assert {len(answers) for answers in refs.values()} == {1}, "one key has one reference, whoever kept it"
    recalled = [one.ref for one in memory.recall("canary", TASK, 1000)]
    assert len(recalled) == 25 * 3 + 25
    assert set(recalled) == {ref for answers in refs.values() for ref in answers}


def test_nothing_is_asked_of_the_network_and_nothing_written_outside_the_folder(folder: Path, tmp_path: Path) -> None:
    code = (
        "ASKING = ('connect', 'getaddrinfo', 'gethostbyname', 'gethostbyaddr', 'sendto', 'sendmsg')\n"
        "def deny(event, args):\n"
        "    if event.startswith('socket.') and event.removeprefix('socket.') in ASKING:\n"
        "        asked.append(event)\n"
        "        raise OSError('no network')\n"
        "asked = []\n"
        "sys.addaudithook(deny)\n"
        "import socket\n"
        "try:\n"
        "    with socket.socket() as proof:\n"
        "        proof.connect(('127.0.0.1', 9))\n"
        "except OSError:\n"
        "    asked.remove('socket.connect')\n"
        "memory = open_at(sys.argv[1])\n"
        "memory.remember(kept('k1', 'the Canary of \"Billing v3\" held at New York'))\n"
        "print(asked, memory.recall('Canary of \"Billing v3\" in New York', TASK, 3)[0].text)\n"
    )
    home = tmp_path / "home"
    home.mkdir()
    told = {"HOME": str(home), "TMPDIR": str(home), "MEM0_TELEMETRY": "True", "MEM0_DIR": str(home / "mem0")}
    said = ended(in_process(code, str(folder), **told))
    assert said == '[] the Canary of "Billing v3" held at New York\n'
    assert list(home.iterdir()) == []


def test_nothing_of_the_library_is_loaded_before_the_first_question(folder: Path) -> None:
    code = "open_at(sys.argv[1])\nprint('mem0' in sys.modules, 'qdrant_client' in sys.modules, 'openai' in sys.modules)"
    assert ended(in_process(code, str(folder))) == "False False False\n"
    assert not folder.exists()


def test_every_file_and_folder_is_private_whatever_the_umask_says(folder: Path) -> None:
    code = (
        "import os\n"
        "os.umask(0)\n"
        "memory = open_at(sys.argv[1])\n"
        "memory.remember(kept('k1', 'the canary held'))\n"
        "memory.recall('canary', TASK, 3)\n"
    )
    ended(in_process(code, str(folder)))
    modes = {stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*") if path.is_file()}
    assert modes == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.rglob("*")) if path.is_dir()} == {0o700}


def test_a_folder_that_was_opened_to_others_is_private_again(memory: Mem0Memory, folder: Path) -> None:
    folder.mkdir(parents=True, mode=0o755)
    memory.remember(keepsake("k1", "the canary held"))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_store_deleted_between_calls_is_an_empty_memory_that_keeps_again(
    memory: Mem0Memory, folder: Path, what: str
) -> None:
    before = memory.remember(keepsake("k1", "the canary held"))
    (folder / "memory.db").unlink()
    if what == "folder":
        folder.rename(folder.with_name("gone"))
    assert memory.recall("canary", TASK, 3) == ()
    assert memory.remember(keepsake("k1", "the canary held")) != before
    assert texts(memory, "canary") == ["the canary held"]


def test_a_memory_that_was_never_written_recalls_nothing(memory: Mem0Memory) -> None:
    assert memory.recall("canary", TASK, 3) == ()


DAMAGED = {
    "no database": b"not a database at all, but long enough to be looked at" * 20,
    "cut short": b"SQLite format 3\0",
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED.keys())
def test_a_damaged_store_is_unavailable_and_stays_as_it_is(memory: Mem0Memory, folder: Path, content: bytes) -> None:
    folder.mkdir(parents=True)
    (folder / "memory.db").write_bytes(content)
    with pytest.raises(MemoryUnavailable, match="the memory's file cannot be used"):
        memory.remember(keepsake("k1", "the canary held"))
    with pytest.raises(MemoryUnavailable, match="the memory's file cannot be used"):
        memory.recall("canary", TASK, 3)
    assert (folder / "memory.db").read_bytes() == content


def test_a_store_of_a_newer_version_is_refused_as_it_is(memory: Mem0Memory, folder: Path) -> None:
    memory.remember(keepsake("k1", "the canary held"))
    with sqlite3.connect(folder / "memory.db") as db:
        db.execute("PRAGMA user_version = 7")
    db.close()
    before = (folder / "memory.db").read_bytes()
    with pytest.raises(MemoryUnavailable, match="of version 7, newer than this program"):
        memory.recall("canary", TASK, 3)
    assert (folder / "memory.db").read_bytes() == before


@pytest.mark.parametrize("special", ["file", "fifo"])
def test_a_folder_that_cannot_be_one_is_unavailable(memory: Mem0Memory, folder: Path, special: str) -> None:
    folder.parent.mkdir()
    {"file": lambda: folder.write_text(""), "fifo": lambda: os.mkfifo(folder)}[special]()
    with pytest.raises(MemoryUnavailable, match="folder"):
        memory.recall("canary", TASK, 3)


def test_a_store_that_is_a_link_is_not_followed(memory: Mem0Memory, folder: Path, tmp_path: Path) -> None:
    folder.mkdir(parents=True)
    (tmp_path / "elsewhere").write_bytes(b"")
    (folder / "memory.db").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(MemoryUnavailable, match="not a regular file"):
        memory.remember(keepsake("k1", "the canary held"))
    assert (tmp_path / "elsewhere").read_bytes() == b""


@pytest.mark.parametrize("query", ["", "  \n "])
def test_a_question_of_nothing_is_unavailable_rather_than_a_fault(memory: Mem0Memory, query: str) -> None:
    with pytest.raises(MemoryUnavailable, match="query"):
        memory.recall(query, TASK, 3)


@pytest.mark.parametrize("query", ["?!", "\0", "\ud800", "x" * 100_000, "北風"])
def test_a_question_without_a_known_word_is_answered(memory: Mem0Memory, query: str) -> None:
    memory.remember(keepsake("k1", "the canary held"))
    assert texts(memory, query) == ["the canary held"]


def test_a_library_that_is_not_installed_is_told_with_how_to_install_it(
    memory: Mem0Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mem0", None)
    for _ in range(2):
        with pytest.raises(MemoryUnavailable, match=NOT_INSTALLED.replace("[", r"\[")):
            memory.recall("canary", TASK, 3)
    monkeypatch.undo()
    assert memory.recall("canary", TASK, 3) == (), "installed since, it is found"


def library_that_raises(error: Exception) -> types.ModuleType:
    def from_config(_: object) -> object:
        raise error

    library: Any = types.ModuleType("mem0")
    library.Memory = types.SimpleNamespace(from_config=from_config)
    return library


FAULTS = {
    "a plain fault": (ValueError("no such thing"), "mem0 failed: ValueError: no such thing"),
    "several lines": (RuntimeError("one\n  two\n"), "mem0 failed: RuntimeError: one two"),
    "no message": (KeyError(), "mem0 failed: KeyError"),
    "the system": (PermissionError(13, "x", "/some/path"), "the system refused: Permission denied"),
    "a secret": (ValueError(f"password={PASSWORD}"), "mem0 failed: ValueError: password=[REDACTED:"),
}


@pytest.mark.parametrize(("error", "told"), FAULTS.values(), ids=FAULTS.keys())
def test_whatever_the_library_raises_is_one_short_line(
    memory: Mem0Memory, folder: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, told: str
) -> None:
    memory.recall("canary", TASK, 3)  # the parts of the real library are loaded, whichever test came first
    broken = Mem0Memory(str(folder), SystemClock())
    monkeypatch.setitem(sys.modules, "mem0", library_that_raises(error))
    with pytest.raises(MemoryUnavailable) as caught:
        broken.remember(keepsake("k1", "the canary held"))
    assert str(caught.value).startswith(told)
    assert PASSWORD not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_long_message_of_the_library_is_cut(
    memory: Mem0Memory, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.recall("canary", TASK, 3)
    broken = Mem0Memory(str(folder), SystemClock())
    monkeypatch.setitem(sys.modules, "mem0", library_that_raises(ValueError("word " * 1000)))
    with pytest.raises(MemoryUnavailable) as caught:
        broken.recall("canary", TASK, 3)
    assert len(str(caught.value)) == 200


SECRETIVE = {
    "an unknown provider": {"embedder": {"provider": PASSWORD, "config": {"api_key": PASSWORD}}},
    "an unknown member": {"embedder": {"provider": "openai", "config": {PASSWORD: PASSWORD}}},
    "a value of another type": {"embedder": {"provider": "openai", "config": PASSWORD}},
    "a store that needs more": {"vector_store": {"provider": "pgvector", "config": {"password": PASSWORD, "x": 1}}},
    "a store that is not there": {
        "vector_store": {"provider": "qdrant", "config": {"url": PASSWORD, "port": PASSWORD}}
    },
    "a section that is text": {"vector_store": PASSWORD},
    "an embedder that is text": {"embedder": PASSWORD},
}


def test_a_secret_of_the_configuration_is_told_neither_in_the_reason_nor_on_the_terminal(tmp_path: Path) -> None:
    for number, config in enumerate(SECRETIVE.values()):
        (tmp_path / f"{number}.json").write_text(json.dumps(config))
    code = (
        "import pathlib\n"
        "for number in range(int(sys.argv[2])):\n"
        "    path = f'{sys.argv[1]}/{number}.json'\n"
        "    embedder = 'config' if 'embedder' in pathlib.Path(path).read_text() else 'local'\n"
        "    try:\n"
        "        open_at(f'{sys.argv[1]}/memory', config=path, embedder=embedder).remember(kept('k1', 'canary'))\n"
        "    except MemoryUnavailable as error:\n"
        "        print(error)\n"
    )
    said = ended(in_process(code, str(tmp_path), str(len(SECRETIVE)))).splitlines()
    assert len(said) == len(SECRETIVE)
    assert [line for line in said if not line.startswith(("mem0 failed: ", "the memory's configuration "))] == []
    assert [line for line in said if PASSWORD in line] == []


UNREADABLE = {
    "not there": (None, "is not there"),
    "not JSON": (b"{", "is refused: not JSON"),
    "a list": (b"[]", "is no JSON object"),
    "not UTF-8": (b'{"a": "\xff"}', "is refused: not UTF-8"),
    "too large": (b" " * 70_000, "is refused: larger than 65536 bytes"),
    "without an embedder": (b"{}", "names no embedder"),
}


@pytest.mark.parametrize(("content", "told"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_a_configuration_that_cannot_be_used_is_told(tmp_path: Path, content: bytes | None, told: str) -> None:
    path = tmp_path / "mem0.json"
    if content is not None:
        path.write_bytes(content)
    memory = Mem0Memory(str(tmp_path / "memory"), SystemClock(), embedder="config", config=str(path))
    with pytest.raises(MemoryUnavailable, match=f"^the memory's configuration {told}"):
        memory.recall("canary", TASK, 3)


def test_a_configuration_that_was_mended_is_used_from_then_on(tmp_path: Path) -> None:
    memory = configured(tmp_path, [])
    with pytest.raises(MemoryUnavailable):
        memory.recall("canary", TASK, 3)
    (tmp_path / "mem0.json").write_text("{}")
    assert memory.recall("canary", TASK, 3) == ()


class Embeddings(BaseHTTPRequestHandler):
    """A model server of OpenAI's form, whose vectors tell texts with a `b` from those without."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        SEEN.append((self.path, self.headers["Authorization"], asked["model"]))
        vectors = [[1.0, 0.0] if "b" in text else [0.0, 1.0] for text in asked["input"]]
        told = {
            "object": "list",
            "model": asked["model"],
            "data": [{"object": "embedding", "index": at, "embedding": one} for at, one in enumerate(vectors)],
            "usage": {"prompt_tokens": 1, "total_tokens": 1},
        }
        body = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's own name
        """The terminal is not the test's."""


SEEN: list[tuple[str, str | None, str]] = []


@contextmanager
def model_server() -> Generator[str]:
    SEEN.clear()
    with HTTPServer(("127.0.0.1", 0), Embeddings) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            thread.join()


def test_an_embedder_of_the_configuration_is_the_one_that_is_asked_and_no_model_ever(tmp_path: Path) -> None:
    with model_server() as url:
        config = {
            "embedder": {
                "provider": "openai",
                "config": {"model": "tiny", "embedding_dims": 2, "api_key": PASSWORD, "openai_base_url": url},
            },
            "llm": {"provider": "openai", "config": {"api_key": PASSWORD, "openai_base_url": url}},
        }
        memory = configured(tmp_path, config, embedder="config")
        memory.remember(keepsake("k1", "aaa"))
        memory.remember(keepsake("k2", "bbb"))
        assert texts(memory, "b?", limit=1) == ["bbb"]
    assert {path for path, _, _ in SEEN} == {"/v1/embeddings"}
    assert set(SEEN) == {("/v1/embeddings", f"Bearer {PASSWORD}", "tiny")}


def test_memories_of_another_embedder_are_neither_compared_nor_lost(tmp_path: Path) -> None:
    local = Mem0Memory(str(tmp_path / "memory"), SystemClock())
    local.remember(keepsake("k1", "bbb"))
    with model_server() as url:
        settings = {"model": "tiny", "api_key": "x", "openai_base_url": url}
        memory = configured(tmp_path, {"embedder": {"provider": "openai", "config": settings}}, embedder="config")
        assert texts(memory, "bbb") == []
        memory.remember(keepsake("k1", "bbb"))
        assert texts(memory, "bbb") == ["bbb"]
    assert texts(local, "bbb") == ["bbb"]


def test_a_store_of_the_configuration_keeps_the_memories_instead_of_ours(tmp_path: Path) -> None:
    store = {"path": str(tmp_path / "qdrant"), "embedding_model_dims": DIMENSIONS, "on_disk": True}
    (tmp_path / "mem0.json").write_text(json.dumps({"vector_store": {"provider": "qdrant", "config": store}}))
    code = (
        "import warnings\n"
        "warnings.simplefilter('ignore', ResourceWarning)  # the store leaves its file open\n"
        "memory = open_at(sys.argv[1], config=sys.argv[2])\n"
        "print(memory.remember(kept('k1', 'the canary held')) == memory.remember(kept('k1', 'the canary held')))\n"
        "other = MemoryScope(workspace='northwind', project='search', campaign='W-1', task='I-1')\n"
        "print([one.text for one in memory.recall('canary', TASK, 3)], memory.recall('canary', other, 3))\n"
    )
    said = ended(in_process(code, str(tmp_path / "memory"), str(tmp_path / "mem0.json")))
    assert said == "True\n['the canary held'] ()\n"
    assert (tmp_path / "qdrant").is_dir()
    assert not (tmp_path / "memory" / "memory.db").exists()


def test_the_memory_of_the_settings_keeps_and_recalls_within_its_deadline(tmp_path: Path) -> None:
    memory = open_memory(Settings(data_dir=str(tmp_path), memory=MemorySettings(deadline_seconds=120)))
    ref = memory.remember(keepsake("k1", "the canary held"))
    assert [one.ref for one in memory.recall("canary", TASK, 3)] == [ref]
    assert (tmp_path / "memory" / "memory.db").is_file()


def test_a_host_that_imported_the_library_with_its_telemetry_on_is_refused(folder: Path) -> None:
    code = (
        "import types\n"
        "sys.modules['mem0'] = types.ModuleType('mem0')\n"
        "sys.modules['mem0.memory.telemetry'] = telemetry = types.ModuleType('telemetry')\n"
        "telemetry.MEM0_TELEMETRY = True\n"
        "try:\n"
        "    open_at(sys.argv[1]).recall('canary', TASK, 3)\n"
        "except MemoryUnavailable as error:\n"
        "    print(error)\n"
    )
    assert ended(in_process(code, str(folder))) == "mem0 was imported before, with its telemetry on\n"


def test_the_library_still_has_the_switch_that_keeps_it_from_downloading_a_model(memory: Mem0Memory) -> None:
    memory.recall("canary", TASK, 3)
    models = import_module("mem0.utils.spacy_models")
    assert {"_load_failed_full", "_load_failed_lemma"} <= set(dir(models))


def cosine(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def test_a_vector_is_the_same_on_every_machine_and_its_rule_has_a_name() -> None:
    vector = embed("The canary held; the canary billed.")
    assert len(vector) == DIMENSIONS
    assert cosine(vector, vector) == pytest.approx(1)
    largest = {at: round(part, 3) for at, part in enumerate(vector) if abs(part) > 0.4}
    assert (SPACE, largest) == ("local/1/1024", {542: 0.416, 600: 0.413, 885: 0.584})
    assert embed("") == embed("?!") == [0.0] * DIMENSIONS


def test_texts_that_share_words_or_their_letters_are_nearer_than_those_that_share_none() -> None:
    asked = embed("billing canaries")
    shared, letters, neither = (embed(text) for text in ("the billing failed", "one canary bills", "fonts moved away"))
    assert cosine(asked, shared) > cosine(asked, letters) > cosine(asked, neither)
