"""A memory on mem0, the library: nothing of it is loaded before the first question, and nothing leaves the machine.

Promises: a text is kept word for word, no language model is asked; the library's telemetry is off before it is
imported; with the local embedder there is no network at all. What is kept lies in the folder given, 0700, its files
0600. A keepsake given twice is kept once, by however many processes. Whatever the library raises becomes
`MemoryUnavailable`; what it says is told only where it cannot quote a person's configuration, which may hold keys.

The configuration is a JSON object in mem0's form. Its `embedder` is used where the settings say so, its
`vector_store` where there is one, and it must then be safe for several processes by itself; all else is left out.
"""

import logging
import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, Final, NoReturn, cast
from urllib.parse import quote
from weakref import finalize

from phelix_core.clock import Clock
from phelix_core.errors import NotFound, PhelixError
from phelix_core.files import Folder, UnreadableFile, why
from phelix_core.memory import embedding
from phelix_core.memory.port import Keepsake, MemoryScope, MemoryUnavailable, Recalled
from phelix_core.memory.vectors import SqliteVectors, found_or_made
from phelix_core.redaction import redact
from phelix_core.settings import CONFIGURED_EMBEDDER, LOCAL_EMBEDDER
from phelix_core.sqlite import DatabaseUnusable
from phelix_core.strictjson import JsonRefused, canonical, loads

NOT_INSTALLED: Final = "mem0ai is not installed: install phelix-console[memory]"
_GUARD: Final = "keeping"
"""The file that whoever keeps something holds the lock of."""
_LOCK: Final = f"{_GUARD}.lock"
_LONGEST_REASON: Final = 200
_MAX_CONFIG_BYTES: Final = 64 * 1024
_NOWHERE: Final = {"provider": "openai", "config": {"api_key": "none", "openai_base_url": "http://127.0.0.1:9/"}}
"""mem0 builds a model and an embedder whether or not they are used: these would reach nobody, and are replaced."""
_NO_STORE: Final = {"provider": "qdrant", "config": {"path": ":memory:", "embedding_model_dims": 1}}
_CHATTY: Final = ("mem0", "qdrant_client", "chromadb", "faiss", "openai", "httpx", "backoff")
"""Loggers that would write on the terminal, and some of what they write quotes the configuration."""


class Mem0Memory:
    """A memory in `folder`; one thread at a time uses it."""

    def __init__(self, folder: str, clock: Clock, *, embedder: str = LOCAL_EMBEDDER, config: str | None = None) -> None:
        """`config` is the path of a configuration for mem0; `embedder` says whether its embedder is the one."""
        self._folder = Folder(folder, clock)
        self._clock = clock
        self._embedder = embedder
        self._config = config
        self._library: Any = None

    def recall(self, query: str, scope: MemoryScope, limit: int) -> Sequence[Recalled]:
        """The memories of `scope` nearest to `query`, the nearest first."""
        with self._told():
            found = self._opened().search(query, top_k=limit, filters=_members(scope), threshold=0.0)
            return tuple(
                Recalled(ref=str(one["id"]), text=str(one["memory"]), score=one.get("score"))
                for one in found["results"]
            )

    def remember(self, keepsake: Keepsake) -> str:
        """Keep a text, once for its key; answers mem0's id of it."""
        with self._told():
            library = self._opened()
            with self._alone():
                mine = {"user_id": quote(keepsake.scope.workspace, safe=""), "key": keepsake.key}
                kept = library.get_all(filters=mine, top_k=1)["results"] or _added(library, keepsake)
                return str(kept[0]["id"])

    @contextmanager
    def _alone(self) -> Generator[None]:
        """Between looking for a key and keeping it, no other process keeps anything."""
        found_or_made(self._folder, _GUARD)
        with self._folder.locked(_GUARD, _LOCK):
            yield

    def _opened(self) -> Any:
        """The library's memory, built at the first call; a build that failed is tried again at the next."""
        self._folder.prepare()
        if self._library is None:
            self._library = self._built(_imported(f"{self._folder.path}/mem0", self._clock))
        return self._library

    def _built(self, mem0: Any) -> Any:
        chosen = _configuration(self._config, self._clock)
        configured = self._embedder == CONFIGURED_EMBEDDER
        embedder = _section(chosen, "embedder") if configured else None
        if configured and embedder is None:
            raise MemoryUnavailable("the memory's configuration names no embedder")
        store = _section(chosen, "vector_store")
        library = mem0.Memory.from_config(
            {
                "llm": _NOWHERE,
                "embedder": embedder or _NOWHERE,
                "vector_store": store or _NO_STORE,
                "history_db_path": ":memory:",
            }
        )
        library.close()
        library.db = _NoHistory()
        library.llm = _NoModel()
        if embedder is None:
            library.embedding_model = _LocalEmbedder()
        if store is None:
            space = embedding.SPACE if embedder is None else _space(embedder)
            library.vector_store = SqliteVectors(self._folder, self._clock, space)
        else:
            finalize(self, _let_go, library.vector_store)
        return library

    @contextmanager
    def _told(self) -> Generator[None]:
        """Whatever is raised inside, told as the port says."""
        try:
            yield
        except MemoryUnavailable:
            raise
        except Exception as error:  # noqa: BLE001 - a library of others, which names no list of what it raises
            reason = _reason(error, may_quote=self._config is None)
            raise MemoryUnavailable(reason) from None


def _let_go(store: Any) -> None:
    """Close a store of the configuration in time: one that is still open when Python ends complains on the terminal."""
    close = getattr(getattr(store, "client", None), "close", None)
    if close is not None:
        with suppress(Exception):  # nobody is left to be told
            close()


def _added(library: Any, keepsake: Keepsake) -> list[dict[str, object]]:
    """Keep the text as it is given, with its scope as mem0 files it, and its provenance."""
    members = _members(keepsake.scope)
    ids = {name: members.pop(name) for name in ("user_id", "agent_id", "run_id") if name in members}
    metadata = {
        **{f"meta_{name}": value for name, value in keepsake.metadata.items()},
        **members,
        "key": keepsake.key,
        "kind": keepsake.kind,
        "checkpoint_id": keepsake.checkpoint_id,
        "artifact_ids": canonical(keepsake.artifact_ids).decode(),
        "note": keepsake.note,
    }
    return library.add(keepsake.text, **ids, metadata=metadata, infer=False)["results"]


def _members(scope: MemoryScope) -> dict[str, str]:
    """A scope as mem0 files it. Its ids hold no blank, and a filter on `*` would leave everything: both are quoted."""
    members = {
        "user_id": scope.workspace,
        "agent_id": scope.project,
        "run_id": scope.run,
        "campaign": scope.campaign,
        "task": scope.task,
    }
    return {name: quote(value, safe="") for name, value in members.items() if value is not None}


def _imported(own: str, clock: Clock) -> Any:
    """The library, with its telemetry off before it is there, its own small file in `own`, and silent."""
    Folder(own, clock).prepare()
    os.environ.update({"MEM0_TELEMETRY": "False", "MEM0_DIR": own, "ANONYMIZED_TELEMETRY": "False"})
    for name in _CHATTY:
        logger = logging.getLogger(name)
        if logger.propagate:
            logger.addHandler(logging.NullHandler())
            logger.propagate = False
    try:
        mem0: Any = import_module("mem0")
    except ModuleNotFoundError as error:
        raise MemoryUnavailable(NOT_INSTALLED if error.name == "mem0" else _reason(error, may_quote=True)) from None
    if import_module("mem0.memory.telemetry").MEM0_TELEMETRY:
        raise MemoryUnavailable("mem0 was imported before, with its telemetry on")
    models: Any = import_module("mem0.utils.spacy_models")
    # Where spaCy is installed without its model, the library would download one.
    models._load_failed_full = models._load_failed_lemma = True  # noqa: SLF001 - the library has no switch for it
    return mem0


def _configuration(path: str | None, clock: Clock) -> Mapping[str, object]:
    """What the person's file says, if there is one; a failure names neither its path nor a value in it."""
    if path is None:
        return {}
    try:
        written = loads(Folder(os.path.dirname(path), clock).read(os.path.basename(path), _MAX_CONFIG_BYTES))
    except NotFound:
        _unusable("is not there")
    except PhelixError:
        _unusable("cannot be read")
    except (UnreadableFile, JsonRefused) as error:
        _unusable(f"is refused: {error}")
    if not isinstance(written, dict):
        _unusable("is no JSON object")
    return cast("dict[str, object]", written)


def _section(chosen: Mapping[str, object], name: str) -> dict[str, object] | None:
    section = chosen.get(name)
    if section is not None and not isinstance(section, dict):
        _unusable(f"says something else than an object for {name}")
    return cast("dict[str, object] | None", section)


def _unusable(said: str) -> NoReturn:
    raise MemoryUnavailable(f"the memory's configuration {said}")


def _space(embedder: Mapping[str, object]) -> str:
    """The name under which vectors of an embedder are kept: those of two models say nothing about each other."""
    config = embedder.get("config")
    members = cast("dict[str, object]", config) if isinstance(config, dict) else {}
    named = (embedder.get("provider"), members.get("model"), members.get("embedding_dims"))
    return "/".join("" if part is None else str(part) for part in named)


def _reason(error: Exception, *, may_quote: bool) -> str:
    """Why, in one short line without secrets; a message that may quote the configuration is left out."""
    if isinstance(error, PhelixError):
        return error.message
    if isinstance(error, DatabaseUnusable):
        return f"the memory's file cannot be used: {error}"
    if isinstance(error, OSError) and error.errno:
        return f"the system refused: {why(error)}"
    said = " ".join(str(error).split()) if may_quote or isinstance(error, ImportError) else ""
    told = f"mem0 failed: {type(error).__name__}{': ' if said else ''}{redact(said)}"
    return told if len(told) <= _LONGEST_REASON else f"{told[: _LONGEST_REASON - 1]}…"


class _LocalEmbedder:
    """The local embedder, in mem0's form."""

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        del memory_action
        return embedding.embed(text)

    def embed_batch(self, texts: Sequence[str], memory_action: str = "add") -> list[list[float]]:
        del memory_action
        return [embedding.embed(text) for text in texts]


class _NoHistory:
    """mem0 journals every change of a memory; ours are written once, and the queue has the journal."""

    def add_history(self, *_: object, **__: object) -> None:
        pass


class _NoModel:
    """No text is ever shown to a language model."""

    def generate_response(self, *_: object, **__: object) -> NoReturn:
        raise MemoryUnavailable("no language model is to be asked")
