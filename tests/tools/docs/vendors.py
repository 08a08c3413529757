"""Vendors' part of the language reference: profiles and switches, generated from the settings models."""

from collections.abc import Iterator
from functools import cache

from emulator.core.json import Object, as_array, as_object, dump_text
from emulator.core.vendor import AnyVendor, VendorSettings
from emulator.vendors import VENDORS
from tests.tools.docs.words import plain, takes
from tests.untyped_json import JSON

_HEAD = """\
## Vendors

`vendors: {tgi: {max_best_of: 4}}` sets a switch, and `vendors: {tgi: false}` turns the vendor off. A `profile` sets
many switches at once; a switch that you set as well wins. The column *default* has the value in the default profile,
followed by the profiles in which it differs.
"""


def tell_vendors() -> Iterator[str]:
    """The chapter."""
    yield _HEAD
    for name, vendor in VENDORS.items():
        yield from (f"### vendors.{name}", "", f"{vendor.title}.", "")
        yield from ("| switch | values | default | meaning |", "| --- | --- | --- | --- |")
        for key, schema in switches(vendor).items():
            yield f"| `{key}` | {takes(schema)} | {_tell_defaults(vendor, key)} | {_sentence(schema)} |"
        yield ""


def switches(vendor: AnyVendor) -> dict[str, Object]:
    """Return each switch with its schema, without null, which equals an absent switch."""
    properties = as_object(vendor.settings.model_json_schema()["properties"])
    return {key: _without_null(as_object(schema)) for key, schema in properties.items()}


def defaults(vendor: AnyVendor, key: str) -> dict[str, JSON]:
    """What a switch is by each profile, the default one first."""
    return {profile: values[key] for profile, values in _profiles(vendor).items()}


@cache
def _profiles(vendor: AnyVendor) -> dict[str, Object]:
    """Every switch by each profile; of two names of one profile only that which comes first."""
    first = str(vendor.settings.model_fields["profile"].default)
    names = [first, *(str(name) for name in as_array(switches(vendor)["profile"]["enum"]) if name != first)]
    found: dict[str, Object] = {}
    for name in names:
        values = read_switches(vendor.settings.model_validate({"profile": name}))
        if not any({**values, "profile": other} == known for other, known in found.items()):
            found[name] = values
    return found


def read_switches(settings: VendorSettings) -> Object:
    """What each switch is at last."""
    return {key: _value(settings, key, value) for key, value in settings.model_dump(mode="json").items()}


def _value(settings: VendorSettings, key: str, value: JSON) -> JSON:
    """Return the default of a switch: that of the release where it is not set."""
    return getattr(getattr(settings, "release", None), key, None) if value is None else value


def _tell_defaults(vendor: AnyVendor, key: str) -> str:
    by_value: dict[str, list[str]] = {}
    for profile, value in defaults(vendor, key).items():
        by_value.setdefault("nothing" if value is None else f"`{_show(value)}`", []).append(profile)
    if key == "profile":
        return next(iter(by_value))
    first, *others = by_value.items()
    return "; ".join([first[0], *(f"{value} in {', '.join(profiles)}" for value, profiles in others)])


def _sentence(schema: Object) -> str:
    """What a switch does; a value that it begins with stays as it is written."""
    text = plain(str(schema["description"])).rstrip(".") + "."
    return text[0].upper() + text[1:] if text.split()[0].isalpha() else text


def _show(value: JSON) -> str:
    return value if isinstance(value, str) and value else dump_text(value)


def _without_null(schema: Object) -> Object:
    options = schema.get("anyOf")
    if not isinstance(options, list):
        return schema
    left = [as_object(option) for option in options if option != {"type": "null"}]
    return {**schema, "anyOf": left} if len(left) > 1 else {**left[0], "description": schema["description"]}
