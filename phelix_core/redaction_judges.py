"""Whether what stands in a secret's place is one: the judgement behind each rule of the redactor.

A judge gets a match and answers with the secret's start and end, or None where the text is a placeholder, a
reference to a secret, a word about one, an id of ours, or code. All are pure and take time linear in the match.
"""

import re
from collections.abc import Callable
from functools import cache

from phelix_core.redaction_rules import STATES, Judge

Found = tuple[int, int] | None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _is(pattern: str, text: str) -> bool:
    return _compiled(pattern).fullmatch(text) is not None


# What a value looks like

_WORDISH = (
    r"[A-Za-z]?[a-z]*[0-9]{0,4}|[A-Z]{1,24}[0-9]{0,4}|[0-9]{1,6}|v?[0-9]{1,4}[a-z]{0,2}|(?:[A-Z]?[a-z]{2,16}){2,6}"
)
_SEPARATOR = r"[-_./:@+=~|%,;#?&]"
_OUR_IDS = r"(?:ses|pln|op|wh|mx|apr|iss|ise|lse|lea|cmp|mil|evt|req)_[0-9a-f]{6,64}|dep-[0-9a-f]{1,64}"
_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_NUMBERS = r"[0-9][0-9:.,/TZ+-]{0,40}(?:ms|s|m|h|d|kb|mb|gb|k|%)?"
_TECHNICAL = (
    r"(?i:(?:sha|md|aes|rsa|utf|utf-|base|oauth|pbkdf|argon|hs|rs|es|ps|x|k|s|v|ec|p|http|tls|ssl|ipv|ed|id|arm|amd|i)-?[0-9]{1,5}"
    r"(?:[-_.][a-z0-9_.-]{1,30}|s)?)"
)
_DASHED_ID = r"[A-Za-z]{1,20}(?:[-_.][a-z]{1,20}){0,4}[-_#][0-9]{1,6}"


def words(text: str) -> bool:
    """Whether the text is words, names or small numbers, however joined."""
    return all(_is(_WORDISH, piece) for piece in _compiled(_SEPARATOR).split(text))


def is_random(text: str, least: int = 16) -> bool:
    """Whether the text is long and looks drawn, not written."""
    if len(text) < least or _is(_OUR_IDS, text) or not _is(r"[A-Za-z0-9_+/=.~:|%,;@!*-]{1,8000}", text):
        return False
    return any(_drawn(piece, least) for piece in _compiled(r"[^A-Za-z0-9]").split(text[:400]))


def _drawn(piece: str, least: int) -> bool:
    if len(piece) < min(least, 8) or _is(_WORDISH, piece) or piece.isdigit():
        return False
    switches = len(_compiled(r"[a-z][A-Z]|[A-Z]{2}[a-z]|[a-z][0-9]|[0-9][A-Za-z]|[A-Z][0-9]").findall(piece))
    return switches >= (1 if least < 16 else 2)


def chosen(text: str) -> bool:
    """Whether a person would choose the text as a password and would not write it in a sentence."""
    if len(text) < 4 or _is(rf"{_OUR_IDS}|{_NUMBERS}|{_TECHNICAL}|{_DASHED_ID}|{_UUID}", text):
        return False
    letters, digits = _compiled(r"[A-Za-z]").search(text), _compiled(r"[0-9]").search(text)
    if letters and digits:
        return True
    if letters and _compiled(r"[!@#$%^&*+=?~|](?!$)").search(text):
        return True
    return len(text) > 5 and _compiled(r"[a-z][A-Z]").search(text) is not None and not words(text)


_PLACEHOLDER = (
    r"\$[A-Za-z_]\w*|\$\{.*|\$\(.*|\$\{\{.*|\{\{.*|\{[A-Za-z_]?[\w.!:\[\]'\"]*\}|%\(?\w*\)?[sdr]|%[A-Z_]{2,40}%|<.*|\[[A-Za-z_ .-]*\]?|\(.*"
    r"|[*xX•.…_#?-]+|!\w+.*|[@#]\{.*|#\{.*|~|(?:your|my|the|an?|some|insert|enter|replace|put)[-_ ].*|arn:aws.*|(?:ref\+|op|vault|ssm|sm|env|file|secret|keychain|awsssm|gcpsm|https?|s3|gs)://?.*"
    r"|(?:vault|env|file|ssm|keychain|keyring|secretref|secretsmanager):.*|\\?[\"'`]{1,3}\\?|[\[{(].*|[|>&+,;:=/\\!-]+"
)
_CODE = (
    r"[A-Za-z_][\w.$:]*[(\[{].*|(?:await|new|return|lambda|not|function|typeof)\b.*|&?[A-Za-z_]\w*(?:(?:\.|::|->|\?\.)[A-Za-z_]\w*)+[;,)]*"
    r"|[A-Za-z_]\w*\?|[A-Za-z_]\w*\[\]|[A-Za-z_]\w*\|.*|f?[rbu]?[\"'].*|=>.*|\w+\)+.*"
)
_PATH = r"(?:~|\.{1,2}|[A-Za-z]:)?[/\\](?:[\w.@+-]{0,60}[/\\]?){0,12}|[\w.-]{1,40}(?:/[\w.-]{1,40}){1,8}|[\w.-]{1,60}\.(?:py|js|ts|go|rs|sh|json|ya?ml|toml|env|pem|key|txt|md|cfg|ini|conf|log|crt|pub|gpg|enc|lock|html?|sql|db)"
_SECRET_NAME = r"(?i:pass(?:word|wd|phrase)?|pwd|secret|token|key|cred(?:ential)?s?|auth)"


def placeholder(text: str) -> bool:
    """Whether the text stands for a value that is elsewhere, hidden or yet to come, or says that there is none."""
    bare = text.strip("\"'`.,;:!?)(<>[]{}*").lower()
    return not bare or bare in STATES or _is(f"(?s:{_PLACEHOLDER})|{_OUR_IDS}", text)


def reference(text: str) -> bool:
    """Whether unquoted text is code, a path or the name of another variable."""
    if _is(f"(?s:{_CODE})", text) and not is_random(text):
        return True
    if _is(_PATH, text) and (words(text) or text[0] in "~.") and not is_random(text):
        return True
    return _is(r"[A-Za-z_][\w-]{0,60}", text) and words(text) and _compiled(_SECRET_NAME).search(text) is not None


# Where a value starts and ends


def trimmed(text: str, start: int, end: int) -> tuple[int, int, bool]:
    """The value without its quotes, or without what follows a bare one; and whether it was quoted."""
    while start < end and text[start] == "\\" and text[start + 1 : start + 2] in "\"'\\":
        start += 1
    quote = text[start : start + 1]
    if quote and quote in "\"'`" and end - start > 1 and text[end - 1] == quote:
        end -= 1
        while text[end - 1] == "\\" and end - 1 > start:
            end -= 1
        return start + 1, end, True
    if quote and quote in "\"'`":
        start += 1
    stop = _compiled(
        r"[&;,]\\?[\"']?[A-Za-z_][\w.-]{0,40}\\?[\"']?[=:]|\\[nrt]|\\?[\"'][,;:)}\]\s]|`|</|\\?[\"'](?=[^\w]{0,4}$)"
    )
    cut = stop.search(text, start, end)
    end = cut.start() if cut else end
    return start, _bare_end(text, start, end), False


def _bare_end(text: str, start: int, end: int) -> int:
    """Without closing punctuation that belongs to what is around the value."""
    while end > start:
        last = text[end - 1]
        opening = {")": "(", "]": "[", "}": "{", ">": "<"}.get(last)
        if last in ",;\"'.:\\" or (opening and opening not in text[start:end]) or text[start:end].endswith("**"):
            end -= 1
        else:
            break
    return end


# Names that tell of secrets

_PASSWORD_NAME = r".*(?:password|passwd|passphrase|passcode|passwort|kennwort|contrase[nñ]a)s?|(?:[a-z]{0,12}pwd|pw|[a-z]{0,8}pass|psk)"
_NOT_PASS = frozenset({"compass", "bypass", "trespass", "overpass", "surpass", "passwordless"})
_SECRET_WORD = (
    r"secrets?|.*(?:secret|token|apikey|accesskey|secretkey|privatekey|authkey)|credentials?|creds?|jwt|sas|bearer|dsn"
)
_KEY_OF = frozenset(
    "api access secret private auth account encryption encrypt signing sign master service app client admin deploy license"
    " storage shared subscription bot integration write rest server session consumer hmac aes rsa ssh ssl tls root token webhook"
    " ingest ingestion user security function host personal management provisioning cipher crypto wallet vault".split()
)
_ABOUT = frozenset(
    "file path url uri id ids name names count length len size type ttl expiry expires expiration expire limit budget usage used"
    " policy arn header prefix suffix field param env ref version at in on is has mode status state enabled required host endpoint"
    " format kind class index source location dir manager store provider scope scopes rotation age bucket label hint tokens"
    " tokenizer reset min max per num total cost rate window left remaining valid strength rules length algorithm alg method".split()
)
_WEAK_WORD = frozenset(
    "key auth authorization pin otp salt signature sig cookie webhook session sessionid sessid keys totp".split()
)
_NOT_KEY = frozenset(
    "public primary cache sort partition foreign idempotency dedup object row hash group map dict index lookup storage s3 column"
    " unique natural composite surrogate ssh-rsa hot short pub fingerprint message routing translation i18n config json search".split()
)


def name_class(name: str) -> str:
    """`password`, `secret`, `weak` (only a random value counts) or nothing, by the words of a name."""
    parts = _compiled(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+").findall(name)
    parts = [part.lower() for part in parts]
    while parts and parts[-1].isdigit():
        parts.pop()
    if not parts or parts[-1] in _ABOUT or parts[0] in {"max", "min", "num", "total", "n"}:
        return "weak" if parts and _mentions(parts) and parts[-1] in {"id", "hash"} else ""
    if any(part not in _NOT_PASS and _is(_PASSWORD_NAME, part) for part in parts):
        return "password"
    if any(_is(_SECRET_WORD, part) for part in parts) or _key_pair(parts):
        return "secret"
    if parts[-1] in _WEAK_WORD and not _NOT_KEY & set(parts):
        return "weak"
    return ""


def _mentions(parts: list[str]) -> bool:
    return any(_is(_SECRET_WORD, part) or _is(_PASSWORD_NAME, part) for part in parts)


def _key_pair(parts: list[str]) -> bool:
    return any(first in _KEY_OF and second == "key" for first, second in zip(parts, parts[1:], strict=False))


def _name_before(match: re.Match[str]) -> str:
    """The whole name of which the match starts with a word; of spaced names the word before as well."""
    text, start = match.string, match.start()
    left = max(0, start - 60)
    before = _compiled(r"[\w.-]{0,60}$").search(text, left, start)
    prefix = before[0] if before else ""
    end = match.start(2) if match.re.groups > 2 else match.end()
    name = prefix + text[start : match.end(1)] if match.re.groups > 1 else prefix + text[start:end]
    if not prefix and (word := _compiled(r"[A-Za-z]{2,20} $").search(text, max(0, start - 21), start)):
        name = word[0].strip() + "_" + name
    return name


# The judges


def _whole(match: re.Match[str]) -> tuple[int, int]:
    return match.span(1 if match.re.groups else 0)


def _any(match: re.Match[str]) -> Found:
    return _whole(match)


def _digit(match: re.Match[str]) -> Found:
    start, end = _whole(match)
    return (start, end) if _compiled(r"[0-9]").search(match.string, start + 2, end) else None


def _mixed(match: re.Match[str]) -> Found:
    start, end = _whole(match)
    has = (_compiled(shape).search(match.string, start + 1, end) for shape in ("[0-9]", "[a-z]", "[A-Z]"))
    return (start, end) if all(has) else None


def _random(match: re.Match[str]) -> Found:
    start, end = _whole(match)
    value = match.string[start:end]
    return (start, end) if is_random(value, 12) and not placeholder(value) else None


def _basic(match: re.Match[str]) -> Found:
    from binascii import Error, a2b_base64  # noqa: PLC0415 - most text holds no base64

    value = match[1].replace("-", "+").replace("_", "/")
    try:
        decoded = a2b_base64(value + "=" * (-len(value) % 4))
    except Error:
        return None
    return match.span(1) if b":" in decoded and decoded.isascii() else None


def _cookie(match: re.Match[str]) -> Found:
    for pair in match[1].split(";"):
        name, _, value = pair.strip().partition("=")
        told = _compiled(r"(?i:sess|auth|token|sid|jwt|csrf|xsrf|secret|remember)").search(name)
        if not placeholder(value) and (is_random(value, 12) or (told and len(value) > 5 and chosen(value))):
            start, end = match.span(1)
            return start, _bare_end(match.string, start, end)
    return None


def _header(match: re.Match[str]) -> Found:
    start, end, _ = trimmed(match.string, *match.span(1))
    value = match.string[start:end]
    if placeholder(value) or reference(value) or words(value):
        return None
    return start, end


def _quoted(match: re.Match[str]) -> Found:
    start, end = match.span(1)
    return None if placeholder(match[1]) or start == end else (start, end)


def _value(match: re.Match[str]) -> Found:
    kind = name_class(_name_before(match))
    if not kind:
        return None
    start, end, quoted = trimmed(match.string, *match.span(3))
    value = match.string[start:end]
    if len(value) < 3 or placeholder(value) or (not quoted and reference(value)):
        return None
    judged = {"password": _password_value, "secret": _secret_value, "weak": _weak_value}[kind]
    return (start, end) if judged(match, value, quoted) else None


def _environment_like(match: re.Match[str]) -> bool:
    """`NAME=value`, as in a shell or an .env file."""
    text = match.string
    return match[2] == "=" and text[match.start(2) - 1].isalnum() and not text[match.end(2)].isspace()


def _in_sentence(match: re.Match[str]) -> bool:
    """Whether more words follow the value on its line."""
    return _compiled(r"[.,;:]?[ \t]+[a-z]{2,}").match(match.string, match.end()) is not None


def _password_value(match: re.Match[str], value: str, quoted: bool) -> bool:  # noqa: FBT001 - one of three judges
    if quoted or _environment_like(match):
        return True
    if match[2] in {":", "->"} and _is(r"[A-Za-z]?[a-z]+(?:-[a-z]+)?", value):
        return not _in_sentence(match) and "\n" not in match[0]
    return not (_is(_NUMBERS, value) and _in_sentence(match)) and (chosen(value) or not _in_sentence(match))


def _secret_value(match: re.Match[str], value: str, quoted: bool) -> bool:  # noqa: FBT001 - one of three judges
    if _is(_NUMBERS, value) and len(value) < 8:
        return False
    if is_random(value, 12):
        return True
    name = match.string[match.start() : match.end(1)]
    if _environment_like(match) and name.isupper():
        return len(value) > 3
    if quoted:
        return len(value) > 5 and not words(value)
    return len(value) > 7 and chosen(value) and not words(value)


def _weak_value(match: re.Match[str], value: str, quoted: bool) -> bool:  # noqa: FBT001, ARG001 - one of three judges
    if _compiled(r"(?i:pin|otp|totp|passcode)").search(match[0]) and _is(r"[0-9]{4,8}", value):
        return True
    return is_random(value) and not _is(_UUID, value) and not _is(r"[0-9a-f]{7,12}|[0-9a-f]{40}|[0-9a-f]{64}", value)


def _prose(match: re.Match[str]) -> Found:
    start, end, quoted = trimmed(match.string, *match.span(1))
    value = match.string[start:end]
    if placeholder(value) or (not quoted and reference(value)):
        return None
    if _compiled(r"(?i:pass|pwd|pw|pin)").match(match[0]):
        told = chosen(value) or (quoted and len(value) > 3) or _is(r"(?!19|20)[0-9]{4,12}|[0-9]{5,12}", value)
    else:
        told = is_random(value, 12)
    return (start, end) if told else None


def _beside(match: re.Match[str]) -> Found:
    start, end, quoted = trimmed(match.string, *match.span(1))
    value = match.string[start:end]
    if placeholder(value) or (not quoted and reference(value)) or _is(rf"{_UUID}|[0-9a-f]{{7,64}}", value):
        return None
    if _compiled(r"(?i:passw|passphrase|pwd)").match(match[0]) and (quoted or chosen(value)):
        return (start, end) if not words(value) or _is(r"[a-z]+[0-9]+", value) else None
    return (start, end) if is_random(value) else None


def _option(match: re.Match[str]) -> Found:
    start, end, quoted = trimmed(match.string, *match.span(1))
    value = match.string[start:end]
    if placeholder(value) or value.startswith("-") or (not quoted and reference(value)):
        return None
    return (start, end) if quoted or chosen(value) or is_random(value) else None


_WEB = frozenset({"http", "https", "git", "ssh", "ftp", "git+https", "git+ssh", "ws", "wss", "sftp"})


def _userinfo(match: re.Match[str]) -> Found:
    scheme = match[0].partition("://")[0].lower()
    run = match[1][:-1]
    authority = _compiled(r"[^/?#]*").match(run)
    head = authority[0] if authority else ""
    if head != run:
        _, colon, port = head.partition(":")
        if "@" in head and (scheme in _WEB or "?" in run[len(head) :]):
            run = head[: head.rindex("@")]
        elif "@" not in head and (not colon or not port or port.isdigit() or head.startswith("[")):
            return None
    user, colon, password = run.partition(":")
    start = match.start(1)
    end = start + len(run)
    if not password:
        return (start, start + len(user)) if is_random(user) else None
    if placeholder(password):
        return None
    return (start if is_random(user) else start + len(user) + 1), end


JUDGES: dict[Judge, Callable[[re.Match[str]], Found]] = {
    Judge.ANY: _any,
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
