"""The table of secrets: each rule's kind, the literals that must be there, its pattern, and how to judge a hit.

Data only: no pattern is compiled here. A pattern holds no look-behind and no unbounded or nested
repetition; what stands beside a hit, and how far a token goes on, is the scanner's to decide. The secret is
group 1 where there is one, else the whole hit. Order is precedence: where hits overlap, the first
rule names the kind. Literals are lower case and are looked up in lower-cased text.
"""

from enum import Enum, auto
from typing import NamedTuple


class Edge(Enum):
    """What must stand beside a token for a hit to count."""

    FREE = auto()  # the prefix is unmistakable: it counts inside a word too, and swallows the token's rest
    LEFT = auto()  # nothing alphanumeric before it; swallows the token's rest
    BOTH = auto()  # nothing of a token before or after it: length is part of the shape
    NONE = auto()  # a place in a text, not a token: stands in one line and ends where the pattern ends


class Judge(Enum):
    """What the secret itself must look like for a hit to count."""

    ANY = auto()
    DIGIT = auto()  # letters and digits
    MIXED = auto()  # upper case, lower case and digits
    RANDOM = auto()  # long and unlike words, names, paths, hashes of known kinds
    BASIC = auto()  # base64 of "user:password"
    COOKIE = auto()  # at least one value that is no word
    HEADER = auto()  # credentials of a scheme
    QUOTED = auto()  # a value by syntax: anything but a placeholder or a reference
    VALUE = auto()  # the value of a name that tells of secrets
    PROSE = auto()  # a value that no sentence would hold in its place
    BESIDE = auto()  # as PROSE, with nothing but a space between the noun and the value
    USERINFO = auto()  # a password inside a URL
    OPTION = auto()  # an argument after a space


class Rule(NamedTuple):
    """One kind of secret and how to find it."""

    kind: str
    literals: tuple[str, ...]
    pattern: str
    edge: Edge = Edge.LEFT
    judge: Judge = Judge.ANY
    also: tuple[str, ...] = ()  # a second list of literals, one of which must be there too
    run: int = 0  # least length of the longest stretch without white space


_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_B64 = "[A-Za-z0-9+/]"
_URL = "[A-Za-z0-9_-]"
_W = "[A-Za-z0-9]"

FREE, LEFT, BOTH, NONE = Edge.FREE, Edge.LEFT, Edge.BOTH, Edge.NONE
DIGIT, MIXED, RANDOM = Judge.DIGIT, Judge.MIXED, Judge.RANDOM

TOKENS: tuple[Rule, ...] = (
    # Code hosting, packages, builds
    Rule("github-token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), rf"gh[pousr]_{_W}{{16,255}}", FREE),
    Rule("github-fine-grained-token", ("github_pat_",), r"github_pat_\w{16,255}", FREE),
    Rule(
        "gitlab-token",
        (
            "glpat-",
            "glptt-",
            "gldt-",
            "glrt-",
            "glrtr-",
            "glcbt-",
            "glft-",
            "glimt-",
            "glagent-",
            "glsoat-",
            "glffct-",
            "gloas-",
            "glwt-",
        ),
        rf"gl(?:pat|ptt|dt|rtr?|cbt|ft|imt|agent|soat|ffct|oas|wt)-{_URL}{{16,300}}",
        FREE,
    ),
    Rule("gitlab-runner-token", ("gr1348941",), rf"GR1348941{_URL}{{18,64}}", FREE),
    Rule("bitbucket-token", ("atbb",), rf"ATBB{_W}{{24,60}}", LEFT, DIGIT),
    Rule("atlassian-token", ("atatt3", "atctt3", "atstt3"), rf"AT[ACS]TT3[A-Za-z0-9_=-]{{20,400}}", LEFT),
    Rule("trello-token", ("atta",), r"ATTA[0-9a-f]{60,72}", LEFT),
    Rule("npm-token", ("npm_",), rf"npm_{_W}{{30,64}}", LEFT),
    Rule("pypi-token", ("pypi-age",), rf"pypi-AgE{_URL}{{16,400}}", FREE),
    Rule("rubygems-token", ("rubygems_",), r"rubygems_[0-9a-f]{40,64}", LEFT),
    Rule("crates-token", ("cio",), rf"cio{_W}{{32}}", BOTH, MIXED, (), 35),
    Rule("nuget-token", ("oy2",), r"oy2[a-z0-9]{43}", BOTH, DIGIT),
    Rule("clojars-token", ("clojars_",), r"CLOJARS_[a-z0-9]{50,64}", LEFT),
    Rule("packagist-token", ("packagist_",), r"packagist_[a-z]{2,4}_[0-9a-f]{40,80}", LEFT),
    Rule("docker-token", ("dckr_pat_", "dckr_oat_"), rf"dckr_[po]at_{_URL}{{20,64}}", FREE),
    Rule("jfrog-token", ("akcp", "cmvmd"), rf"(?:AKCp{_W}{{20,80}}|cmVmd{_W}{{55,64}})", LEFT, DIGIT),
    Rule("buildkite-token", ("bkua_",), r"bkua_[0-9a-f]{36,44}", LEFT),
    Rule("circleci-token", ("ccipat_", "ccipr"), rf"CCIP(?:AT|RJ)_{_URL}{{20,120}}", FREE),
    Rule("sonar-token", ("sqp_", "sqa_", "squ_"), r"sq[pau]_[0-9a-f]{36,44}", LEFT),
    Rule("harness-token", ("pat.", "sat."), rf"[ps]at\.{_URL}{{22}}\.[0-9a-f]{{24}}\.{_W}{{20}}", LEFT),
    Rule("octopus-token", ("api-",), r"API-[A-Z0-9]{25,36}", LEFT, DIGIT, (), 29),
    Rule(
        "sourcegraph-token", ("sgp_", "slk_"), r"(?:sgp_(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40}|slk_[0-9a-f]{64})", LEFT
    ),
    Rule("launchdarkly-key", ("sdk-", "api-", "mob-"), rf"(?:sdk|api|mob)-{_UUID}", BOTH, Judge.ANY, (), 40),
    Rule("prefect-token", ("pnu_", "pnb_"), rf"pn[ub]_{_W}{{32,40}}", LEFT),
    Rule("pulumi-token", ("pul-",), r"pul-[0-9a-f]{40}", LEFT),
    Rule("postman-key", ("pmak-", "pmat-"), rf"PM(?:AK-[0-9a-f]{{24}}-[0-9a-f]{{30,36}}|AT-{_W}{{24,32}})", FREE),
    Rule("readme-key", ("rdme_",), r"rdme_[a-z0-9]{60,80}", LEFT),
    Rule("semgrep-token", ("sgp_cli", "semgrep_"), r"semgrep_[a-z0-9_]{30,80}", LEFT, DIGIT),
    Rule("retool-key", ("retool_",), r"retool_[0-9a-z]{24,40}", LEFT, DIGIT),
    # Models
    Rule("anthropic-key", ("sk-ant-",), rf"sk-ant-{_URL}{{12,300}}", FREE),
    Rule("openrouter-key", ("sk-or-",), r"sk-or-v1-[0-9a-f]{32,80}", FREE),
    Rule("langfuse-key", ("sk-lf-",), rf"sk-lf-{_UUID}", FREE),
    Rule(
        "openai-key",
        ("sk-proj-", "sk-svcacct-", "sk-admin-", "sk-none-"),
        rf"sk-(?:proj|svcacct|admin|None)-{_URL}{{16,300}}",
        FREE,
    ),
    Rule("openai-key", ("sk-",), rf"sk-{_URL}{{16,300}}", LEFT, RANDOM),
    Rule("huggingface-token", ("hf_", "api_org_"), rf"(?:hf|api_org)_{_W}{{28,64}}", LEFT),
    Rule("replicate-token", ("r8_",), rf"r8_{_W}{{30,48}}", LEFT),
    Rule("groq-key", ("gsk_",), rf"gsk_{_W}{{30,80}}", LEFT),
    Rule("xai-key", ("xai-",), rf"xai-{_W}{{40,100}}", LEFT, DIGIT),
    Rule("perplexity-key", ("pplx-",), rf"pplx-{_W}{{32,80}}", LEFT),
    Rule("cerebras-key", ("csk-",), r"csk-[a-z0-9]{36,64}", LEFT, DIGIT),
    Rule("nvidia-key", ("nvapi-",), rf"nvapi-{_URL}{{40,100}}", FREE),
    Rule("langsmith-key", ("lsv2_",), r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}", FREE),
    Rule("fireworks-key", ("fw_",), rf"fw_{_W}{{20,40}}", LEFT, MIXED),
    Rule("together-key", ("tgp_v1_",), rf"tgp_v1_{_URL}{{30,80}}", LEFT),
    Rule("voyage-key", ("pa-",), rf"pa-{_URL}{{40,60}}", LEFT, MIXED, (), 43),
    Rule("tavily-key", ("tvly-",), rf"tvly-(?:dev-|prod-)?{_W}{{20,60}}", LEFT, DIGIT),
    Rule("firecrawl-key", ("fc-",), r"fc-[0-9a-f]{32}", BOTH),
    Rule("elevenlabs-key", ("sk_",), r"sk_[0-9a-f]{40,64}", LEFT),
    Rule("jina-key", ("jina_",), rf"jina_{_URL}{{40,80}}", LEFT, DIGIT),
    Rule("pinecone-key", ("pcsk_",), rf"pcsk_{_URL}{{40,100}}", LEFT),
    Rule("wandb-key", ("wandb_v1_",), rf"wandb_v1_{_URL}{{40,120}}", LEFT),
    # Clouds
    Rule(
        "aws-access-key-id",
        ("akia", "asia", "abia", "acca", "a3t"),
        r"(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}",
        BOTH,
        Judge.ANY,
        (),
        20,
    ),
    Rule(
        "aws-secret-key",
        ("akia", "asia"),
        rf"A(?:KI|SI)A[A-Z0-9]{{16}}[^A-Za-z0-9]{{1,8}}(?:\w{{2,30}}[^A-Za-z0-9+/]{{1,6}})?({_B64}{{40}})",
        BOTH,
    ),
    Rule(
        "aws-session-token", ("fwogzx", "iqojb3jpz2lu"), r"(?:FwoGZXIvYXdz|IQoJb3JpZ2lu)[A-Za-z0-9/+=]{40,2000}", LEFT
    ),
    Rule("aws-bedrock-key", ("absk", "bedrock-api-key-"), r"(?:ABSK|bedrock-api-key-)[A-Za-z0-9+/=]{60,400}", LEFT),
    Rule("aws-mws-key", ("amzn.mws.",), rf"amzn\.mws\.{_UUID}", LEFT),
    Rule("google-api-key", ("aiza",), rf"AIza{_URL}{{35}}", LEFT),
    Rule("google-oauth-token", ("ya29.",), rf"ya29\.{_URL}{{20,400}}", LEFT),
    Rule("google-oauth-secret", ("gocspx-",), rf"GOCSPX-{_URL}{{20,48}}", FREE),
    Rule("google-refresh-token", ("1//0",), rf"1//0{_URL}{{28,200}}", LEFT, DIGIT),
    Rule("firebase-server-key", (":apa91b",), rf"AAAA{_URL}{{7}}:APA91b{_URL}{{60,300}}", LEFT),
    Rule(
        "azure-storage-key",
        ("accountkey", "sharedaccesskey"),
        rf"(?i:accountkey|sharedaccesskey)[ \t]{{0,4}}=[ \t]{{0,4}}({_B64}{{40,88}}={{0,2}})",
        NONE,
    ),
    Rule("azure-client-secret", ("q~",), r"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}", LEFT, DIGIT),
    Rule(
        "azure-service-key",
        (
            "azdo",
            "apim",
            "acdb",
            "+aba",
            "+amc",
            "+ast",
            "azfu",
            "azse",
            "azca",
            "aiot",
            "+asb",
            "+aeh",
            "+arm",
            "jqqj99",
        ),
        rf"(?:{_B64}{{76}}(?:AZDO|APIM|ACDb|\+ABa|\+AMC|\+ASt)|{_B64}{{44}}AzFu|{_B64}{{42}}AzSe|{_B64}{{33}}(?:AzCa|AIoT|\+ASb|\+AEh|\+ARm)|{_W}{{52}}JQQJ99){_B64}{{4,30}}={{0,2}}",
        BOTH,
        MIXED,
        (),
        40,
    ),
    Rule("digitalocean-token", ("dop_v1_", "doo_v1_", "dor_v1_"), r"do[opr]_v1_[0-9a-f]{40,80}", FREE),
    Rule("scaleway-key", ("scw",), r"SCW[A-Z0-9]{17}", BOTH, DIGIT),
    Rule("fly-token", ("fo1_", "fm1a_", "fm1r_", "fm2_"), r"(?:fo1_|fm1[ar]_|fm2_)[A-Za-z0-9+/=_-]{30,800}", LEFT),
    Rule("heroku-key", ("hrku-",), rf"HRKU-{_URL}{{30,80}}", LEFT),
    Rule("netlify-token", ("nfp_", "nfc_", "nfo_", "nfu_"), rf"nf[pcou]_{_W}{{30,60}}", LEFT),
    Rule("vercel-token", ("vcp_", "vci_", "vca_", "vcr_", "vck_"), rf"vc[piark]_{_W}{{22,80}}", LEFT, DIGIT),
    Rule("cloudflare-ca-key", ("v1.0-",), r"v1\.0-[0-9a-f]{24}-[0-9a-f]{100,200}", LEFT),
    Rule("cloudflare-token", ("cfut_", "cfat_", "cfk_"), rf"cf(?:[ua]t|k)_{_URL}{{36,80}}", LEFT, DIGIT),
    Rule("supabase-token", ("sbp_", "sb_secret_"), rf"(?:sbp_[0-9a-f]{{36,44}}|sb_secret_{_URL}{{20,60}})", LEFT),
    Rule("planetscale-token", ("pscale_",), r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{20,64}", FREE),
    Rule("neon-key", ("napi_",), r"napi_[a-z0-9]{40,80}", LEFT, DIGIT),
    Rule("render-key", ("rnd_",), rf"rnd_{_W}{{20,48}}", LEFT, MIXED),
    Rule("deno-token", ("ddp_", "ddw_", "ddo_"), rf"dd[pwo]_{_W}{{32,40}}", LEFT, DIGIT),
    Rule("alibaba-key-id", ("ltai",), rf"LTAI{_W}{{12,24}}", BOTH, DIGIT),
    Rule("tencent-key-id", ("akid",), rf"AKID{_W}{{32}}", BOTH, DIGIT),
    Rule("yandex-key", ("aqvn", "y0_"), rf"(?:AQVN{_URL}{{30,40}}|y0_{_URL}{{40,80}})", LEFT, DIGIT),
    Rule("databricks-token", ("dapi", "dose", "dkea"), r"d(?:api|ose|kea)[0-9a-f]{32}(?:-[0-9]{1,2})?", LEFT),
    Rule("tailscale-key", ("tskey-",), rf"tskey-(?:auth|api|client|webhook|scim)-{_URL}{{14,80}}", FREE),
    Rule("openshift-token", ("sha256~",), rf"sha256~{_URL}{{40,48}}", LEFT),
    Rule("rancher-token", ("token-",), r"token-[a-z0-9]{5}:[a-z0-9]{50,60}", LEFT),
    Rule("akamai-token", ("akab-",), r"akab-[a-z0-9]{16}-[a-z0-9]{16}", LEFT),
    # Vaults
    Rule("vault-token", ("hvs.", "hvb.", "hvr."), rf"hv[sbr]\.{_URL}{{18,300}}", LEFT),
    Rule("vault-token", ("s.", "b."), rf"[sb]\.{_W}{{24}}", BOTH, MIXED, (), 26),
    Rule("terraform-token", (".atlasv1.",), rf"{_W}{{14}}\.atlasv1\.{_URL}{{40,100}}", LEFT),
    Rule(
        "doppler-token",
        ("dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."),
        rf"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{{2,35}}\.)?{_W}{{36,48}}",
        FREE,
    ),
    Rule(
        "infisical-token", ("st.",), rf"st\.(?:{_UUID}|[0-9a-f]{{24}})\.[0-9a-f]{{24,64}}(?:\.[0-9a-f]{{24,64}})?", LEFT
    ),
    Rule("onepassword-token", ("ops_ey",), r"ops_eyJ[A-Za-z0-9+/=_-]{40,1500}", LEFT),
    Rule(
        "onepassword-secret-key",
        ("a3-",),
        r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}",
        BOTH,
    ),
    Rule(
        "age-secret-key",
        ("age-secret-key-1", "age-plugin-"),
        r"AGE-(?:SECRET-KEY-1|PLUGIN-[A-Z]{2,16}-1)[A-Z0-9]{40,400}",
        FREE,
    ),
    # Messages and mail
    Rule(
        "slack-token",
        ("xoxa-", "xoxb-", "xoxc-", "xoxd-", "xoxe-", "xoxe.", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-"),
        r"(?:xox[abcdeoprs]-|xoxe\.xox[bp]-|xapp-)[A-Za-z0-9%/+=-]{10,400}",
        FREE,
    ),
    Rule(
        "slack-webhook",
        ("hooks.slack.com/",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_+-]{20,200})",
        FREE,
    ),
    Rule(
        "discord-webhook",
        ("/api/webhooks/",),
        rf"discord(?:app)?\.com/api/(?:v[0-9]{{1,2}}/)?webhooks/([0-9]{{15,22}}/{_URL}{{40,100}})",
        FREE,
    ),
    Rule(
        "teams-webhook", ("webhook.office.com/",), rf"webhook\.office\.com/webhookb2/([A-Za-z0-9@/-]{{60,300}})", FREE
    ),
    Rule("zapier-webhook", ("hooks.zapier.com/",), r"hooks\.zapier\.com/hooks/catch/([A-Za-z0-9/]{10,80})", FREE),
    Rule(
        "google-chat-webhook",
        ("chat.googleapis.com/",),
        rf"chat\.googleapis\.com/v1/spaces/{_URL}{{5,40}}/messages\?(key={_URL}{{20,60}}&token=[A-Za-z0-9_%-]{{20,100}})",
        FREE,
    ),
    Rule(
        "discord-token",
        ("m", "n", "o"),
        rf"(?:mfa\.{_URL}{{80,100}}|[MNO]{_URL}{{23,27}}\.{_URL}{{6}}\.{_URL}{{27,40}})",
        LEFT,
        MIXED,
        (".",),
        59,
    ),
    Rule("telegram-token", (":aa",), rf"[0-9]{{8,10}}:AA{_URL}{{32,34}}", LEFT),
    Rule("twilio-key", ("sk",), r"SK[0-9a-f]{32}", BOTH, DIGIT, (), 34),
    Rule("sendgrid-key", ("sg.",), rf"SG\.{_URL}{{16,32}}\.{_URL}{{16,64}}", LEFT),
    Rule("brevo-key", ("xkeysib-", "xsmtpsib-"), rf"x(?:key|smtp)sib-[0-9a-f]{{40,80}}-{_W}{{10,24}}", FREE),
    Rule("mailgun-key", ("key-",), r"key-[0-9a-f]{32}", BOTH),
    Rule("mailgun-key", ("-",), r"[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}", BOTH, DIGIT, (), 50),
    Rule("mailchimp-key", ("-us",), r"[0-9a-f]{32}-us[0-9]{1,2}", BOTH),
    Rule("mandrill-key", ("md-",), rf"md-{_URL}{{22}}", BOTH, MIXED),
    Rule("resend-key", ("re_",), rf"re_{_W}{{8}}_{_W}{{20,40}}", LEFT),
    Rule("intercom-token", ("dg9ro",), r"dG9rO[A-Za-z0-9+/=]{40,80}", LEFT),
    # Money
    Rule(
        "stripe-key",
        ("sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_prod_", "rk_prod_", "sk_org_"),
        rf"[rs]k_(?:live|test|prod|org(?:_live|_test)?)_{_W}{{10,250}}",
        LEFT,
    ),
    Rule("webhook-signing-secret", ("whsec_",), rf"whsec_[A-Za-z0-9+/=]{{20,100}}", FREE),
    Rule("square-token", ("sq0", "eaaa"), rf"(?:sq0(?:atp|csp|idp)-{_URL}{{20,60}}|EAAA[A-Za-z0-9_+-]{{56,64}})", LEFT),
    Rule(
        "shopify-token",
        ("shpat_", "shpca_", "shppa_", "shpss_", "shptk"),
        r"shp(?:at|ca|pa|ss|tka?)_[0-9a-fA-F]{30,40}",
        FREE,
    ),
    Rule(
        "braintree-token", ("access_token$",), r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}", LEFT
    ),
    Rule(
        "plaid-token",
        ("access-sandbox-", "access-development-", "access-production-"),
        rf"access-(?:sandbox|development|production)-{_UUID}",
        LEFT,
    ),
    Rule("flutterwave-key", ("flwsec",), r"FLWSECK(?:_TEST)?-[0-9a-zA-Z]{12,64}(?:-X)?", LEFT, DIGIT),
    Rule("duffel-token", ("duffel_",), rf"duffel_(?:test|live)_[A-Za-z0-9_=-]{{40,46}}", LEFT),
    Rule("easypost-key", ("ezak", "eztk"), rf"EZ[AT]K{_W}{{40,60}}", LEFT, DIGIT),
    Rule("shippo-token", ("shippo_",), r"shippo_(?:live|test)_[0-9a-fA-F]{36,44}", LEFT),
    Rule("lob-key", ("live_", "test_"), r"(?:live|test)_(?:pub_)?[0-9a-f]{31,40}", LEFT),
    Rule("gocardless-token", ("live_",), rf"live_[A-Za-z0-9_=-]{{36,44}}", LEFT, MIXED),
    Rule("stytch-secret", ("secret-live-", "secret-test-"), rf"secret-(?:live|test)-[A-Za-z0-9_=-]{{30,44}}", LEFT),
    # Products
    Rule("linear-key", ("lin_api_", "lin_oauth_", "lin_wh_"), rf"lin_(?:api|oauth|wh)_{_W}{{30,80}}", FREE),
    Rule("notion-token", ("ntn_", "secret_"), rf"(?:ntn_{_W}{{36,60}}|secret_{_W}{{43}})", LEFT, DIGIT),
    Rule("figma-token", ("figd_", "figp_", "figo_", "figu_", "figor_"), rf"fig(?:[dpou]|or|oh)_{_URL}{{30,80}}", LEFT),
    Rule("airtable-token", ("pat",), rf"pat{_W}{{14}}\.[0-9a-f]{{60,68}}", LEFT, Judge.ANY, (), 78),
    Rule("hubspot-token", ("pat-na", "pat-eu"), rf"pat-(?:na|eu)[0-9]-{_UUID}", FREE),
    Rule("asana-token", ("/",), r"[0-9]/[0-9]{12,18}(?:/[0-9]{12,18})?:[0-9a-f]{32}", LEFT, Judge.ANY, (":",), 47),
    Rule("clickup-token", ("pk_",), r"pk_[0-9]{5,12}_[A-Z0-9]{30,36}", LEFT),
    Rule("contentful-token", ("cfpat-",), rf"CFPAT-{_URL}{{40,48}}", FREE),
    Rule("dropbox-token", ("sl.",), rf"sl\.(?:u\.)?{_URL}{{100,1500}}", LEFT, DIGIT),
    Rule("facebook-token", ("eaa",), rf"EAA[A-Za-z0-9]{{80,400}}", LEFT, MIXED, (), 80),
    Rule("twitter-bearer", ("aaaaaaaaaa",), r"A{10,24}[A-Za-z0-9%]{50,160}", LEFT, DIGIT),
    Rule("typeform-token", ("tfp_",), r"tfp_[A-Za-z0-9_.=-]{36,80}", LEFT),
    Rule("frameio-token", ("fio-u-",), rf"fio-u-[A-Za-z0-9_=-]{{50,80}}", LEFT),
    Rule("mapbox-token", ("sk.eyj", "pk.eyj", "tk.eyj"), rf"[spt]k\.eyJ{_URL}{{20,300}}\.{_URL}{{16,60}}", LEFT),
    Rule("settlemint-token", ("sm_aat_", "sm_pat_", "sm_sat_"), rf"sm_[aps]at_{_W}{{14,40}}", LEFT),
    Rule("intra42-secret", ("s-s4t2",), r"s-s4t2(?:ud|af)-[0-9a-f]{60,68}", LEFT),
    # Watching
    Rule(
        "grafana-token", ("glsa_", "glc_"), rf"(?:glsa_{_W}{{28,40}}_[0-9a-f]{{8}}|glc_[A-Za-z0-9+/=]{{30,400}})", LEFT
    ),
    Rule("grafana-key", ("eyjrijoi",), r"eyJrIjoi[A-Za-z0-9+/=]{40,400}", LEFT),
    Rule(
        "newrelic-key",
        ("nrak-", "nrjs-", "nrii-", "nriq-", "nrra-", "nrbr-", "nral"),
        rf"(?:NR(?:AK|RA)-[A-Z0-9]{{24,32}}|NRI[IQ]-{_URL}{{28,40}}|NR(?:JS|BR)-[0-9a-f]{{16,24}}|[0-9a-z]{{34,38}}NRAL)",
        LEFT,
    ),
    Rule(
        "sentry-token",
        ("sntrys_", "sntryu_", "sntryi_"),
        r"sntry(?:s_eyJ[A-Za-z0-9+/=_-]{20,500}|[ui]_[0-9a-f]{60,68})",
        FREE,
    ),
    Rule("dynatrace-token", ("dt0",), r"dt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}", LEFT),
    Rule(
        "honeycomb-key",
        ("hcaik_", "hcamk_", "hcbik_", "hcbmk_", "hcxik_", "hcxmk_", "hcxlk_", "hcalk_"),
        r"hc[a-z](?:ik|mk|lk)_[a-z0-9]{26,64}",
        LEFT,
    ),
    Rule("posthog-key", ("phx_", "phs_"), rf"ph[xs]_{_W}{{32,60}}", LEFT),
    Rule("pagerduty-key", ("u+",), rf"u\+{_URL}{{18}}", BOTH, MIXED),
    # Keys and signed tokens of any vendor
    Rule(
        "jwt",
        ("eyj",),
        rf"eyJ{_URL}{{8,2000}}\.(?:eyJ{_URL}{{6,4000}}|{_URL}{{30,2000}})(?:\.{_URL}{{0,2000}}){{0,3}}",
        LEFT,
    ),
    Rule("nostr-key", ("nsec1",), r"nsec1[a-z0-9]{56,60}", LEFT, DIGIT),
    Rule("wallet-key", ("xprv", "yprv", "zprv", "tprv"), rf"[xyzt]prv{_W}{{90,120}}", LEFT, DIGIT),
    Rule(
        "private-key",
        ("miie", "miic", "miij", "miig", "migh", "mhcc", "mc4c", "mihc", "b3blbnnzac1rzxkt"),
        rf"(?:MII[A-Za-z0-9]{{3,5}}IBADANBgkqhkiG9w0BAQEFAASC|MII[A-Za-z0-9]{{4}}IBAAKC|MHcCAQEEI|MIGHAgEAMBMGByqGSM49|MIHcAgEB|MC4CAQAwBQYDK2VwBCIEI|b3BlbnNzaC1rZXktdjE){_B64}{{10,4000}}={{0,2}}",
        LEFT,
    ),
    Rule(
        "password-hash",
        ("$2a$", "$2b$", "$2y$", "$1$", "$5$", "$6$", "$y$", "$7$", "$apr1$", "$argon2", "$pbkdf2", "$scrypt$"),
        r"\$(?:2[aby]\$[0-9]{2}\$[A-Za-z0-9./]{53}|(?:1|5|6|y|7|apr1)\$(?:rounds=[0-9]{1,9}\$)?[A-Za-z0-9./]{1,32}\$[A-Za-z0-9./$]{20,90}|(?:argon2(?:id?|d)|pbkdf2[a-z0-9-]{0,10}|scrypt)\$[A-Za-z0-9+/=,.$_-]{40,300})",
        NONE,
    ),
)

# Values told by their place rather than their shape. In a scanned text NUL stands for what is redacted already.
_QUOTED = r'\\{0,3}"(?:[^"\\\n\0]|\\[^"\n\0]){1,400}\\{0,3}"|\\{0,3}\'(?:[^\'\\\n\0]|\\[^\'\n\0]){1,400}\\{0,3}\'|`[^`\n\0]{1,400}`'
_VALUE = rf"({_QUOTED}|[^\s\0]{{1,1000}})"
_KEYWORDS = (
    "pass(?:w(?:or[dt]|d)|phrase|code)?|pwd|pw|secret|token|cred(?:ential)?|key|auth|pin|otp|sas|salt|signature|sig|jwt"
    "|cookie|bearer|webhook|dsn|contrase(?:n|ñ)a|kennwort|session|sessid"
)
_KEY_LITERALS = (
    "pass", "pwd", "pw", "secret", "token", "cred", "key", "auth", "pin", "otp", "sas", "salt", "sig", "jwt",
    "cookie", "bearer", "webhook", "dsn", "contrase", "kennwort", "sess",
)  # fmt: skip
_SECRET_LITERALS = ("pass", "pwd", "pw", "secret", "token", "cred", "key", "auth")
_SECRET_NOUN = "pass(?:w(?:or[dt]|d)|phrase|code)?|pwd|pw|pin|secret|token|credential|key"
_SPACE = r"[ \t]{1,4}"
_GAP = r"[ \t]{0,8}"
_PARTS = r'(?:[\w-]{2,24}=(?:"[^"\n\0]{0,300}"|[^\s,"\0]{1,300})[ \t]{0,2},?[ \t]{0,2}){1,12}'

PLACES: tuple[Rule, ...] = (
    Rule(
        "url-password", ("://",), r"[A-Za-z][A-Za-z0-9+.-]{1,24}://([^\s\"`<>\0]{1,400}@)", NONE, Judge.USERINFO, ("@",)
    ),
    Rule("basic-auth", ("basic",), r"(?i:basic)[ \t]{1,4}([A-Za-z0-9+/_-]{6,400}={0,2})", NONE, Judge.BASIC),
    Rule(
        "docker-auth",
        ("auth",),
        rf'"auth\\{{0,3}}"{_GAP}:{_GAP}\\{{0,3}}"([A-Za-z0-9+/]{{6,400}}={{0,2}})',
        NONE,
        Judge.BASIC,
    ),
    Rule(
        "bearer-token",
        ("bearer",),
        r"(?i:bearer)(?:[ \t]{0,4}[:=])?[ \t\r\n]{1,4}[\"'`]?([A-Za-z0-9_.~+/=|:-]{8,2000})",
        NONE,
        RANDOM,
    ),
    Rule(
        "authorization",
        ("authorization",),
        rf"(?i:authorization)\\{{0,3}}[\"'`\]]{{0,2}}{_GAP}[:=]{_GAP}\\{{0,3}}[\"'`]?[A-Za-z][\w-]{{1,24}}{_SPACE}({_PARTS})",
        NONE,
    ),
    Rule(
        "authorization",
        ("authorization",),
        rf"(?i:authorization)\\{{0,3}}[\"'`\]]{{0,2}}{_GAP}[:=][ \t\r\n]{{0,8}}\\{{0,3}}[\"'`]?(?:[A-Za-z][\w-]{{1,24}}[ \t\r\n]{{1,4}})?([^\s\"'`\\\0]{{3,2000}})",
        NONE,
        Judge.HEADER,
    ),
    Rule(
        "cookie",
        ("cookie",),
        r"(?i:cookie2?)[\"'`\]]{0,2}[ \t]{0,4}[:=][ \t]{0,4}[\"'`]?((?:[^\s=;,\"'\0]{1,100}=[^\s;\"'\0]{0,2000}(?:;[ \t]{0,2}(?:(?i:httponly|secure|partitioned)(?:;[ \t]{0,2})?)?)?){1,40})",
        NONE,
        Judge.COOKIE,
    ),
    Rule(
        "session-cookie",
        ("sess", "sid"),
        r"(?i:[\w.-]{0,20}sess(?:ion)?(?:[_-]?id)?|connect\.sid|[\w-]{0,12}[_.-]sid|sid)=([A-Za-z0-9%_.~+/:=-]{12,2000})",
        NONE,
        RANDOM,
    ),
    Rule(
        "xml-value",
        _SECRET_LITERALS,
        rf"<(?:[\w.-]{{1,20}}:)?[\w.-]{{0,24}}(?i:pass(?:word|wd|phrase)?|pwd|secret|token|api[_-]?key|credential)[\w.-]{{0,16}}(?:[ \t][^<>\0]{{0,80}})?>([^<>\s\0]{{3,400}})</",
        NONE,
        Judge.QUOTED,
        ("</",),
    ),
    Rule(
        "netrc-password",
        ("password", "passwd"),
        rf"(?:login|user|account)[ \t\n]{{1,8}}[^\s\0]{{1,100}}[ \t\n]{{1,8}}passw(?:or)?d[ \t\n]{{1,8}}([^\s\0]{{1,400}})",
        NONE,
        Judge.QUOTED,
        ("login", "user", "account"),
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
        r"(?i:identified[ \t]{1,4}(?:with[ \t]{1,4}[\w\"']{1,40}[ \t]{1,4})?(?:by|as)(?:[ \t]{1,4}password)?|with[ \t]{1,4}(?:encrypted[ \t]{1,4})?password|password|for[ \t]{1,4}\S{1,80}[ \t]{0,4}=[ \t]{0,4}password\()[ \t]{0,4}'([^'\n\0]{1,200})'",
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
        "cli-password",
        ("curl", "wget", "http", "ldap", "smbclient"),
        r"(?:^|[ \t])(?:-u|-U|--user|--proxy-user|-a|--auth)[ \t=]{0,4}[\"']?[^\s:\"'\0]{1,80}:([^\s\"'\0]{1,200})",
        NONE,
        Judge.QUOTED,
        (" -u", " --user", " --proxy-user", " -a", " --auth"),
    ),
    Rule(
        "cli-password",
        (
            "mysql",
            "mariadb",
            "sshpass",
            "redis-cli",
            "docker",
            "podman",
            "helm",
            "ldap",
            "xfreerdp",
            "psql",
            "mongo",
            "7z",
            "unzip",
        ),
        r"(?:mysql(?:dump|admin)?|mariadb(?:-dump)?|sshpass|redis-cli|(?:docker|podman|helm)[ \t](?:registry[ \t])?login|ldap[a-z]{3,8}|mongo(?:sh|dump|restore)?)\b(?:[ \t]{1,4}[^\s\0]{1,80}){0,8}?[ \t]{1,4}-(?:p|a|w)[ \t]?[\"']?([^\s\"'\0-][^\s\"'\0]{2,200})",
        NONE,
        Judge.OPTION,
        (" -p", " -a", " -w"),
    ),
    Rule(
        "cli-password",
        _SECRET_LITERALS,
        rf"--?(?:[a-z0-9]{{1,20}}[_-]){{0,3}}(?i:pass(?:word|wd|phrase|code)?|pwd|token|secret|api-?key|(?:access|secret|private|auth|account)-?key|credential|psk)(?:-(?:id|key|base))?[ \t]{{1,4}}{_VALUE}",
        NONE,
        Judge.OPTION,
        ("-",),
    ),
    Rule(
        "assigned-secret",
        _KEY_LITERALS,
        rf"(?i:{_KEYWORDS})([\w.-]{{0,40}})\\{{0,3}}[\"'`*]{{0,3}}[\])]?(?:[ \t]\([^()\n\0]{{1,40}}\))?{_GAP}(:=|=>|->|={{1,3}}|!=|:[*]{{0,2}}|[?]=)(?:[ \t]{{0,8}}|[ \t]?[|>][+-]?\n[ \t]{{1,16}}|\r?\n[ \t]{{0,8}}){_VALUE}",
        NONE,
        Judge.VALUE,
        (":", "=", "->"),
    ),
    Rule(
        "prose-secret",
        _SECRET_LITERALS,
        rf"(?i:{_SECRET_NOUN})s?(?:[ \t]{{1,3}}(?:(?:for|of|on|in|at|to|from|as|the|our|my|a|an|this)[ \t]{{1,3}}){{1,2}}[\w.@/'-]{{1,40}}){{0,2}}{_SPACE}(?i:is|was|are|to|becomes|became|=|from|equals|now|reads)(?:{_SPACE}(?i:now|still|currently|just|set[ \t]to|probably|simply))?(?:[ \t]{{0,2}}:)?{_SPACE}{_VALUE}",
        NONE,
        Judge.PROSE,
    ),
    Rule("prose-secret", _SECRET_LITERALS, rf"(?i:{_SECRET_NOUN})s?[ \t]{{1,3}}{_VALUE}", NONE, Judge.BESIDE),
)

RULES = TOKENS + PLACES

# A word that says something about a secret instead of being one.
STATES = frozenset(
    """
    none null nil undefined unset empty missing absent blank void nan na n/a tbd todo fixme true false yes no on off
    required optional mandatory invalid valid expired expiring expires revoked rotated rotate rotating changed change wrong
    incorrect correct denied refused rejected accepted failed failure ok okay unknown default defaults hidden masked redacted
    removed deleted stripped encrypted hashed stored set unchanged present found not never must should can may will is was are
    has have had the a an in at to for from of on and or by as with without via see use used uses using get gets set sets read
    only also same new old this that it its your our my their his her any all some each per if when while where which who
    how what why then than but be been being needs need needed needs-rotation pending ready leaked exposed compromised
    generated provided supplied given passed sent received cached loaded loading created updated issued minted granted active
    inactive disabled enabled available unavailable unreadable unauthorized unauthenticated forbidden allowed secret secrets token
    tokens password passwords passwd key keys value values string str bytes byte bytearray int integer float number num bool
    boolean char text varchar object any dict list tuple array map optional union literal secretstr type types field fields
    column label name names id ids file path env environment variable variables config configuration settings vault keychain
    keyring manager stdin stdout prompt input output placeholder example sample dummy redacted censored public private basic
    bearer digest negotiate ntlm oauth oauth2 jwt saml oidc ldap kerberos md5 sha1 sha256 sha512 bcrypt argon2 scrypt pbkdf2 hs256
    rs256 es256 eddsa ed25519 rsa aes ecdsa base64 hex utf8 utf-8 plain plaintext cleartext short long weak strong bad good
    here there below above elsewhere soon later today tomorrow yesterday again already still now done test testing const let
    var def return self cls await async new function lambda print raise import pass continue break else elif not-set not_set
    unset? unchanged? same-as-before no-longer-valid per-user per-app read-only write-only read write admin user root
    """.split()
)
