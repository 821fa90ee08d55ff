"""Secrets told by their place: after a name, in a header, a URL, a command, a sentence.

Data only, nothing is compiled here. In a scanned text NUL stands for what is redacted already. The groups of a
rule judged by `VALUE` are the rest of the name, the separator and the value; of `PROSE` and `BESIDE`, the noun and
the value.
"""

from phelix_core.redaction.rules import Edge, Judge, Rule

NONE = Edge.NONE
_GAP = r"[ \t]{0,40}"
_SPACE = r"[ \t]{1,4}"
_QUOTES = r"\\{0,3}[\"'`]?"
_QUOTED = (
    r'\\{1,3}"(?:[^"\\\n\0]|\\[^"\n\0]){1,400}\\{1,3}"|"(?:[^"\\\n\0]|\\[^\n\0]){1,400}"'
    r"|\\{1,3}'(?:[^'\\\n\0]|\\[^'\n\0]){1,400}\\{1,3}'|'(?:[^'\\\n\0]|\\[^\n\0]){1,400}'"
    r"|`[^`\n\0]{1,400}`"
)
_VALUE = rf"({_QUOTED}|[^\s\0]{{1,400}})"
_SECRETS = ("pass", "pwd", "pw", "secret", "token", "cred", "key", "auth")
_NAMES = (
    "pass(?:w(?:or[dt]|d)|phrase|code)?|pwd|pw|psk|secret|token|cred(?:ential)?|key|auth|pin|otp|sas|salt|signature|sig|jwt"
    "|cookie|bearer|webhook|dsn|contrase(?:n|ñ)a|kennwort|session|sessid"
)
_NAMED = (
    *("pass", "pwd", "pw", "psk", "secret", "token", "cred", "key", "auth", "pin", "otp", "sas", "salt", "sig", "jwt"),
    *("cookie", "bearer", "webhook", "dsn", "contrase", "kennwort", "sess"),
)
_SPACED = (
    *("password ", "passwords ", "passwort ", "passwd ", "passphrase ", "passcode ", "pass ", "pwd ", "pw ", "pin "),
    *(
        "secret ",
        "secrets ",
        "token ",
        "tokens ",
        "credential ",
        "credentials ",
        "key ",
        "keys ",
        "access ",
        "private ",
    ),
)
_NOUNS = "passw(?:or[dt]|d)|passphrase|passcode|pass|pwd|pw|pin|secret|token|credential|key"
_OPTION = (
    "pass(?:word|wd|phrase|code)?|pwd|token|secret|api-?key|(?:access|secret|private|auth|account)-?key|credential|psk"
)
_PARTS = r'(?:[\w-]{2,24}=(?:"[^"\n\0]{0,300}"|[^\s,"\0]{1,300})[ \t]{0,2},?[ \t]{0,2}){1,12}'
_OF_WHAT = r"(?:[ \t]{1,3}(?:(?:for|of|on|in|at|to|from|as|the|our|my|a|an|this)[ \t]{1,3}){1,2}[\w.@/'-]{1,40})"
_VERBS = "is|was|are|to|becomes|became|from|equals|now|reads"
_CLIENTS = (
    "mysql(?:dump|admin)?|mariadb(?:-dump)?|sshpass|redis-cli|(?:docker|podman|helm)[ \t](?:registry[ \t])?login"
    "|ldap[a-z]{3,8}|mongo(?:sh|dump|restore)?|(?i:psexec(?:64)?(?:\\.exe)?)"
)

PLACES: tuple[Rule, ...] = (
    # URLs and headers
    Rule(
        "url-password", ("://",), r"[A-Za-z][A-Za-z0-9+.-]{1,24}://([^\s\"`<>\0]{1,400}@)", NONE, Judge.USERINFO, ("@",)
    ),
    Rule("basic-auth", ("basic",), r"(?i:basic)[ \t]{1,4}([A-Za-z0-9+/_-]{6,400}={0,2})", NONE, Judge.BASIC),
    Rule(
        "docker-auth",
        ("auth",),
        rf'auth\\{{0,3}}"{_GAP}:{_GAP}\\{{0,3}}"([A-Za-z0-9+/]{{6,400}}={{0,2}})',
        NONE,
        Judge.BASIC,
    ),
    Rule(
        "bearer-token",
        ("bearer",),
        r"(?i:bearer)(?:[ \t]{0,4}[:=])?[ \t\r\n]{1,4}[\"'`]?([A-Za-z0-9_.~+/=|:-]{8,2000})",
        NONE,
        Judge.RANDOM,
    ),
    Rule(
        "authorization",
        ("authorization",),
        rf"(?i:authorization)\\{{0,3}}[\"'`\]]{{0,2}}{_GAP}[:=]{_GAP}{_QUOTES}[A-Za-z][\w-]{{1,24}}{_SPACE}({_PARTS})",
        NONE,
    ),
    Rule(
        "authorization",
        ("authorization",),
        rf"(?i:authorization)\\{{0,3}}[\"'`\]]{{0,2}}{_GAP}[:=][ \t\r\n]{{0,8}}{_QUOTES}"
        r"(?:[A-Za-z][\w-]{1,24}[ \t\r\n]{1,4})?([^\s\"'`\\\0]{3,2000})",
        NONE,
        Judge.HEADER,
    ),
    Rule(
        "cookie",
        ("cookie",),
        r"(?i:cookie2?)[\"'`\]]{0,2}[ \t]{0,4}[:=][ \t]{0,4}[\"'`]?"
        r"((?:[^\s=;,\"'\0]{1,100}=[^\s;\"'\0]{0,2000}"
        r"(?:;[ \t]{0,2}(?:(?i:httponly|secure|partitioned)(?:;[ \t]{0,2})?)?)?){1,40})",
        NONE,
        Judge.COOKIE,
    ),
    Rule(
        "session-cookie",
        ("sess", "sid"),
        r"(?i:sess(?:ion)?(?:[_-]?id)?|connect\.sid|sid)=([A-Za-z0-9%_.~+/:=-]{12,2000})",
        NONE,
        Judge.RANDOM,
    ),
    # Files and languages
    Rule(
        "xml-value",
        _SECRETS,
        r"<(?:[\w.-]{1,20}:)?[\w.-]{0,24}(?i:pass(?:word|wd|phrase)?|pwd|secret|token|api[_-]?key|credential)[\w.-]{0,16}"
        r"(?:[ \t][^<>\0]{0,80})?>([^<>\s\0]{3,400})</",
        NONE,
        Judge.QUOTED,
        ("</",),
    ),
    Rule(
        "netrc-password",
        ("password", "passwd"),
        r"(?:login|account)[ \t\n]{1,8}[^\s\0]{1,100}[ \t\n]{1,8}passw(?:or)?d[ \t\n]{1,8}([^\s\0]{1,400})",
        NONE,
        Judge.QUOTED,
        ("login", "account"),
    ),
    Rule(
        "pgpass-password",
        (":5432:", ":5433:", ":6432:", ":*:"),
        r"[\w.*-]{1,80}:(?:[0-9]{4,5}|\*):[\w.*-]{1,64}:[\w.*@-]{1,64}:([^\s\0]{1,200})",
        NONE,
        Judge.QUOTED,
    ),
    Rule(
        "sql-password",
        ("identified", "password"),
        r"(?i:identified[ \t]{1,4}(?:with[ \t]{1,4}[\w\"']{1,40}[ \t]{1,4})?(?:by|as)(?:[ \t]{1,4}password)?"
        r"|(?:with|set|encrypted|user|role)[ \t]{1,4}(?:encrypted[ \t]{1,4})?password|=[ \t]{0,4}password\()"
        r"[ \t]{0,4}'([^'\n\0]{1,200})'",
        NONE,
        Judge.QUOTED,
        ("'",),
    ),
    Rule(
        "connection-password",
        ("jdbc:oracle",),
        r"jdbc:oracle:[a-z]{3,5}:[\w.$-]{1,64}/([^\s@\0]{1,200})@",
        NONE,
        Judge.QUOTED,
    ),
    Rule(
        "powershell-secret",
        ("convertto-securestring",),
        r"(?i:convertto-securestring)[ \t]{1,4}(?:-(?i:string)[ \t]{1,4})?[\"']([^\"'\n\0]{3,200})[\"']",
        NONE,
        Judge.QUOTED,
    ),
    # Commands
    Rule(
        "cli-password",
        ("curl", "wget", "http", "ldap", "smbclient"),
        r"(?:^|[ \t])(?:-u|-U|--user|--proxy-user|-a|--auth)[ \t=]{0,4}[\"']?[^\s:\"'\0]{1,80}:([^\s\"'\0]{1,200})",
        NONE,
        Judge.QUOTED,
        (" -u", " --user", " --proxy-user", " -a", " --auth"),
    ),
    Rule(
        "cli-password",
        ("mysql", "mariadb", "sshpass", "redis-cli", "docker", "podman", "helm", "ldap", "mongo", "psexec"),
        rf"(?:{_CLIENTS})\b(?:[ \t]{{1,4}}[^\s\0]{{1,80}}){{0,8}}?"
        rf"[ \t]{{1,4}}-(?:p|a|w)[ \t]?[\"']?([^\s\"'\0-][^\s\"'\0]{{2,200}})",
        NONE,
        Judge.OPTION,
        (" -p", " -a", " -w"),
    ),
    Rule(
        "cli-password",
        _SECRETS,
        rf"--?(?:[a-z0-9]{{1,20}}[_-]){{0,3}}(?i:{_OPTION})(?:-(?:id|key|base))?[ \t]{{1,4}}{_VALUE}",
        NONE,
        Judge.OPTION,
        ("--", " -"),
    ),
    # Names and nouns
    Rule(
        "assigned-secret",
        _NAMED,
        rf"(?i:{_NAMES})([\w.-]{{0,40}})\\{{0,3}}[\"'`*]{{0,3}}[\])]?(?:[ \t]\([^()\n\0]{{1,40}}\))?"
        rf"(?:[ \t]?:[ \t]{{0,4}}&?[A-Za-z_][\w.\[\]<>|]{{0,40}}[ \t]{{1,4}}(?==))?{_GAP}"
        rf"(:=|=>|->|={{1,3}}|!=|:[*]{{0,2}}|[?]=)(?:[ \t]{{0,8}}|[ \t]?[|>][+-]?\n[ \t]{{1,16}}|\r?\n[ \t]{{0,8}})"
        rf"{_VALUE}",
        NONE,
        Judge.VALUE,
        (":", "=", "->"),
    ),
    Rule(
        "argument-secret",
        _NAMED,
        rf"(?i:{_NAMES})([\w.-]{{0,40}})\\{{0,3}}[\"'][ \t]{{0,8}}(,)[ \t]{{0,8}}[\"']?({_QUOTED})",
        NONE,
        Judge.VALUE,
        ("',", '",', "' ,", '" ,'),
    ),
    Rule(
        "prose-secret",
        _SECRETS,
        rf"(?i:({_NOUNS})s?)"
        rf"(?:{_OF_WHAT}{{1,2}}:|{_OF_WHAT}{{0,2}}{_SPACE}(?i:{_VERBS})"
        rf"(?:{_SPACE}(?i:now|still|currently|just|set[ \t]to|probably|simply))?(?:[ \t]{{0,2}}:)?){_SPACE}{_VALUE}",
        NONE,
        Judge.PROSE,
        (" is", " was", " are", " to", " bec", " from", " equals", " now", " reads", ":"),
    ),
    Rule(
        "prose-secret",
        _SPACED,
        rf"(?i:({_NOUNS}|access|private)s?)[ \t]{{1,8}}{_VALUE}",
        NONE,
        Judge.BESIDE,
        tuple("0123456789!@#$%^&*+?~|"),
    ),
)
