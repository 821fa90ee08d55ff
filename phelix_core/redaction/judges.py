"""Whether what stands in a secret's place is one, and where it starts and ends.

A judge gets a match and answers with the secret's start and end, or None where the text is a placeholder, a
reference to a secret, a word about one, an id of ours, or code. All are pure and linear in the match.
"""

import re
from collections.abc import Callable

from phelix_core.redaction.rules import Judge
from phelix_core.redaction.values import (
    FAIRLY_LONG,
    HEX,
    NUMBER,
    SHORTEST,
    SHORTEST_BARE,
    SHORTEST_CHOSEN,
    SHORTEST_QUOTED,
    UUID,
    chosen,
    compiled,
    is_path,
    is_random,
    matches,
    name_class,
    placeholder,
    reference,
    words,
)
from phelix_core.redaction.words import KEY_OF, SAME_NAME

Found = tuple[int, int] | None

_AFTER_BARE = (
    r"[&;,]\\?[\"']?[A-Za-z_][\w.-]{0,40}\\?[\"']?[=:]|\\[nrt]|\\?[\"'][,;:)}\]\s]|`|</|\\?[\"'](?=[^\w]{0,4}$)"
)
_JUDGED = 200
_OPENERS = {")": "(", "]": "[", "}": "{", ">": "<"}


def _trimmed(text: str, start: int, end: int) -> tuple[int, int, bool]:
    """The value without its quotes, or without what follows a bare one; and whether it was quoted."""
    while start < end and text[start] == "\\" and text[start + 1 : start + 2] in "\"'\\":
        start += 1
    quote = text[start : start + 1]
    if quote in "\"'`" and end - start > 1 and text[end - 1] == quote:
        end -= 1
        while end - 1 > start and text[end - 1] == "\\":
            end -= 1
        return start + 1, end, True
    start += quote in "\"'`"
    cut = compiled(_AFTER_BARE).search(text, start, end)
    return start, _bare_end(text, start, cut.start() if cut else end), False


def _bare_end(text: str, start: int, end: int) -> int:
    """Without the closing punctuation that belongs to what is around the value."""
    value = text[start:end]
    while value:
        opener = _OPENERS.get(value[-1])
        if value[-1] not in ",;\"'.:\\" and not (opener and opener not in value) and not value.endswith("**"):
            break
        value = value[:-1]
    return start + len(value)


def _sample(match: re.Match[str], start: int, end: int) -> str:
    """The part of a value that is judged: enough to tell, and the same work for any length."""
    return match.string[start : min(end, start + _JUDGED)]


# By shape


def _whole(match: re.Match[str]) -> tuple[int, int]:
    return match.span(1 if match.re.groups else 0)


def _digit(match: re.Match[str]) -> Found:
    start, end = _whole(match)
    return (start, end) if compiled("[0-9]").search(match.string, start + 2, end) else None


def _mixed(match: re.Match[str]) -> Found:
    start, end = _whole(match)
    has = (compiled(shape).search(match.string, start + 1, end) for shape in ("[0-9]", "[a-z]", "[A-Z]"))
    return (start, end) if all(has) else None


def _random(match: re.Match[str]) -> Found:
    start, end = _whole(match)
    value = _sample(match, start, end)
    return (start, end) if is_random(value, FAIRLY_LONG) and not placeholder(value) else None


def _basic(match: re.Match[str]) -> Found:
    from binascii import Error, a2b_base64  # noqa: PLC0415 - most text holds no base64

    value = match[1].replace("-", "+").replace("_", "/").rstrip("=")
    try:
        decoded = a2b_base64(value + "=" * (-len(value) % 4))
    except Error:
        return None
    return match.span(1) if b":" in decoded and decoded.isascii() else None


# By place


def _cookie(match: re.Match[str]) -> Found:
    for pair in match[1].split(";"):
        name, _, value = pair.strip().partition("=")
        told = compiled("(?i:sess|auth|token|sid|jwt|csrf|xsrf|secret|remember)").search(name)
        if not placeholder(value) and (
            is_random(value, FAIRLY_LONG) or (told and len(value) >= SHORTEST_QUOTED and chosen(value))
        ):
            return match.start(1), _bare_end(match.string, *match.span(1))
    return None


def _header(match: re.Match[str]) -> Found:
    start, end, _ = _trimmed(match.string, *match.span(1))
    value = _sample(match, start, end)
    return None if placeholder(value) or reference(value) or words(value) else (start, end)


def _quoted(match: re.Match[str]) -> Found:
    return None if placeholder(match[1], guessed=True) else match.span(1)


_WEB = frozenset({"http", "https", "git", "ssh", "ftp", "git+https", "git+ssh", "ws", "wss", "sftp"})


def _userinfo(match: re.Match[str]) -> Found:
    run = _userinfo_of(match[0].partition("://")[0].lower(), match[1][:-1])
    user, _, password = run.partition(":")
    start = match.start(1)
    if not password:
        return (start, start + len(user)) if is_random(user) else None
    if placeholder(password, guessed=True):
        return None
    return (start if is_random(user) else start + len(user) + 1), start + len(run)


def _userinfo_of(scheme: str, run: str) -> str:
    """The part before the host. `run` ends before the last `@`, which may stand in a path or a query instead."""
    head = compiled("[^/?]*").match(run)
    authority = head[0] if head else ""
    if authority == run:
        return run
    if "@" in authority:
        in_web = scheme in _WEB or "?" in run[len(authority) :]
        return authority[: authority.rindex("@")] if in_web else run
    _, _, port = authority.partition(":")
    return "" if not port or port.isdigit() or authority.startswith("[") else run


# By name


def _value(match: re.Match[str]) -> Found:
    kind = name_class(_full_name(match))
    if not kind or _is_role(match):
        return None
    start, end, quoted = _trimmed(match.string, *match.span(3))
    value = _sample(match, start, end)
    ended = match.string[end : end + 1] == ";" and _environment_like(match)
    guessed = kind == "password" and (quoted or ended)
    if len(value) < SHORTEST or placeholder(value, guessed=guessed) or is_path(value):
        return None
    if not quoted and not guessed and reference(value):
        return None
    if match[2] == "," and (_tail(match) or not (is_random(value, SHORTEST_BARE) or chosen(value))):
        return None
    return (start, end) if _NAMED[kind](match, value, quoted) else None


def _full_name(match: re.Match[str]) -> str:
    """The whole name of which the match starts with a word; of a name with spaces, the word before as well."""
    text, start = match.string, match.start()
    before = compiled(r"[\w.-]*").match(text[max(0, start - 60) : start][::-1])
    prefix = before[0][::-1] if before else ""
    name = prefix + text[start : match.end(1)]
    if prefix:
        return name
    word = compiled("[A-Za-z]{2,20} $").search(text, max(0, start - 21), start)
    return word[0].strip() + "_" + name if word else name


def _is_role(match: re.Match[str]) -> bool:
    """A colon with space before it and none after, as in a role of reStructuredText."""
    text = match.string
    return match[2] == ":" and text[match.start(2) - 1].isspace() and not text[match.end(2)].isspace()


def _environment_like(match: re.Match[str]) -> bool:
    """`NAME=value`, as in a shell, a connection string or a query."""
    text = match.string
    return match[2] == "=" and text[match.start(2) - 1].isalnum() and not text[match.end(2)].isspace()


def _goes_on(match: re.Match[str]) -> bool:
    """Whether more words, or another assignment, follow the value on its line."""
    return compiled(r"[.,;:]?[ \t]{1,8}(?:[A-Za-z]{2,}|[=|+%][^=])").match(match.string, match.end()) is not None


def _tail(match: re.Match[str]) -> bool:
    """Whether the name goes on after the telling word to name something else, as in `password_manager`."""
    tail = match[1].strip("_-.0123456789").lower()
    return bool(tail) and tail not in SAME_NAME


def _echoes(name: str, value: str) -> bool:
    """Whether the value says its own name, as a label or a constant does; a short one may well be a password."""
    if not matches(f"[A-Za-z_-]{{{len('password') + 1},}}", value):
        return False
    return compiled("[_-]").sub("", value).lower() in compiled("[_.-]").sub("", name).lower()


def _stands_alone(match: re.Match[str]) -> bool:
    """Whether a name and its one-word value are a line of their own, or end one after a colon."""
    text = match.string
    line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
    tied = match[2] in {":", "->"} or matches(r"[ \t>#*-]{0,16}(?:export )?[\w-]{0,60}", line)
    return tied and not _goes_on(match) and "\n" not in match[0]


def _password_value(match: re.Match[str], value: str, quoted: bool) -> bool:  # noqa: FBT001 - a row of _NAMED
    if quoted:
        name = _full_name(match)
        return not _echoes(name, value) and (" " not in value or len(name) > len("pass"))
    if _tail(match) and not chosen(value):
        return False
    if _environment_like(match):
        return True
    if matches("[a-z]+(?:_[a-z]+)+", value):
        return False
    if matches("[A-Za-z]?[a-z]+(?:-[a-z]+)?", value):
        return _stands_alone(match)
    return chosen(value) or not _goes_on(match)


def _secret_value(match: re.Match[str], value: str, quoted: bool) -> bool:  # noqa: FBT001 - a row of _NAMED
    if matches(NUMBER, value) and len(value) < SHORTEST_BARE:
        return False
    if is_random(value, FAIRLY_LONG):
        return True
    if _environment_like(match) and (match.string[match.start() : match.end(1)].isupper() or chosen(value)):
        return len(value) >= SHORTEST_CHOSEN
    if quoted:
        return len(value) >= SHORTEST_QUOTED and " " not in value and (chosen(value) or not words(value))
    return len(value) >= SHORTEST_BARE and chosen(value) and compiled("[0-9]").search(value) is not None


def _weak_value(match: re.Match[str], value: str, quoted: bool) -> bool:  # noqa: FBT001 - a row of _NAMED
    del quoted  # quotes make no weak name stronger
    if compiled("(?i:pin|otp|passcode)").match(match[0]) and matches("[0-9]{4,8}", value):
        return True
    alone = _full_name(match).lower() in {"key", "keys", "signature", "sig", "session", "auth"}
    return is_random(value) and not (alone and matches(HEX, compiled("[-_.:/]").sub("", value)))


_NAMED = {"password": _password_value, "secret": _secret_value, "weak": _weak_value}


# In sentences and commands

_PASSWORD_NOUNS = frozenset({"password", "passwort", "passwd", "passphrase", "passcode", "pwd", "pass", "pw", "pin"})


def _said(match: re.Match[str]) -> tuple[int, int, bool] | None:
    """The value of a noun and whether it is quoted, unless it cannot be one."""
    start, end, quoted = _trimmed(match.string, *match.span(match.re.groups))
    value = _sample(match, start, end)
    return None if placeholder(value) or (not quoted and reference(value)) else (start, end, quoted)


def _noun_stands(match: re.Match[str]) -> bool:
    """Whether the noun is a word or part of a name, and not the end of another word, as in `monkey`."""
    before = match.string[max(0, match.start() - 1) : match.start()]
    return not before.isalpha() or len(match[1]) > len("token") or match[1][0].isupper()


def _prose(match: re.Match[str]) -> Found:
    said = _said(match) if _noun_stands(match) else None
    if said is None or matches("(?is:(?:pass|pin)s?[ \\t]+(?:to|from)[ \\t].*)", match[0]):  # verbs there
        return None
    start, end, quoted = said
    value = _sample(match, start, end)
    if match[1].lower() not in _PASSWORD_NOUNS:
        return (start, end) if is_random(value, FAIRLY_LONG) else None
    in_quotes = quoted and match.string[start - 1] != "`" and len(value) >= SHORTEST_CHOSEN
    told = in_quotes or chosen(value) or matches("(?!19|20)[0-9]{4,12}|[0-9]{5,12}", value)
    return (start, end) if told else None


def _beside(match: re.Match[str]) -> Found:
    said = _said(match) if _noun_stands(match) else None
    if said is None:
        return None
    start, end, _ = said
    value, noun = _sample(match, start, end), match[1]
    if noun.lower() in _PASSWORD_NOUNS and len(noun) > len("pass") and chosen(value):
        return (start, end) if not words(value) or matches("[a-z]+[0-9]+", value) else None
    if noun == "key" and matches(f"{UUID}|{HEX}", value):
        before = compiled("([A-Za-z]+)[ _-]?$").search(match.string, max(0, match.start() - 20), match.start())
        if not before or before[1].lower() not in KEY_OF:
            return None
    return (start, end) if is_random(value) else None


def _option(match: re.Match[str]) -> Found:
    said = _said(match)
    if said is None or match.string[said[0]] == "-":
        return None
    start, end, quoted = said
    value = _sample(match, start, end)
    return (start, end) if quoted or chosen(value) or is_random(value) else None


JUDGES: dict[Judge, Callable[[re.Match[str]], Found]] = {
    Judge.ANY: _whole,
    Judge.DIGIT: _digit,
    Judge.MIXED: _mixed,
    Judge.RANDOM: _random,
    Judge.BASIC: _basic,
    Judge.COOKIE: _cookie,
    Judge.HEADER: _header,
    Judge.QUOTED: _quoted,
    Judge.VALUE: _value,
    Judge.PROSE: _prose,
    Judge.BESIDE: _beside,
    Judge.USERINFO: _userinfo,
    Judge.OPTION: _option,
}
