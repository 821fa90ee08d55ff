"""Secrets in short free text become `[REDACTED:kind]`; text without secrets comes back byte-identical.

`redact` is pure, idempotent, linear in the text's length, and takes any string; no comment in the text can ask to be
spared. Importing this costs nothing: the table of rules is loaded by the first text that may hold a secret, and a
pattern is compiled only after one of its rule's literals was seen.

    rules.py    what is a secret, as data
    values.py   what a value and a name look like
    judges.py   whether a match is a secret, and where it starts and ends
    scanner.py  the text as a person would copy it, the rules on it, the cut
"""

from phelix_core.checks import Check, capped

_PASSES = 6
_GIVEN_UP = "[REDACTED:text]"
# No secret has a shape shorter than this, and none is told by its place without one of these words. A test holds
# the table to it.
SHORTEST_TOKEN = 14
TELLING = (
    *(
        "pass",
        "pw",
        "psk",
        "secret",
        "token",
        "cred",
        "key",
        "auth",
        "pin",
        "otp",
        "sas",
        "salt",
        "sig",
        "jwt",
        "cookie",
    ),
    *("bearer", "webhook", "dsn", "contrase", "kennwort", "sess", "sid", "access", "private", "://", "basic", "jdbc:"),
    *("identified", "securestring", "curl", "wget", "http", "ldap", "smbclient", "mysql", "mariadb", "redis", "docker"),
    *("podman", "helm", "mongo", "psexec", ":5432:", ":5433:", ":6432:", ":*:"),
)


_HEX = "0123456789abcdef"
_OWN_IDS = frozenset({"ses_", "RUN-", "MO-", "ML-", *(f"{letter}-" for letter in "ACIKLMPW")})
"""How ids of ours start, sixteen hex digits follow: the whole of a text, they need no look at the rules."""


def redact(text: str) -> str:
    """Replace each secret in `text` by `[REDACTED:kind]`."""
    if not _may_hold_one(text) or (text[:-16] in _OWN_IDS and not text[-16:].strip(_HEX)):
        return text
    from phelix_core.redaction.scanner import redact_once  # noqa: PLC0415 - most calls carry none

    for _ in range(_PASSES):
        after = redact_once(text)
        if after == text:
            return text
        text = after
    return _GIVEN_UP  # built so that each answer uncovers another secret: keep nothing of it


def _may_hold_one(text: str) -> bool:
    """Whether it is worth loading the rules: most titles and steps are a few plain words."""
    if not (text.isascii() and text.isprintable()):
        return True
    lowered = text.lower()
    longest = max(map(len, lowered.split()), default=0)
    return longest >= SHORTEST_TOKEN or any(word in lowered for word in TELLING)


def free_text(cap: int) -> Check:
    """Accept at most `cap` UTF-8 bytes as sent, then redact."""
    size = capped(cap)

    def apply(value: str) -> str:
        return redact(size.apply(value))

    return Check(apply, size.schema)
