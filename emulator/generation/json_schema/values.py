"""Generate realistic strings and numbers by the name of a property (``billingCity`` → a city) or by ``format``.

The builder of instances takes them where a schema leaves a choice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from emulator.core.cache import lru
from emulator.core.json import JSON
from emulator.core.rng import draw_hex, draw_integer, draw_uuid
from emulator.generation.step_budget import load

if TYPE_CHECKING:
    from faker import Faker

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_EXAMPLE = re.compile(
    r"(?:e\.g\.|for example|such as|like),?:? +(?:[\"'`]([^\"'`]{1,60})[\"'`]|([A-Z0-9][^.;:()\"]{0,60}))"
)
_PLAIN: tuple[float, float] = (1, 100)


def seeded(key: bytes) -> Faker:
    """Return the thread's Faker, seeded by ``key``.

    Raises:
        TooLong: the library is not loaded yet.
    """
    load("emulator.generation.json_schema.faker_values")
    from emulator.generation.json_schema.faker_values import FAKERS

    faker = FAKERS.one
    faker.seed_instance(int.from_bytes(key[:8], "big"))
    return faker


@lru(4096)
def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a name: ``("billing", "city")`` of both ``billingCity`` and ``billing_city``."""
    return tuple(word.lower() for word in _WORDS.findall(name))


def draw_date(key: bytes) -> str:
    """Draw a day of 2024 to 2026."""
    year, month, day = 2024 + draw_integer(key, 3, "y"), 1 + draw_integer(key, 12, "m"), 1 + draw_integer(key, 28, "d")
    return f"{year}-{month:02}-{day:02}"


def draw_time(key: bytes) -> str:
    second = draw_integer(key, 86_400, "time")
    return f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"


def draw_date_time(key: bytes) -> str:
    return f"{draw_date(key)}T{draw_time(key)}"


def draw_id(key: bytes) -> str:
    return draw_hex(key, "id", digits=12)


def _fake(name: str, **options: int | str) -> Callable[[bytes], str]:
    def write(key: bytes) -> str:
        return str(getattr(seeded(key), name)(**options)).replace("\n", ", ")

    return write


def plain_word(key: bytes) -> str:
    """Return a lower-case word."""
    return str(seeded(key).word())


def _title(key: bytes) -> str:
    return " ".join(seeded(key).words(2)).title()


def _version(key: bytes) -> str:
    return ".".join(str(draw_integer(key, 10, part)) for part in ("major", "minor", "patch"))


def _among(*values: str) -> Callable[[bytes], str]:
    return lambda key: values[draw_integer(key, len(values), "among")]


def _phrase(key: bytes) -> str:
    return str(seeded(key).sentence(nb_words=3)).rstrip(".")


_TEXTS: Mapping[str, Callable[[bytes], str]] = {
    "email": _fake("safe_email"), "mail": _fake("safe_email"),
    "firstname": _fake("first_name"), "lastname": _fake("last_name"), "surname": _fake("last_name"),
    "fullname": _fake("name"), "author": _fake("name"), "person": _fake("name"), "customer": _fake("name"),
    "recipient": _fake("name"), "sender": _fake("name"), "owner": _fake("name"), "contact": _fake("name"),
    "artist": _fake("name"), "username": _fake("user_name"), "login": _fake("user_name"),
    "nickname": _fake("user_name"),
    "user": _fake("user_name"), "password": _fake("password", length=12),
    "city": _fake("city"), "town": _fake("city"), "location": _fake("city"), "place": _fake("city"),
    "destination": _fake("city"), "origin": _fake("city"),
    "country": _fake("country"), "countrycode": _fake("country_code"), "state": _fake("state"),
    "region": _fake("state"), "province": _fake("state"), "street": _fake("street_address"),
    "address": _fake("address"), "zip": _fake("postcode"), "zipcode": _fake("postcode"), "postcode": _fake("postcode"),
    "postal": _fake("postcode"), "postalcode": _fake("postcode"), "timezone": _fake("timezone"),
    "phone": _fake("numerify", text="+1-555-01##"), "mobile": _fake("numerify", text="+1-555-01##"),
    "telephone": _fake("numerify", text="+1-555-01##"), "fax": _fake("numerify", text="+1-555-01##"),
    "company": _fake("company"), "organization": _fake("company"), "organisation": _fake("company"),
    "employer": _fake("company"), "manufacturer": _fake("company"), "vendor": _fake("company"),
    "brand": _fake("company"), "publisher": _fake("company"), "job": _fake("job"), "occupation": _fake("job"),
    "profession": _fake("job"), "department": _among("Sales", "Support", "Research", "Finance", "Operations"),
    "url": _fake("url"), "uri": _fake("url"), "link": _fake("url"), "href": _fake("url"), "website": _fake("url"),
    "homepage": _fake("url"), "image": _fake("image_url"), "avatar": _fake("image_url"), "domain": _fake("domain_name"),
    "host": _fake("hostname"), "hostname": _fake("hostname"), "ip": _fake("ipv4_private"),
    "mac": _fake("mac_address"), "path": _fake("file_path"), "file": _fake("file_name"),
    "extension": _fake("file_extension"), "mime": _fake("mime_type"),
    "date": draw_date, "day": draw_date, "birthday": draw_date, "birthdate": draw_date, "dob": draw_date,
    "time": draw_date_time, "datetime": draw_date_time, "timestamp": draw_date_time, "at": draw_date_time,
    "created": draw_date_time, "updated": draw_date_time, "modified": draw_date_time, "expires": draw_date_time,
    "id": draw_id, "identifier": draw_id, "uuid": draw_uuid, "guid": draw_uuid, "hash": draw_hex, "sha": draw_hex,
    "token": draw_hex, "key": draw_id, "sku": _fake("bothify", text="??-####"), "isbn": _fake("isbn13"),
    "code": _fake("bothify", text="??##"), "version": _version, "color": _fake("hex_color"),
    "colour": _fake("hex_color"), "currency": _fake("currency_code"), "language": _fake("language_code"),
    "locale": _fake("locale"), "gender": _among("female", "male", "other"), "iban": _fake("iban"),
    "status": _among("active", "pending", "completed"), "unit": _among("kg", "m", "piece"),
    "priority": _among("low", "medium", "high"), "price": _fake("numerify", text="##.#9"),
    "title": _fake("sentence", nb_words=4), "subject": _fake("sentence", nb_words=4),
    "headline": _fake("sentence", nb_words=6), "query": _phrase, "question": _phrase, "topic": plain_word,
    "description": _fake("sentence", nb_words=10), "summary": _fake("sentence", nb_words=10),
    "comment": _fake("sentence", nb_words=8), "message": _fake("sentence", nb_words=8),
    "text": _fake("sentence", nb_words=10), "content": _fake("sentence", nb_words=12),
    "body": _fake("sentence", nb_words=12), "note": _fake("sentence", nb_words=8),
    "notes": _fake("sentence", nb_words=8), "reason": _fake("sentence", nb_words=8),
    "answer": _fake("sentence", nb_words=8), "explanation": _fake("sentence", nb_words=12),
    "rationale": _fake("sentence", nb_words=10), "reasoning": _fake("sentence", nb_words=12),
    "thought": _fake("sentence", nb_words=10), "output": _fake("sentence", nb_words=6),
    "result": _fake("sentence", nb_words=6), "instruction": _fake("sentence", nb_words=8),
    "step": _fake("sentence", nb_words=8), "review": _fake("sentence", nb_words=12),
    "participant": _fake("name"), "attendee": _fake("name"), "member": _fake("name"), "patient": _fake("name"),
    "employee": _fake("name"), "student": _fake("name"), "character": _fake("name"), "actor": _fake("name"),
    "companyname": _fake("company"), "filename": _fake("file_name"), "cityname": _fake("city"),
    "countryname": _fake("country"), "domainname": _fake("domain_name"), "productname": _title,
    "displayname": _fake("name"), "product": _title, "item": _title, "book": _title, "movie": _title, "event": _title,
    "ipaddress": _fake("ipv4_private"), "emailaddress": _fake("safe_email"), "streetaddress": _fake("street_address"),
    "macaddress": _fake("mac_address"), "mimetype": _fake("mime_type"), "contenttype": _fake("mime_type"),
    "phonenumber": _fake("numerify", text="+1-555-01##"), "ordernumber": _fake("numerify", text="ORD-######"),
    "invoicenumber": _fake("numerify", text="INV-######"), "number": _fake("numerify", text="######"),
    "ssn": _fake("ssn"), "skill": _fake("job"), "keyword": plain_word, "genre": plain_word, "ingredient": plain_word,
    "name": _fake("name"), "tag": plain_word, "category": plain_word, "label": plain_word,
    "type": plain_word, "slug": _fake("slug"),
}  # fmt: skip

_NUMBERS: Mapping[str, tuple[float, float]] = {
    "age": (18, 80), "year": (1990, 2026), "month": (1, 12), "day": (1, 28), "hour": (0, 23),
    "minute": (0, 59), "second": (0, 59), "statuscode": (200, 504), "price": (1, 500), "amount": (1, 1000),
    "total": (10, 2000), "cost": (1, 500),
    "salary": (30_000, 150_000), "quantity": (1, 20), "count": (1, 50), "rating": (1, 5), "score": (0, 100),
    "percent": (0, 100), "percentage": (0, 100), "probability": (0, 1), "confidence": (0, 1), "rate": (0, 1),
    "ratio": (0, 1), "latitude": (-60, 70), "lat": (-60, 70), "longitude": (-180, 180), "lng": (-180, 180),
    "lon": (-180, 180), "temperature": (-10, 35), "humidity": (20, 90), "port": (1024, 9999), "width": (10, 1920),
    "height": (10, 1080), "weight": (1, 100), "id": (1, 99_999), "timestamp": (1_700_000_000, 1_790_000_000),
    "limit": (1, 50), "page": (1, 10), "offset": (0, 100), "size": (1, 100), "index": (0, 10),
}  # fmt: skip


def text_for(name: str, key: bytes) -> str:
    """Return a string for a property of this name; a few words if the name is unknown."""
    words = words_of(name)
    for known in ("".join(words), "".join(words[-2:]), *reversed(words)):
        writer = _TEXTS.get(known) or _TEXTS.get(singular(known))
        if writer is not None:
            return writer(key)
    return _phrase(key)


def described(description: JSON) -> list[str]:
    """Return the example in a description: ``Oslo`` of "The city, e.g. Oslo"."""
    match = _EXAMPLE.search(description[:500]) if isinstance(description, str) else None
    return [match[1] or match[2].strip()] if match else []


def singular(word: str) -> str:
    """Return the singular of an English noun: ``city`` of ``cities``, ``tag`` of ``tags``."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def range_for(name: str) -> tuple[float, float]:
    """Return the plausible range of a number property of this name."""
    words = words_of(name)
    return next((_NUMBERS[word] for word in ("".join(words[-2:]), *reversed(words)) if word in _NUMBERS), _PLAIN)


def format_text(name: str, key: bytes) -> str | None:
    """Return a string of a named format; ``None``: the format is not supported."""
    writer = _FORMATS.get(name)
    return None if writer is None else writer(key)


_FORMATS: Mapping[str, Callable[[bytes], str]] = {
    "date": draw_date, "time": draw_time, "date-time": draw_date_time,
    "duration": lambda key: f"P{1 + draw_integer(key, 28, 'days')}DT{1 + draw_integer(key, 23, 'hours')}H",
    "email": _fake("safe_email"), "idn-email": _fake("safe_email"), "hostname": _fake("hostname"),
    "idn-hostname": _fake("hostname"), "ipv4": _fake("ipv4_private"), "ipv6": _fake("ipv6"),
    "uri": _fake("url"), "url": _fake("url"), "iri": _fake("url"), "uri-reference": _fake("uri_path"),
    "iri-reference": _fake("uri_path"), "uuid": draw_uuid,
    "uri-template": lambda key: f"https://example.com/{plain_word(key)}/{{id}}",
    "json-pointer": lambda key: f"/{plain_word(key)}/{draw_integer(key, 10, 'index')}",
    "relative-json-pointer": lambda key: f"{draw_integer(key, 3, 'up')}/{plain_word(key)}",
    "regex": lambda key: f"^{plain_word(key)}[0-9]+$",
    "phone": _fake("numerify", text="+1-555-01##"), "color": _fake("hex_color"),
    "byte": lambda key: draw_hex(key, digits=8),
}  # fmt: skip

_D, _T = r"[12][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])", r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
_ZONE = r"(\.[0-9]{1,9})?(Z|[+-](0[0-9]|1[0-2]):[0-5][0-9])"
_LABELS = r"[a-z]([a-z0-9]{0,20}[a-z0-9])?(\.[a-z]([a-z0-9]{0,20}[a-z0-9])?)*"
_BYTE = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"

FORMAT_PATTERNS: Mapping[str, str] = {
    "date": f"^{_D}$", "time": f"^{_T}{_ZONE}$", "date-time": f"^{_D}T{_T}{_ZONE}$",
    "email": rf"^[A-Za-z0-9_+-]+(\.[A-Za-z0-9_+-]+)*@{_LABELS}$", "hostname": f"^{_LABELS}$",
    "ipv4": rf"^({_BYTE}\.){{3}}{_BYTE}$", "ipv6": "^([0-9a-f]{1,4}:){7}[0-9a-f]{1,4}$|^::1$",
    "uuid": "^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$",
    "uri": rf"^[a-zA-Z][a-zA-Z0-9+.-]*:(//{_LABELS}(:[0-9]{{1,5}})?)?(/[A-Za-z0-9._~!$&'()*+,;=@-]*)*$",
    "uri-reference": r"^[A-Za-z0-9._~/-]*(\?[A-Za-z0-9=&]*)?(#[A-Za-z0-9]*)?$",
    "json-pointer": "^(/[^/~]*)*$", "duration": "^P([0-9]+W|[0-9]+D(T[0-9]+H)?)$",
}  # fmt: skip
"""Pattern of a subset of each format, for strings that must satisfy other patterns as well."""
