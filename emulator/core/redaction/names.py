"""Recognise names of credentials: headers, query and form fields, JSON members, environment variables.

The values under such names are redacted in the journal, in recordings and in printed scenarios.
"""

import re
from typing import Literal

from emulator.core.cache import lru

Place = Literal["header", "field", "member", "variable"]
"""Location of a value. ``field``: query, form, multipart or URL. ``variable``: environment."""


def list_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


MAX_CACHED = 64  # characters of a name with a cached result
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W_]+")

# Suffixes after the significant word: ``x-hub-signature-256``, ``token_value``, ``x-ms-authorization-auxiliary``.
_AFTER = list_words(
    "1 2 3 4 5 v1 v2 256 512 sha1 sha256 sha512 auxiliary base64 b64 current data encoded new old plaintext "
    "previous primary raw secondary value values"
)
_LAST = list_words(
    "assertion assertions auth authn authentication authorization bearer cookie cookies credential credentials "
    "csrf dsn hmac jwt otp passcode passphrase passwd password passwords pin pwd secret secrets signature "
    "signatures token totp xsrf"
)
_PAIRS = frozenset(
    [
        *("auth code", "authorization code", "client cert", "client certificate", "code verifier", "connection string"),
        *("device code", "id token hint", "ms client principal", "saml request", "saml response", "user code"),
    ]
)
_JOINED = re.compile(
    r"(?:password|passwd|passphrase|passcode|secret|credentials?|cookie|authorization|connectionstring|samlresponse"
    r"|signature|apikeys?|(?:api|auth|access|refresh|csrf|xsrf|session|bearer|id|user|bot|device|security|personal"
    r"|private|oauth|login|sas|jwt|service|admin|client|github|gitlab|hf)tokens?)$"
)
# Words before ``key`` that mark a credential. In headers and environments any other word does, unless in ``_NAMING``.
_OPENING = list_words(
    "access account admin api app application auth client consumer decryption deploy encryption functions "
    "function host license litellm master node password private secret service shared signing ssh storage "
    "subscription webhook write read"
)
_NAMING = list_words(
    "cache dedup deduplication dictionary foreign group idempotency lookup message object ordering partition "
    "primary public routing shard socket sort surrogate translation websocket"
)
# Words before ``token`` that mark a token of text or a pagination cursor.
_PIECES = list_words(
    "begin bos cls completion continuation decoder end eos eot first generated image input last mask max min new "
    "next output pad page per prefix prompt reasoning sep special start stop suffix think top unk video audio"
)
_FIELDS = list_words(
    "code key sig sid sessionid phpsessid jsessionid aspnetsessionid"
)  # credentials in a query or a form only
_HEADERS = list_words("session xsession sessionid xsessionid mcpsessionid xforwardedclientcert")


def is_secret_name(place: Place, name: str) -> bool:
    """Return whether a name marks its value as a credential; case, camel case and separators are ignored."""
    return _is_secret_cached(place, name) if len(name) <= MAX_CACHED else _is_secret(place, name)


@lru(4096)
def _is_secret_cached(place: Place, name: str) -> bool:
    return _is_secret(place, name)


def split_name(name: str) -> list[str]:
    """Split a name into lower-case words: ``X-Amz-Credential``, ``xAmzCredential`` → ``x``, ``amz``, ``credential``."""
    return [word.lower() for word in _WORD.findall(_HUMP.sub("-", name))]


def _is_secret(place: Place, name: str) -> bool:
    words = split_name(name)
    if not words:
        return False
    if words[-1] == "plaintext":
        return True
    joined = "".join(words)
    if (place == "field" and joined in _FIELDS) or (place == "header" and joined in _HEADERS):
        return True
    while len(words) > 1 and words[-1] in _AFTER:
        words.pop()
    return _is_credential(words) or _is_key(place, words)


def _is_credential(words: list[str]) -> bool:
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in ("token", "tokens") and before in _PIECES:
        return False
    if last in _LAST or (last == "pass" and len(words) <= 2):
        return True
    return bool(_PAIRS & {" ".join(words[-2:]), " ".join(words[-3:])}) or _JOINED.search("".join(words)) is not None


def _is_key(place: Place, words: list[str]) -> bool:
    """Return whether the last word is ``key`` and the word before marks a credential."""
    if words[-1] not in ("key", "keys") or len(words) < 2:
        return _is_joined_key(words[-1])
    if words[-2] in _OPENING:
        return True
    return words[-1] == "key" and place in ("header", "variable") and words[-2] not in _NAMING


def _is_joined_key(word: str) -> bool:
    return word.endswith("key") and word.removesuffix("key") in _OPENING
