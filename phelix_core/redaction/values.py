"""What a value and a name look like: drawn or written, chosen by a person, a placeholder, code, the name of a secret.

The questions that the redactor's judges ask. All are pure and linear in their text; patterns are compiled when
first asked for.
"""

import re
from functools import cache

from phelix_core.redaction.words import GUESSED, KEY_OF, NOT_KEYS, STATES, TELLING_ABOUT, WEAK_NAMES


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, compiled once and only if it is asked for."""
    return re.compile(pattern)


def matches(pattern: str, text: str) -> bool:
    """Whether the whole text has this form."""
    return compiled(pattern).fullmatch(text) is not None


LONG = 16  # characters from which a value counts by its looks alone
FAIRLY_LONG = 12  # where a name or a noun tells of a secret
SHORTEST = 3  # of anything that syntax marks as a password
SHORTEST_CHOSEN = 4
SHORTEST_QUOTED = 6
SHORTEST_BARE = 8
UUID = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
HEX = "[0-9a-f]{7,80}"
NUMBER = "[0-9][0-9:.,/TZ+-]{0,40}(?:ms|s|m|h|d|kb|mb|gb|k|%)?"
_OUR_ID = "(?:ses|pln|op|wh|mx|apr|iss|ise|lse|lea|cmp|mil|evt|req)_[0-9a-f]{6,64}|(?:dep|apr)-[0-9a-f]{1,64}"
_WORDISH = (
    "_?[A-Za-z]?[a-z]{0,24}(?:[A-Z]{1,5}[a-z]{2,24}){0,8}[A-Z]{0,4}[0-9]{0,4}|[A-Z]{1,24}[0-9]{0,4}"
    "|[0-9]{1,6}|v?[0-9]{1,4}[a-z]{0,2}"
)
_JOINT = r"[-_./:@+=~|%,;#?& ]"
_TECHNICAL = (
    "(?i:(?:sha|md|aes|rsa|utf|base|oauth|pbkdf|argon|hs|rs|es|ps|x|k|s|v|ec|p|http|tls|ssl|ipv|ed|id|arm|amd|i)"
    "-?[0-9]{1,5}(?:[-_.][a-z0-9_.-]{1,30}|s)?)"
)
_DASHED_ID = "[A-Za-z]{1,20}(?:[-_.][a-z]{1,20}){0,4}[-_#][0-9]{1,6}"
_SWITCH = "[a-z][A-Z]|[A-Z]{2}[a-z]|[a-z][0-9]|[0-9][A-Za-z]|[A-Z][0-9]"


def words(text: str) -> bool:
    """Whether the text is words, names and small numbers, however joined."""
    return all(matches(_WORDISH, piece) for piece in compiled(_JOINT).split(text))


def is_random(text: str, least: int = LONG) -> bool:
    """Whether the text is at least so long and looks drawn, not written."""
    if len(text) < least or matches(_OUR_ID, text) or not matches(r"[A-Za-z0-9_+/=.~:|%,;@!*-]+", text):
        return False
    return any(_drawn(piece, least) for piece in compiled("[^A-Za-z0-9]").split(text))


def _drawn(piece: str, least: int) -> bool:
    if len(piece) < min(least, 8) or piece.isdigit() or matches(_WORDISH, piece):
        return False
    return len(compiled(_SWITCH).findall(piece)) >= (1 if least < LONG else 2)


def chosen(text: str) -> bool:
    """Whether a person would choose the text as a password, and would not write it in a sentence."""
    if len(text) < SHORTEST_CHOSEN or matches(f"{_OUR_ID}|{NUMBER}|{_TECHNICAL}|{_DASHED_ID}|{UUID}", text):
        return False
    letters = compiled("[A-Za-z]").search(text)
    if letters and (compiled("[0-9]").search(text) or compiled("[!@#$%^&*+=?~|](?!$)").search(text)):
        return True
    return len(text) >= SHORTEST_QUOTED and compiled("[a-z][A-Z]").search(text) is not None and not words(text)


_PLACEHOLDER = (
    r"\$[A-Za-z_]\w*(?:/.*)?|\$[{(].*|\{\{.*|\{[A-Za-z_]?[\w.!:\[\]'\"]*\}|%\(?\w*\)?[sdr]|%[A-Z_]{2,40}%|<.*|\[(?!REDACTED:).*|[({].*"
    r"|[*xX•.…_#?/~-]+|#[0-9a-fA-F]{3,8}|!\w+.*|[@#]\{.*|(?:your|insert|enter|replace|put)[-_ ].*"
    r"|(?:my|the|an?|some)[-_ ][-_ a-z]{3,60}"
    r"|[^%{$]{0,40}(?:%[sdr]|%[0-9]?\.[0-9]?[fsdr]|\{\w{0,20}\}|\$\{\w{1,40}\}|\#\{).*"
    r"|arn:aws.*|(?:ref\+|op|vault|ssm|sm|env|file|secret|keychain|awsssm|gcpsm|https?|s3|gs)://?.*"
    r"|(?:vault|env|file|ssm|keychain|keyring|secretref|secretsmanager):.*|\\?[\"'`]{1,3}\\?|[|>&+,;:=/\\!-]+"
)


def placeholder(text: str, *, guessed: bool = False) -> bool:
    """Whether the text stands for a value that is elsewhere, hidden or yet to come, or says that there is none.

    With `guessed`, the words that people do use as passwords are values.
    """
    bare = text.strip("\"'`.,;:!?)(<>[]{}*").lower()
    if guessed and bare in GUESSED:
        return False
    return not bare or bare in STATES or matches(f"(?s:{_PLACEHOLDER})|{_OUR_ID}", text)


_CODE = (
    r"[A-Za-z_][\w.$:]*[(\[{].*|(?:await|new|return|lambda|not|function|typeof)\b.*"
    r"|&?[A-Za-z_]\w*(?:(?:\.|::|->|\?\.)[A-Za-z_]\w*)+[;,)]*|[A-Za-z_]\w*(?:\?|\[\]|\|.*)|[fFrRbBuU]{0,2}[\"'].*|=>.*|\w+\)+.*"
)
_PATH = (
    r"(?:~|\.{1,2}|[A-Za-z]:)?[/\\](?:[\w.@+-]{1,60}[/\\]){0,12}[\w.@+-]{0,60}|[\w.-]{1,40}(?:/[\w.-]{1,40}){1,8}"
    r"|[\w.-]{1,60}\.(?:py|js|ts|go|rs|sh|json|ya?ml|toml|env|pem|key|txt|md|cfg|ini|conf|log|crt|pub|gpg|enc|lock|html?|sql|db)"
)
_TELLING_NAME = "(?i:pass(?:word|wd|phrase)?|pwd|secret|token|key|cred(?:ential)?s?|auth)"


def reference(text: str) -> bool:
    """Whether unquoted text is code, a path, or the name of another variable."""
    if matches(f"(?s:{_CODE})", text) and (
        not is_random(text) or text.endswith(("Key", "Keys", "Token", "Secret", "Password"))
    ):
        return True
    return is_path(text) or _is_name(text)


def is_path(text: str) -> bool:
    """Whether the text is a path made of words."""
    return matches(_PATH, text) and (words(text) or text[0] in "~.") and not is_random(text)


def _is_name(text: str) -> bool:
    return matches(r"[A-Za-z_][\w-]{0,60}", text) and words(text) and compiled(_TELLING_NAME).search(text) is not None


_CHOSEN_NAME = (
    ".*(?:password|passwd|passphrase|passcode|passwort|kennwort|contrase[nñ]a)s?"
    "|(?:[a-z]{0,12}pwd|pw|(?!comp|byp|tresp|overp|surp)[a-z]{0,8}pass|psk)"
)
_MINTED_NAME = (
    "secrets?|.*(?:secret|token|apikey|accesskey|secretkey|privatekey|authkey)|credentials?|creds?|jwt|sas|bearer|dsn"
)


def name_class(name: str) -> str:
    """What the words of a name promise: `password`, `secret`, `weak` (only a random value counts) or nothing."""
    parts = [part.lower() for part in compiled("[A-Z]+(?![a-z])|[A-Z]?[a-zñ]+|[0-9]+").findall(name)]
    while parts and parts[-1].isdigit():
        parts.pop()
    if not parts:
        return ""
    password = any(matches(_CHOSEN_NAME, part) for part in parts)
    secret = any(matches(_MINTED_NAME, part) for part in parts) or any(map(_is_key_of, parts, parts[1:]))
    if parts[-1] in TELLING_ABOUT or parts[0] in {"max", "min", "num", "total", "n"}:
        return "weak" if (password or secret) and parts[-1] in {"id", "hash"} else ""
    if password:
        return "password"
    if secret:
        return "secret"
    return "weak" if parts[-1] in WEAK_NAMES and NOT_KEYS.isdisjoint(parts) else ""


def _is_key_of(first: str, second: str) -> bool:
    return second == "key" and first in KEY_OF
