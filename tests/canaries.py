"""Thirty-two synthetic secrets, one of each important family, and the search for them in all that was written or said.

None stands in the repository: each is assembled when it is asked for, from the shapes of the corpus and another seed.
A canary counts as found when eight characters of its body, from any eighth one on, stand somewhere: so sixteen in a
row cannot stay unseen, nor can the start of one that was cut short.
"""

import re
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from tests.corpus.planted import TOKENS, filled

_WINDOW: Final = 8
_SHAPED: Final = {
    "github": 0, "github-fine-grained": 0, "gitlab": 0, "npm": 0, "pypi": 0, "docker": 0, "anthropic": 0, "openai": 1,
    "huggingface": 0, "aws-access-key": 0, "google-api": 0, "google-oauth": 0, "azure-client": 0, "digitalocean": 0,
    "vault": 0, "terraform": 0, "databricks": 0, "slack": 0, "discord": 0, "telegram": 0, "twilio": 0, "sendgrid": 0,
    "stripe": 0, "shopify": 0, "linear": 0, "grafana": 0, "jwt": 1, "age": 0,
}  # fmt: skip
_PLACED: Final = {
    "url-password": ("postgres://app:{}@db.example.com:5432/main", "<W24>"),
    "bearer": ("Authorization: Bearer {}", "<W32>"),
    "env-assignment": ("AWS_SECRET_ACCESS_KEY={}", "<B40>"),
}


class Canary(NamedTuple):
    """A text that holds one secret, and the secret's body."""

    kind: str
    text: str
    secret: str


def _assembled() -> tuple[Canary, ...]:
    found: list[Canary] = []
    for kind, number in _SHAPED.items():
        shape = TOKENS[kind][number]
        token = filled(shape, Random(f"canary {kind}"))
        found.append(Canary(kind, token, token[shape.index("<") :]))
    for kind, (place, shape) in _PLACED.items():
        secret = filled(shape, Random(f"canary {kind}")).replace("/", "x")
        found.append(Canary(kind, place.format(secret), secret))
    lines = [filled("<B64>", Random(f"canary line {number}")) for number in range(3)]
    label = "RSA PRIVATE KEY"
    block = "\n".join((f"-----BEGIN {label}-----", *lines, f"-----END {label}-----"))
    return (*found, Canary("private-key", block, lines[1]))


CANARIES: Final = _assembled()
IDS: Final = [canary.kind for canary in CANARIES]


def in_turn(number: int) -> Canary:
    """One of them; all, where it is asked often enough."""
    return CANARIES[number % len(CANARIES)]


_PIECES: Final = tuple(
    (canary.kind, canary.secret[at : at + _WINDOW])
    for canary in CANARIES
    for at in range(0, len(canary.secret) - _WINDOW + 1, _WINDOW)
)
# What may stand between the characters of a secret and hides it from a search, not from a person.
_VEIL: Final = re.compile("\x1b\\[[0-9;]*m|[\u200b\ufeff\u00ad·]")


def found_in(said: str | bytes) -> list[str]:
    """The kinds of the canaries that stand in a text or in a file's bytes."""
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else said
    bare = _VEIL.sub("", text)
    return sorted({kind for kind, piece in _PIECES if piece in bare})


def found_under(folder: Path, spared: tuple[Path, ...] = ()) -> dict[str, list[str]]:
    """The kinds found in the name or the bytes of each file under `folder`, free pages and locks included."""
    found: dict[str, list[str]] = {}
    for path in sorted(folder.rglob("*")):
        if path in spared:
            continue
        name = str(path.relative_to(folder))
        kinds = found_in(name) + (found_in(path.read_bytes()) if path.is_file() else [])
        if kinds:
            found[name] = kinds
    return found
