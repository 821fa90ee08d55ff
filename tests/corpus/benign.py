"""Lines that hold no secret, as operators and agents write them: not one may be touched.

Fixed lines, and templates that are filled with ids, hashes, paths and numbers from a seeded generator.
"""

import random
import re

_TEMPLATES = """
session <ses> resumed from <ses>
linked <pln> and <op> to <ses>
deployed <dep> on <host>
approval <apr> granted for <pln>
op <op> finished in <n> ms
checkpoint <n> of <ses>, next <pln>
commit <sha> on main
reverted <short>, then cherry-picked <short>
merge <sha> into release/<ver>
image registry.example.com/api@sha256:<sha256>
sha256 <sha256>  dist/app-<ver>.tar.gz
md5 <md5>
etag "<md5>"
request <uuid> took <n> ms
trace_id=<md5> span_id=<hex16>
correlation-id: <uuid>
X-Request-Id: <uuid>
GET https://api.example.com/v1/items/<uuid>?page=<n>&sort=name
see https://github.com/example/repo/pull/<n>/files#diff-<sha256>
see https://example.com/docs/<word>/<word>#<word>-<n>
https://ci.example.com/job/<n>/console?ref=<short>
opened <path>/<word>.py line <n>
wrote <path>/<word>-<n>.json (<n> bytes)
ls -la <path>
task-<n> waits on task-<n>
issue #<n> blocks milestone m<n>
disk-full on <host>, <n> % used
moved to <region>, zone <region>-b
upgrade <word> from <ver> to <ver>
pip install <word>==<ver>
npm i @scope/<word>@<ver>
<word>-<word>-<n>.svc.cluster.local:8080
pod <word>-<md5short>-x<n>k2p restarted <n> times
at 2026-11-0<d>T1<d>:2<d>:00Z the <word> job failed
<n> tokens used of <n>, cost 0.<n>
max_tokens=<n> temperature=0.<d>
prompt_tokens: <n>, completion_tokens: <n>, total_tokens: <n>
cache key <md5> missed
cache_key=<word>:<n>:<md5>
primary key (<word>_id, <word>_id)
idempotency-key: <uuid>
git checkout -b feature/<word>-<n>
docker run -p <n>:8080 --name <word> example/<word>:<ver>
docker run -u 1000:1000 example/<word>@sha256:<sha256>
kubectl get pods -n <word> -o wide
curl -sS https://example.com/<word>?q=<word>&limit=<n>
ssh ops@<host> uptime
scp ops@<host>:<path>/<word>.log .
postgres://<host>:5432/<word>
redis://<host>:6379/<d>
mailto:<word>@example.com
<word>@example.com asked about <word>-<n>
from <word>.<word> import <word>
def <word>(<word>: str, <word>: int = <n>) -> bool:
assert <word>["<word>"] == <n>
{"session_id": "<ses>", "rev": <n>, "status": "active"}
{"plan_ids": ["<pln>", "<pln>"], "operation_ids": ["<op>"]}
{"id": "<uuid>", "name": "<word>", "count": <n>}
lease_epoch <d>, holder <word>-<n>, expires in <n> s
rev <n> != <n>: SESSION_CONFLICT
E   AssertionError: <n> != <n>
File "<path>/<word>.py", line <n>, in <word>
0x<hex16> <hex16> <hex16>
ab:cd:ef:<d>2:<d>4:<d>6
ip 10.<d>.<d>.<d>, port <n>
version <ver>+<short>
build <ver>-rc.<d> (<short>)
key <md5> not found in index
page token: none, next page: <n>
password: changed <n> days ago
token expires in <n> seconds
rotated secret version <d> of <word>
secret/<word>/<word> has <n> versions
vault:secret/data/<word>#value
file:///<path>/<word>.txt
<path>/.ssh/id_ed25519.pub
token_count=<n>
""".strip().split("\n")

_FIXED = """
rotate the api key
rotate the api key before friday, then tell ops
token: missing
token: expired
token: none
token: invalid, try again
api_key: none
api_key: missing
api_key: required
api key: not set
password: <unset>
password: ********
password: required for login
password: (hidden)
password: [REDACTED]
password: null
password: ""
password=
password: ${DB_PASSWORD}
password: $DB_PASSWORD
password: {{ vault_password }}
password: !vault |
password: see the vault
password is required
password is wrong
the password is stored in the vault
the password is not set
password must be at least 12 characters
the password is 12 characters long
password reset mail was sent
the root password is rotated monthly
the token is valid for 3600s
the token is expired
the token was revoked yesterday
the secret is mounted at /run/secrets/db
secret: missing
secret: mounted
secret not found: api-credentials
secretName: database-credentials
secretKeyRef:
secret_name = "prod-db-credentials"
secretRef: api-token
TOKEN=$TOKEN
TOKEN=${TOKEN}
export TOKEN=$(cat /run/secrets/token)
API_KEY=$API_KEY ./run.sh
API_KEY=<your key>
API_KEY=your-api-key-here
API_KEY=xxxxxxxxxxxx
GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}
os.environ["API_KEY"]
token = os.environ["API_KEY"]
token = os.getenv("TOKEN")
api_key = settings.api_key
api_key=config.api_key,
self.password = password
password = getpass.getpass()
username, password = split
flags to pass to StartServiceByName (none yet)
userpass = username + b":" + password
Token.Comment: "italic #A3AAB2"
PWD: '/Users/ops'
read the password from $HOME/.pypirc
password = input("Password: ")
if token is None:
if password == "":
if not token: raise ValueError("token is missing")
def login(user: str, password: str) -> Token:
def redact(text: str, secret: bytes | None = None) -> str:
token: str | None = None
secret: SecretStr
password: Optional[str] = None
password: string;
private key: RSAPrivateKey
key = lambda row: row.created_at
sorted(rows, key=lambda row: row.id)
sorted(rows, key=itemgetter("created_at"))
for key, value in items.items():
keys = sorted(index)
key: value
key=value
cache_key = f"{app}:{rev}"
tokens = tokenizer.encode(text)
next_token = response["next_token"]
const token = await getToken();
const { token } = useAuth();
headers = {"Authorization": f"Bearer {token}"}
headers={"X-API-Key": api_key}
Authorization: Bearer <token>
Authorization: Bearer $TOKEN
Authorization: none
Authorization header is missing
authorization: denied by policy
bearer token required
basic auth is off
Basic authentication failed
basic authentication over https
auth: ok
auth_mode: oidc
author: Ada Lovelace
authors: see AUTHORS
Cookie: theme=dark; lang=en
cookies are cleared at logout
session=active
session: closed
session storage is full
signature: valid
signature mismatch on image
passed: 12, failed: 0
pass: 12
3 passed, 1 failed in 2.41s
pass the flag to the runner
compass: north
bypass=true
the turkey and the monkey
monkey=banana
hockey: 3-2
keyboard: us
keyboard layout is de-latin1
secretary: Jane Doe
tokenizer: cl100k_base
tokenization took 12 ms
no tokens left for today
pin: see the ticket
pin the version to 1.2.3
pinned numpy==1.26.4
pinned at v2.1.0
spin: 3
otp is enabled
salt: kosher
credentials: see the runbook
credentials are rotated by the platform team
Credentials file not found
--password is deprecated, use --password-file
--password-file /run/secrets/db
--token-file=/run/secrets/token
--api-key-env API_KEY
use --token to pass the token
use the --password option
pass --secret-name db to the job
task-42
disk-full
asia-east1
greyjoy
desk-sk-lights
risk-assessment-for-the-new-platform
ask-the-oncall-engineer-before-restart
mask-layer-with-attention-head-pruning
sk-learn is a package
scikit-learn 1.5.0
flask-sqlalchemy-migrations-and-tools
a task-force-of-engineers-was-assembled
https://example.com/
https://example.com/a/b/c?x=1&y=2
https://example.com:8443/path
https://example.com/@user/post
https://medium.com/@someone/a-long-title-about-lease-fencing-1a2b3c4d5e6f
https://registry.npmjs.org/@scope/pkg/-/pkg-1.2.3.tgz
https://hooks.slack.com is down
https://host:8080/foo@bar
git+https://github.com/org/repo@v1.2.3#egg=repo
git@github.com:org/repo.git
ssh://git@github.com/org/repo.git
postgres://localhost/db
postgres://user@localhost/db
postgres://user:$PASSWORD@localhost/db
postgres://user:${PASSWORD}@localhost/db
postgres://user:***@localhost/db
postgres://user:[REDACTED:url-password]@localhost/db
redis://cache:6379/0
amqp://mq:5672
jdbc:postgresql://db:5432/app
s3://bucket/key/with/parts
gs://bucket/2026/11/30/part-00001.parquet
arn:aws:iam::123456789012:role/deploy
arn:aws:secretsmanager:eu-west-1:123456789012:secret:db-AbCdEf
projects/my-project/secrets/db/versions/latest
[REDACTED:github-token]
GITHUB_TOKEN=[REDACTED:github-token]
password: [REDACTED:assigned-secret], rotated
Authorization: Bearer [REDACTED:bearer-token]
the old one was [REDACTED:openai-key] and is gone
-----BEGIN CERTIFICATE-----
-----BEGIN PUBLIC KEY-----
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI ops@example
begin private key rotation
the PRIVATE KEY of the cluster is in the HSM
Ed25519PrivateKey.generate()
class TokenBucket:
class SecretStore(Protocol):
import secrets
secrets.token_hex(8)
from getpass import getpass
hashlib.sha256(b"x").hexdigest()
base64.b64encode(data)
uuid.uuid4()
SELECT password_hash FROM users WHERE id = 7
ALTER TABLE users ADD COLUMN token text
CREATE INDEX idx_token ON sessions (token_id)
INSERT INTO keys (id, name) VALUES (1, 'a')
PRIMARY KEY (session_id, seq)
grep -rn "api_key" phelix_core/
sed -i 's/token/lease/g' README.md
rg 'password\\s*=' --type py
echo "done" | tee -a build.log
export PATH=$HOME/.local/bin:$PATH
export KEY_FILE=/etc/ssl/private/server.key
chmod 0600 ~/.ssh/id_rsa
ssh-keygen -t ed25519 -C ops@example.com
openssl req -new -key server.key -out server.csr
gpg --list-secret-keys
kubectl create secret generic db --from-file=./password.txt
kubectl get secret db -o yaml
vault kv get secret/app
vault token lookup
aws secretsmanager get-secret-value --secret-id db
gh auth token
gh auth status
docker login -u ops --password-stdin registry.example.com
npm token list
HTTP 401: token is not valid
HTTP 403: API key not valid. Please pass a valid API key.
error: invalid_grant (refresh token expired)
PermissionError: [Errno 13] Permission denied: '/run/secrets/db'
KeyError: 'api_key'
KeyError: 'password'
TypeError: login() missing 1 required positional argument: 'password'
pydantic: password: Field required
tls: private key does not match public key
ssh: handshake failed: publickey denied
x509: certificate signed by unknown authority
jwt expired at 2026-11-30T10:00:00Z
JWT signature verification failed
alg: HS256, typ: JWT
grant_type=client_credentials
response_type=code&scope=openid
client_id=console&redirect_uri=https%3A%2F%2Fexample.com%2Fcb
sort_key: created_at
partition_key=region
public_key: ed25519
foreign key user_id references users(id)
hot key in shard 3
hotkey: ctrl+k
key binding: q quits
press any key to continue
the key point is that leases expire
the key to success is patience
secret sauce: none
an open secret is no secret
pass phrase prompts are off
Wi-Fi password is on the wall
password hint: the usual
password policy: 12+ chars, 1 digit
password_min_length = 12
password_hash_algorithm: argon2
token_ttl=3600
token_type: Bearer
token endpoint: https://idp.example.com/oauth2/token
token budget is 200k
token-bucket rate limiter, 50/s
access_token_expires_in: 3600
refresh_token: null
id_token: omitted
csrf token missing or incorrect
auth token: <redacted>
X-API-Key: <your key>
x-api-key header is required
apiKey: process.env.API_KEY,
apiKey: string
"apiKey": "${API_KEY}"
"password": "********"
"token": null,
"secret": true
"type": "password"
<input type="password" name="password" />
<password></password>
placeholder="Password"
label: Password
Password:
Token:
secrets:
  - name: db-password
env:
  valueFrom:
db.password=
spring.datasource.password=${DB_PASS}
ansible_password: "{{ lookup('env', 'PASS') }}"
no secret here, only words
step 1: build, step 2: test, step 3: deploy
restarted the worker, backlog is 0
handoff: tests are green, docs are missing
blocked on review by @ada
retry 3/5 after 20 s
canary at 10 %, errors 0.02 %
p50 18 ms, p95 22 ms, max 41 ms
WAL is 87 MiB, checkpoint is starved
lease lost at epoch 4, recovered at epoch 5
OUTCOME_UNKNOWN: read again before you retry
LEASE_CONFLICT, nothing written
SESSION_INVALID_TRANSITION (exit 3)
Jain index 0.98 at 32 processes
Grüße aus Köln, alles läuft
デプロイ完了、問題なし
всё работает, токен не нужен
C'est terminé, le mot de passe est changé
“quoted prose” — with dashes, and an ellipsis…
emoji are fine 🚀 done ✅
tabs\tand  double  spaces  stay
a=1, b=2, c=3
x = y[0]["name"] if y else None
return {k: v for k, v in rows if v}
lorem ipsum dolor sit amet consectetur adipiscing elit
ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789
abcdefghijklmnopqrstuvwxyz
The quick brown fox jumps over the lazy dog
AKIA is the prefix of an access key id
tokens that start with ghp_ are GitHub's
sk-ant- and sk-proj- are prefixes
look for eyJ at the start
a -----BEGIN line starts a key block
mode 0600, owner root, size 4096
+- 3 files changed, 12 insertions(+), 4 deletions(-)
diff --git a/phelix_core/text.py b/phelix_core/text.py
@@ -12,7 +12,9 @@ def visible(text: str) -> SafeStr:
cron: 0 3 * * 1-5
regex: ^ses_[0-9a-f]{16}$
glob: src/**/*.{ts,tsx}
C:\\Users\\ops\\AppData\\Local\\Temp\\build.log
/var/lib/phelix/sessions/ses_0123456789abcdef.json
/nix/store/0c2v5k7zq3y1m9x4b8n6w2r5t7s1d3f9-python3-3.11.9/bin/python
~/.cache/pip/http-v2/a/b/c/d/e/abcde0123456789
node_modules/.pnpm/vite@5.4.2_@types+node@20.16.1/node_modules/vite
""".strip().split("\n")

_WORDS = (
    "api",
    "lease",
    "worker",
    "console",
    "queue",
    "index",
    "reader",
    "writer",
    "plan",
    "session",
    "journal",
    "cursor",
    "theme",
    "table",
    "runner",
    "adapter",
)
_REGIONS = ("asia-east1", "us-east-1", "eu-west-3", "europe-west4", "ap-southeast-2")
_PATHS = ("/var/log/app", "/srv/deploy/current", "./build/output", "~/src/main", "/etc/phelix", "src/components")
_EACH = 12


def benign() -> list[str]:
    """All of them, the same in every run."""
    seed = random.Random("benign")
    return [*_FIXED, *(_filled(template, seed) for template in _TEMPLATES for _ in range(_EACH))]


def _hex(size: int, seed: random.Random) -> str:
    return "".join(seed.choice("0123456789abcdef") for _ in range(size))


def _filled(template: str, seed: random.Random) -> str:
    values = {
        "ses": lambda: f"ses_{_hex(16, seed)}",
        "pln": lambda: f"pln_{_hex(16, seed)}",
        "op": lambda: f"op_{_hex(16, seed)}",
        "apr": lambda: f"apr_{_hex(16, seed)}",
        "dep": lambda: f"dep-{_hex(12, seed)}",
        "sha": lambda: _hex(40, seed),
        "short": lambda: _hex(8, seed),
        "sha256": lambda: _hex(64, seed),
        "md5": lambda: _hex(32, seed),
        "md5short": lambda: _hex(10, seed),
        "hex16": lambda: _hex(16, seed),
        "uuid": lambda: "-".join(_hex(size, seed) for size in (8, 4, 4, 4, 12)),
        "host": lambda: f"web-{seed.randint(1, 40)}.example.com",
        "region": lambda: seed.choice(_REGIONS),
        "path": lambda: seed.choice(_PATHS),
        "word": lambda: seed.choice(_WORDS),
        "ver": lambda: f"{seed.randint(0, 9)}.{seed.randint(0, 30)}.{seed.randint(0, 9)}",
        "n": lambda: str(seed.randint(2, 4000)),
        "d": lambda: str(seed.randint(0, 9)),
    }
    return re.sub(r"<([a-z0-9]+)>", lambda match: values[match[1]](), template)
