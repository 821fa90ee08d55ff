"""Records whose every text tries something: markup, links, escapes, unfinished sequences, widths, floods."""

from pathlib import Path
from random import Random
from typing import Any, Final

from phelix_core.strictjson import dumps
from tests.tui.stage import NOON_MS

MARKUP: Final = (
    "[/nope]",
    "[@click=app.quit]x[/]",
    "[@click='app.run_action(\"quit\")']pwn",
    "[bold",
    "[[[]]]\\[",
    "[link=https://example.invalid]pwn[/link]",
    "$(reboot) `id` {0} %s",
)
ESCAPES: Final = (
    "\x1b[2J\x1b[31;7;66mpwn",
    "\x1b]0;pwn title\x07",
    "\x1b]52;c;cHdu\x07",
    "\x1bPpwn\x1b\\",
    "\x1b_pwn\x1b\\",
    "\x9b31mpwn\x9d0;pwn\x9c",
    "\x1b[?1049lpwn\x1b[?1337h",
    "\x07\x08\x0b\x0c\rpwn\x7f",
    "pwn \x1b]0;never ended",
    "pwn \x1bP never ended either",
    "\x1b",
)
WIDTHS: Final = (
    "\u202epwn\u202c \u2066x",
    "清理过期的会话缓存" * 3,
    "👨\u200d👩\u200d👧\u200d👦 family",
    "e\u0301\u0302\u0303\u0304\u0305\u0306 marks",
    "\u0301 begins with a mark",
    "① ambiguous … ─ │",
    "☁\ufe0f vs16 1\ufe0f\u20e3",
    "a\nb\r\nc\u2028d\u2029e\tf",
    "\u200b\u00ad\ufeff\u2060 invisible",
    "ก็็็็็็ stacked",
    "🇩🇪🇫🇷 flags",
    "",
    " ",
    "x" * 5_000,
    "汉" * 2_000,
    "word " * 1_000,
)
ALL: Final = (*MARKUP, *ESCAPES, *WIDTHS)


def hostile_record(session_id: str, text: str, status: str = "active") -> dict[str, Any]:
    """A readable record with `text` wherever the format has text."""
    events = [
        {"seq": 1, "type": "created", "at_ms": NOON_MS - 90_000, "detail": text, "via": text},
        {"seq": 2, "type": text or "x", "at_ms": NOON_MS - 60_000, "detail": text, "via": text},
    ]
    record: dict[str, Any] = {
        "schema_version": "1",
        "session_id": session_id,
        "status": status,
        "title": text,
        "project": text,
        "app": text,
        "actor": {"type": text or "x", "id": text, "authenticated": False},
        "rev": 2,
        "created_at_ms": NOON_MS - 90_000,
        "updated_at_ms": NOON_MS - 60_000,
        "plan_ids": ["pln_00000000000000aa"],
        "checkpoint": {"step": text, "note": text, "at_ms": NOON_MS - 60_000, "seq": 2},
        "events": events,
        text or "extra": text,
    }
    if status != "active":
        record["final_result"] = text
    return record


def mixtures(count: int, seed: int = 7) -> list[str]:
    """Texts stitched together from all of the above, the same for the same seed."""
    random = Random(seed)
    return ["".join(random.choice(ALL)[:60] for _ in range(random.randrange(2, 6))) for _ in range(count)]


def write_hostile(data_dir: Path, texts: tuple[str, ...] | list[str]) -> list[str]:
    """One record a text; answers the ids."""
    folder = data_dir / "sessions"
    folder.mkdir(parents=True, exist_ok=True)
    ids = [f"ses_{number:016x}" for number in range(1, len(texts) + 1)]
    for session_id, text in zip(ids, texts, strict=True):
        (folder / f"{session_id}.json").write_bytes(dumps(hostile_record(session_id, text)).encode())
    return ids


BLOCKS: Final = (
    *((0x20, 0x7F), (0, 0x20), (0x7F, 0x0250), (0x0300, 0x0370), (0x0590, 0x0700), (0x1100, 0x1200)),
    *((0x2000, 0x2070), (0x2500, 0x2600), (0x3000, 0x9FFF), (0xFE00, 0xFF00), (0x1F300, 0x1FA00), (0xE0000, 0xE0080)),
)
"""Where characters are taken from: controls, marks, both directions, joined, wide, invisible."""


def _letters(random: Random) -> str:
    """A run of characters from anywhere in Unicode; none of them half of a pair."""
    first, last = random.choice(BLOCKS)
    return "".join(chr(random.randrange(first, last)) for _ in range(random.randrange(1, 20)))


def strings(count: int, seed: int = 11) -> list[str]:
    """Texts for the fuzz: the above, pieces of them put together at random, and characters from anywhere."""
    random = Random(seed)
    found: list[str] = list(ALL[:count])
    while len(found) < count:
        parts = [
            random.choice(ALL)[: random.randrange(1, 80)] if random.random() < 0.6 else _letters(random)
            for _ in range(random.randrange(1, 5))
        ]
        text = "".join(parts)
        found.append(text * 60 if random.random() < 0.02 else text)
    return found
