"""The words that judges know: what says something about a secret without being one, and what names are made of."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# A word that says something about a secret instead of being one.
STATES = _words(
    """
    none null nil undefined unset empty missing absent blank void nan na n/a tbd todo fixme true false yes no on
    off required optional mandatory invalid valid expired expiring expires revoked rotated rotate rotating changed
    change wrong incorrect correct denied refused rejected accepted failed failure ok okay unknown default
    defaults hidden masked redacted removed deleted stripped encrypted hashed stored set unchanged present found
    not never must should can may will is was are has have had the a an in at to for from of on and or by as with
    without via see use used uses using get gets set sets read only also same new old this that it its your our my
    their his her any all some each per if when while where which who how what why then than but be been being
    needs need needed needs-rotation pending ready leaked exposed compromised generated provided supplied given
    passed sent received cached loaded loading created updated issued minted granted active inactive disabled
    enabled available unavailable unreadable unauthorized unauthenticated forbidden allowed secret secrets token
    tokens password passwords passwd key keys value values string str bytes byte bytearray int integer float
    number num bool boolean char text varchar object any dict list tuple array map optional union literal
    secretstr type types field fields column label name names id ids file path env environment variable variables
    config configuration settings vault keychain keyring manager stdin stdout prompt input output placeholder
    example sample dummy redacted censored public private basic bearer digest negotiate ntlm oauth oauth2 jwt saml
    oidc ldap kerberos md5 sha1 sha256 sha512 bcrypt argon2 scrypt pbkdf2 hs256 rs256 es256 eddsa ed25519 rsa aes
    ecdsa base64 hex utf8 utf-8 plain plaintext cleartext short long weak strong bad good here there below above
    elsewhere soon later today tomorrow yesterday again already still now done test testing const let var def
    return self cls await async new function lambda print raise import pass continue break else elif not-set
    not_set unset? unchanged? same-as-before no-longer-valid per-user per-app read-only write-only read write
    admin user root
    """
)

# Those of them that people do use as passwords: values where syntax says that a value stands.
GUESSED = frozenset({"admin", "default", "guest", "pass", "passwd", "password", "root", "secret", "test", "user"})

# Words of names. "X key" is a secret for these X, and no secret for those of NOT_KEYS.
KEY_OF = _words(
    """
    api access secret private auth account encryption encrypt signing sign master service app client admin deploy
    license storage shared subscription bot integration write rest server session consumer hmac aes rsa ssh ssl
    tls root token webhook ingest ingestion user security function host personal management provisioning cipher
    crypto wallet vault
    """
)
NOT_KEYS = _words(
    """
    public primary cache sort partition foreign idempotency dedup object row hash group map dict index lookup
    storage s3 column unique natural composite surrogate hot short pub fingerprint message routing translation
    i18n config json search commit git build sha digest checksum block tree etag content blob layer image chunk
    record entity event request trace span batch job task issue
    """
)
# A name that ends so is about a secret and holds none.
TELLING_ABOUT = _words(
    """
    file path url uri id ids name names count length len size type ttl expiry expires expiration expire limit
    budget usage used policy arn header prefix suffix field param env ref version at in is has date time day mode
    status state enabled required host endpoint format kind class index source location dir manager store provider
    scope scopes rotation age bucket label hint tokens tokenizer reset min max per num total cost rate window left
    remaining valid strength rules algorithm alg method hash
    """
)
# A name that ends so holds a secret only if the value looks random.
WEAK_NAMES = _words(
    """
    key keys auth authorization pin otp totp salt signature sig cookie webhook session sessionid sessid
    """
)
# What may follow the telling word of a name without changing what it holds.
SAME_NAME = _words(
    """
    prod production dev staging stage test qa value base old new current default main db root admin word phrase s
    key
    """
)
