"""Synthetic secrets in the places where people put them, the same ones in every run.

No secret stands in the repository: a shape such as `ghp_<W36>` is filled from a seeded generator when it is asked for.
`<W36>` is 36 letters and digits, `<H40>` hexadecimal, `<D10>` digits, `<A16>` upper case and digits, `<L8>` lower
case and digits, `<U35>` URL-safe base64, `<B86>` base64, `<S8>` lower-case letters, `<ID>` a UUID.
"""

import base64
import random
import re
import string
from collections.abc import Callable, Iterator
from typing import NamedTuple

LEAK = 8  # so many characters of a secret in a row are a leak (all of a shorter one)
_ALPHABETS = {
    "W": string.ascii_letters + string.digits,
    "H": "0123456789abcdef",
    "D": "123456789",
    "A": string.ascii_uppercase + string.digits,
    "L": string.ascii_lowercase + string.digits,
    "S": string.ascii_lowercase,
    "U": string.ascii_letters + string.digits + "_-",
    "B": string.ascii_letters + string.digits + "+/",
}


class Planted(NamedTuple):
    """One text with one secret in it."""

    kind: str
    place: str
    text: str
    secret: str


TOKENS = {
    "github": ("ghp_<W36>", "gho_<W36>", "ghu_<W36>", "ghs_<W36>", "ghr_<W36>"),
    "github-fine-grained": ("github_pat_<W22>_<W59>",),
    "gitlab": ("glpat-<U20>", "gldt-<U20>", "glptt-<H40>", "glrt-<U20>", "glcbt-<H2>_<U20>"),
    "gitlab-runner": ("GR1348941<U20>",),
    "bitbucket": ("ATBB<W32>",),
    "atlassian": ("ATATT3xFfGF0<U160>=<A8>", "ATCTT3xFfGN0<U160>=<A8>"),
    "trello": ("ATTA<H64>",),
    "npm": ("npm_<W36>",),
    "pypi": ("pypi-AgEIcHlwaS5vcmc<U120>",),
    "rubygems": ("rubygems_<H48>",),
    "crates": ("cio<W32>",),
    "nuget": ("oy2<L43>",),
    "clojars": ("CLOJARS_<L60>",),
    "packagist": ("packagist_uut_<H68>",),
    "docker": ("dckr_pat_<U27>", "dckr_oat_<U32>"),
    "jfrog": ("AKCp<W69>", "cmVmd<W59>"),
    "buildkite": ("bkua_<H40>",),
    "circleci": ("CCIPAT_<W22>_<H40>",),
    "sonar": ("sqp_<H40>", "squ_<H40>"),
    "harness": ("pat.<U22>.<H24>.<W20>",),
    "octopus": ("API-<A26>",),
    "sourcegraph": ("sgp_<H16>_<H40>", "sgp_<H40>"),
    "launchdarkly": ("sdk-<ID>", "api-<ID>"),
    "prefect": ("pnu_<W36>",),
    "pulumi": ("pul-<H40>",),
    "postman": ("PMAK-<H24>-<H34>",),
    "readme": ("rdme_<L70>",),
    "anthropic": ("sk-ant-api03-<U93>AA", "sk-ant-admin01-<U93>AA", "sk-ant-oat01-<U86>-<U6>AA"),
    "openai": ("sk-proj-<U74>T3BlbkFJ<U74>", "sk-<W20>T3BlbkFJ<W20>", "sk-svcacct-<U74>T3BlbkFJ<U74>", "sk-<W48>"),
    "openrouter": ("sk-or-v1-<H64>",),
    "deepseek": ("sk-<H32>",),
    "langfuse": ("sk-lf-<ID>",),
    "huggingface": ("hf_<W34>", "api_org_<W34>"),
    "replicate": ("r8_<W37>",),
    "groq": ("gsk_<W52>",),
    "xai": ("xai-<W80>",),
    "perplexity": ("pplx-<W48>",),
    "cerebras": ("csk-<L48>",),
    "nvidia": ("nvapi-<U64>",),
    "langsmith": ("lsv2_pt_<H32>_<H10>",),
    "fireworks": ("fw_<W24>",),
    "tavily": ("tvly-dev-<W32>",),
    "firecrawl": ("fc-<H32>",),
    "elevenlabs": ("sk_<H48>",),
    "jina": ("jina_<U60>",),
    "pinecone": ("pcsk_<W6>_<W58>",),
    "aws-access-key": ("AKIA<A16>", "ASIA<A16>"),
    "aws-session": ("IQoJb3JpZ2lu<B200>==",),
    "aws-bedrock": ("ABSK<B128>==",),
    "aws-mws": ("amzn.mws.<ID>",),
    "google-api": ("AIza<U35>",),
    "google-oauth": ("ya29.<U68>", "ya29.a0<U120>"),
    "google-oauth-secret": ("GOCSPX-<U28>",),
    "google-refresh": ("1//0<D1><U60>",),
    "firebase": ("AAAA<U7>:APA91b<U134>",),
    "azure-client": ("<W3>8Q~<W34>",),
    "azure-service": ("<W42>AzSe<W6>", "<W76>ACDb<W6>=="),
    "digitalocean": ("dop_v1_<H64>", "doo_v1_<H64>"),
    "scaleway": ("SCW<A17>",),
    "fly": ("fo1_<U43>", "fm2_<B120>"),
    "heroku": ("HRKU-AA<U58>",),
    "netlify": ("nfp_<W36>",),
    "vercel": ("vcp_<W56>",),
    "cloudflare": ("v1.0-<H24>-<H146>", "cfut_<U48>"),
    "supabase": ("sbp_<H40>", "sb_secret_<U22>_<W8>"),
    "planetscale": ("pscale_tkn_<U43>", "pscale_pw_<U43>"),
    "neon": ("napi_<L64>",),
    "render": ("rnd_<W28>",),
    "alibaba": ("LTAI5t<W18>",),
    "tencent": ("AKID<W32>",),
    "yandex": ("AQVN<U36>",),
    "databricks": ("dapi<H32>", "dapi<H32>-2"),
    "tailscale": ("tskey-auth-<W12>CNTRL-<W32>", "tskey-api-<W12>CNTRL-<W32>"),
    "openshift": ("sha256~<U43>",),
    "rancher": ("token-<L5>:<L54>",),
    "vault": ("hvs.<U24>", "hvb.<U96>", "s.<W24>"),
    "terraform": ("<W14>.atlasv1.<U67>",),
    "doppler": ("dp.pt.<W43>", "dp.st.prd.<W43>"),
    "infisical": ("st.<H24>.<H32>.<H32>",),
    "onepassword": ("ops_eyJ<B300>", "A3-<A6>-<A6>-<A5>-<A5>-<A5>-<A5>"),
    "age": ("AGE-SECRET-KEY-1<A58>",),
    "slack": (
        "xoxb-<D12>-<D12>-<W24>",
        "xoxp-<D12>-<D12>-<D12>-<H32>",
        "xapp-1-<A11>-<D12>-<H64>",
        "xoxe.xoxp-1-<W146>",
    ),
    "discord": ("MT<W22>.<W6>.<U38>", "N<W23>.<W6>.<U27>"),
    "telegram": ("<D10>:AA<U33>", "<D9>:AA<U33>"),
    "twilio": ("SK<H32>",),
    "sendgrid": ("SG.<U22>.<U43>",),
    "brevo": ("xkeysib-<H64>-<W16>",),
    "mailgun": ("key-<H32>", "<H32>-<H8>-<H8>"),
    "mailchimp": ("<H32>-us<D1>", "<H32>-us1<D1>"),
    "mandrill": ("md-<W22>",),
    "resend": ("re_<W8>_<W24>",),
    "stripe": ("sk_live_<W24>", "rk_live_<W99>", "sk_test_<W99>"),
    "webhook-signing": ("whsec_<B32>",),
    "square": ("sq0atp-<U22>", "sq0csp-<U43>", "EAAA<W60>"),
    "shopify": ("shpat_<H32>", "shpss_<H32>", "shppa_<H32>"),
    "braintree": ("access_token$production$<L16>$<H32>",),
    "plaid": ("access-sandbox-<ID>",),
    "flutterwave": ("FLWSECK_TEST-<H32>-X",),
    "duffel": ("duffel_live_<U43>",),
    "easypost": ("EZAK<W54>",),
    "shippo": ("shippo_live_<H40>",),
    "lob": ("live_<H35>",),
    "linear": ("lin_api_<W40>", "lin_oauth_<H64>"),
    "notion": ("ntn_<W46>", "secret_<W43>"),
    "figma": ("figd_<U40>",),
    "airtable": ("pat<W14>.<H64>",),
    "hubspot": ("pat-na1-<ID>",),
    "asana": ("2/<D16>/<D16>:<H32>",),
    "clickup": ("pk_<D8>_<A32>",),
    "contentful": ("CFPAT-<U43>",),
    "dropbox": ("sl.u.<U140>",),
    "facebook": ("EAA<W160>",),
    "twitter": ("AAAAAAAAAAAAAAAAAAAAA<W80>",),
    "typeform": ("tfp_<W44>_<W14>",),
    "frameio": ("fio-u-<U64>",),
    "mapbox": ("sk.eyJ<W80>.<U22>",),
    "grafana": ("glsa_<W32>_<H8>", "glc_<B120>=="),
    "newrelic": ("NRAK-<A27>", "NRJS-<H19>", "<H36>NRAL"),
    "sentry": ("sntrys_eyJ<B160>", "sntryu_<H64>"),
    "dynatrace": ("dt0c01.<A24>.<A64>",),
    "honeycomb": ("hcaik_<L58>",),
    "posthog": ("phx_<W43>",),
    "salesforce": ("00D<W12>!<W96>",),
    "mongodb-atlas": ("mdb_sa_sk_<U40>",),
    "jwt": ("eyJ<W33>.eyJ<W80>.<U43>", "eyJhbGciOiJIUzI1NiJ9.eyJ<W60>.<U43>"),
    "nostr": ("nsec1<L58>",),
    "wallet": ("xprv<W107>",),
    "raw-private-key": ("b3BlbnNzaC1rZXktdjE<B200>", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC<B300>"),
    "password-hash": ("$2b$12$<W53>", "$6$<W16>$<W86>"),
}

# Passwords of several makes, for places where any string may be one.
_PASSWORDS = ("<S6><D3>", "<S4>-<D2>!<W6>", "<W4>@<W4>#<W4>", "<W8>.<W4>/<W3>", "<W20>", "<H40>", "<B43>=")
# Where a secret has no shape: the text around it tells. `{}` is the secret.
PLACES = {
    "env-assignment": ("DB_PASSWORD={}", "export ADMIN_PASSWD={}", "PGPASSWORD={} psql -h db", 'SECRET_KEY_BASE="{}"'),
    "yaml-assignment": ("password: {}", "  db_password: '{}'", 'clientSecret: "{}"', "- apiToken: {}"),
    "json-assignment": (
        '{{"password": "{}", "user": "deploy"}}',
        '{{"auth": {{"client_secret": "{}"}}}}',
        '"passphrase":"{}"',
    ),
    "escaped-json": ('sent {{\\"password\\": \\"{}\\", \\"user\\": \\"x\\"}}',),
    "toml-assignment": ('secret_key = "{}"', "password = '{}'"),
    "code-assignment": ('const apiSecret = "{}";', 'password := "{}"', "$password = '{}';", 'let token: &str = "{}";'),
    "call-argument": ("define('DB_PASSWORD', '{}');", 'login(user="ops", password="{}")'),
    "python-dict": ("{{'user': 'ops', 'password': '{}'}}",),
    "connection-string": ("Server=db;Uid=app;Pwd={};Database=main", "host=db user=app password={} dbname=main"),
    "url-password": ("postgres://app:{}@db.example.com:5432/main", "clone https://ops:{}@git.example.com/a.git"),
    "amqp-password": ("amqp://app:{}@mq.example.com/vhost", "use redis://:{}@cache:6379/0 for now"),
    "query-parameter": (
        "GET https://api.example.com/v1/x?access_token={}&page=2",
        "https://x.example.com/?a=1&password={}",
    ),
    "api-key-header": ("X-API-Key: {}", "curl -H 'X-Auth-Token: {}' https://x.example.com"),
    "cli-option": ("run deploy --password {} --force", "tool login --token={}", "app --db-password '{}' start"),
    "curl-user": ("curl -u admin:{} https://x.example.com/", "curl --user ops:{} x.example.com"),
    "sshpass": ("sshpass -p {} ssh ops@host", "mysql -u root -p{} main"),
    "netrc": ("machine git.example.com login ops password {}",),
    "xml": ("<password>{}</password>", "<ns:clientSecret>{}</ns:clientSecret>"),
    "sql": ("ALTER USER app WITH PASSWORD '{}'", "CREATE USER app IDENTIFIED BY '{}'"),
    "prose-password": ("the root password is {}", "set the admin password to {} today", "password for staging: {}"),
    "quoted-prose": ('the password is "{}"', "passphrase was '{}' until now"),
}
# Places for values that look drawn, and nothing less.
_DRAWN = ("<W32>", "<H32>", "<U43>", "<B40>")
DRAWN_PLACES = {
    "bearer": ("Authorization: Bearer {}", "curl -H 'Authorization: Bearer {}' https://x.example.com", "bearer {}"),
    "authorization": (
        "Authorization: Token {}",
        "Proxy-Authorization: ApiKey {}",
        '"authorization": "{}"',
        "authorization: {}",
    ),
    "cookie": ("Cookie: theme=dark; sessionid={}", "Set-Cookie: sid={}; Path=/; HttpOnly"),
    "vendor-key": (
        "DATADOG_API_KEY={}",
        "dd_api_key: {}",
        "TWILIO_AUTH_TOKEN={}",
        "CLOUDFLARE_API_TOKEN: {}",
        "heroku_api_key={}",
    ),
    "prose-token": (
        "the api key is {}",
        "token {} still works",
        "my access token: {}",
        "the old api key {} still works",
    ),
    "azure-storage": ("AccountName=x;AccountKey={}==;EndpointSuffix=core", "Endpoint=sb://x/;SharedAccessKey={}="),
    "azure-sas": ("https://x.blob.core.windows.net/c?sv=2024-01-01&sig={}%3D&se=2027",),
    "aws-secret": ("aws_secret_access_key = {}", "AWS_SECRET_ACCESS_KEY={}", '"SecretAccessKey": "{}"'),
    "user-only-url": ("https://{}@github.com/a/b.git", "https://{}:x-oauth-basic@github.com/a/b.git"),
    "slack-webhook": ("https://hooks.slack.com/services/T0{}",),
    "discord-webhook": ("https://discord.com/api/webhooks/123456789012345678/{}aaaaBBBBccccDDDD1234",),
}
# What no rule claims to find; the test lists them, and so must the README.
BEYOND = {
    "prose-word": ("the root password is {}", ("<S9>",)),
    "unquoted-passphrase": ("password: {}", ("<S5> <S6> <S7> <S5>",)),
    "spaced-token": ("the token is {}", ("g h p _ <S1> <D1> <S1> <D1> <S1> <D1>",)),
    "word-option": ("run --password {} now", ("<S8>",)),
    "bare-hex": ("use {} there", ("<H32>",)),
    "hex-after-key": ("used key {} for it", ("<H32>",)),
    "bare-password": ("try {} instead", ("<S6><D2>!",)),
}


def filled(shape: str, seed: random.Random) -> str:
    """The shape with each `<..>` filled anew; letters and digits are mixed where the alphabet has both."""

    def fill(match: re.Match[str]) -> str:
        if match[0] == "<ID>":
            return "-".join(_drawn("H", size, seed) for size in (8, 4, 4, 4, 12))
        return _drawn(match[1], int(match[2]), seed)

    return re.sub(r"<ID>|<([A-Z])([0-9]+)>", fill, shape)


def _drawn(alphabet: str, size: int, seed: random.Random) -> str:
    body = [seed.choice(_ALPHABETS[alphabet]) for _ in range(size)]
    if size >= 3 and alphabet in "WALHUB":
        body[0], body[size // 2], body[-1] = (
            "d" if alphabet in "HL" else "K",
            "7",
            body[-1].replace("-", "x").replace("/", "y"),
        )
    if size >= 4 and alphabet in "WUB":
        body[1] = "q"
    return "".join(body)


def _split(secret: str, joint: str) -> str:
    middle = max(len(secret) // 2, 3)
    return secret[:middle] + joint + secret[middle:]


_Text = Callable[[str, str], str]
SHOWN: dict[str, _Text] = {
    "prose": lambda _, s: f"rotated it, the old one was {s} and the job is green",
    "end-of-line": lambda _, s: f"step 3 done with {s}",
    "env": lambda v, s: f"export {v}_TOKEN={s}",
    "yaml": lambda v, s: f"  {v.lower()}: {s}",
    "json": lambda v, s: f'{{"name": "{v.lower()}", "value": "{s}", "n": 1}}',
    "header": lambda _, s: f"X-Custom: {s}",
    "url": lambda _, s: f"GET https://api.example.com/v1/items?key={s}&page=2",
    "fence": lambda _, s: f"ran this:\n```sh\ncurl -H 'X-Token: {s}' https://example.com\n```\nand it was fine",
    "code": lambda _, s: f"client = Client('{s}')  # pragma: allowlist secret, gitleaks:allow, kingfisher:ignore",
    "ticks": lambda _, s: f"see `{s}`, then go on.",
    "escaped-newline": lambda _, s: f'{{"log": "first line\\n{s}\\nlast line"}}',
}
HIDDEN: dict[str, _Text] = {
    "wrapped": lambda _, s: "rotated it, the old one was " + _split(s, "\n") + "\nand the job is green",
    "wrapped-indented": lambda _, s: "note:\n    " + _split(s, "\n    "),
    "continued": lambda _, s: "run with " + _split(s, "\\\n") + " now",
    "zero-width": lambda _, s: f"the old one was {_split(s, chr(0x200B))}, gone",
    "after-zero-width": lambda _, s: f"see{chr(0x200B)} {chr(0xFEFF)}{s}",
    "soft-hyphen": lambda _, s: f"it was {_split(s, chr(0xAD))}",
    "ansi": lambda _, s: f"\x1b[32mok\x1b[0m {_split(s, chr(27) + '[1;31m')}\x1b[0m done",
    "fullwidth": lambda _, s: "it was " + "".join(chr(ord(c) + 0xFEE0) if c.isalnum() else c for c in s),
}


def planted() -> list[Planted]:
    """All of them: the shaped ones in each place, the others where their place tells of them."""
    return [*_shaped(), *_placed(), *_blocks(), *_beyond()]


def _shaped() -> Iterator[Planted]:
    for kind, shapes in TOKENS.items():
        seed = random.Random(kind)
        vendor = kind.upper().replace("-", "_")
        for shape in (*shapes, *shapes)[: max(3, len(shapes))]:
            secret = filled(shape, seed)
            for place, show in (SHOWN | HIDDEN).items():
                yield Planted(kind, place, show(vendor, secret), secret[shape.index("<") :])


def _placed() -> Iterator[Planted]:
    for table, bodies in ((PLACES, _PASSWORDS), (DRAWN_PLACES, _DRAWN)):
        for kind, places in table.items():
            seed = random.Random(kind)
            for place in places:
                for body in bodies:
                    secret = filled(body, seed)
                    if "url" in kind or "webhook" in kind:  # where these would have to be escaped
                        secret = secret.replace("/", "_").replace("+", "-")
                    yield Planted(kind, "own", place.format(secret), secret)
    seed = random.Random("basic")
    for place in (
        "Authorization: Basic {}",
        'curl -H "Authorization: Basic {}" x',
        '{{"auths": {{"r": {{"auth": "{}"}}}}}}',
    ):
        secret = base64.b64encode(filled("ops:<W12>", seed).encode()).decode()
        yield Planted("basic-auth", "own", place.format(secret), secret)


def _blocks() -> Iterator[Planted]:
    seed = random.Random("blocks")
    for label in (
        "RSA PRIVATE KEY",
        "EC PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "PRIVATE KEY",
        "ENCRYPTED PRIVATE KEY",
        "PGP PRIVATE KEY BLOCK",
    ):
        lines = [filled("<B64>", seed) for _ in range(4)]
        begin, end = f"-----BEGIN {label}-----", f"-----END {label}-----"
        secret = lines[2]
        yield Planted("private-key", "block", "\n".join(("key:", begin, *lines, end, "done")), secret)
        yield Planted("private-key", "one-line", f"{begin} {' '.join(lines)} {end} done", secret)
        yield Planted(
            "private-key",
            "escaped",
            f'{{"key": "{begin}\\n{chr(92)}n'.replace("\\n\\n", "\\n") + "\\n".join(lines) + f'\\n{end}\\n"}}',
            secret,
        )
        yield Planted("private-key", "truncated", "\n".join((begin, *lines)), secret)
        yield Planted("private-key", "indented", "\n    ".join(("key: |", begin, *lines, end)), secret)


def _beyond() -> Iterator[Planted]:
    for kind, (place, shapes) in BEYOND.items():
        seed = random.Random(kind)
        for shape in shapes:
            secret = filled(shape, seed)
            yield Planted(kind, "beyond", place.format(secret), secret)


_VEIL = re.compile("\x1b\\[[0-9;]*m|[\u200b\ufeff\u00ad\\s\\\\]")


def leaks(secret: str, output: str) -> bool:
    """Whether so much of the secret is left in the output that it counts as shown."""
    bare = _VEIL.sub("", output.translate({code + 0xFEE0: code for code in range(0x21, 0x7F)}))
    size = min(LEAK, len(secret))
    secret = _VEIL.sub("", secret)
    return any(secret[at : at + size] in bare for at in range(len(secret) - size + 1))
