"""The language reference, made from the models: every key with what it takes, its sentence and an example."""

import re
from collections.abc import Iterator
from pathlib import Path

from emulator.core.json import Object, as_array, as_object, as_text
from tests.tools.docs.sections import CONTENTS, POSITION, Chapter, Section
from tests.tools.docs.vendors import tell_vendors
from tests.tools.docs.words import default, definitions, plain, takes

FILE = Path(__file__).parent.parent.parent.parent / "docs" / "reference.md"
_HEAD = """\
<!-- Made by `python -m tests.tools.docs`; a test compares it with the models. -->

# The scenario language, version 1

Look here for any key of a scenario: its values, its meaning and a working example. Insert the example in place of the
`…` in the line above its table. [scenarios.md](scenarios.md) is the introduction. A *call* is a request with its
response.

You can leave out any key that is not `required`. An unknown key is a mistake; `emulator check` reports its line and the
nearest known name.

A duration has a unit: `250ms`, `1.5s`, `2m`, `1h`. A size has one too: `64KiB`, `4MiB`. Where rules and limits name
vendors, deployments and the like, `*` stands for any text.
"""
_MEANS = {
    "type": "The name of this type.",
    "journal": "What the journal keeps.",
    "timing": "How exact the times of responses have to be.",
    "bounds": "The maximum cost of one call.",
}  # of keys without a description


def render() -> str:
    """The whole document."""
    return "\n".join([_HEAD, *(line for entry in CONTENTS for line in _tell(entry)), *tell_vendors()])


def properties(model: str) -> Object:
    """What an object may hold; a facet that is written with a name has it as ``<name>``."""
    definition = as_object(definitions()[model])
    found = dict(as_object(definition.get("properties", {})))
    for pattern, value in as_object(definition.get("patternProperties", {})).items():
        name = re.sub(r"[^a-z]", "", pattern)
        found[f"{name}.<{'path' if name == 'body' else 'name'}>"] = value
    return found


def _tell(entry: Chapter | Section) -> Iterator[str]:
    if isinstance(entry, Chapter):
        yield from (f"## {entry.title}", "", entry.intro, "")
        return
    definition = as_object(definitions()[entry.model])
    yield from (f"{'#' * entry.level} {entry.title}", "")
    yield entry.intro or plain(as_text(definition.get("description", "")))
    found = properties(entry.model)
    if not entry.examples.keys() & POSITION and found.keys() >= POSITION:
        yield from ("", "Takes a [position](#position).")
    if entry.place != "…":
        yield from ("", f"`{entry.place}`")
    yield from ("", "| key | values | meaning | example |", "| --- | --- | --- | --- |")
    required = [as_text(key) for key in as_array(definition.get("required", []))]
    for key, example in entry.examples.items():
        schema = as_object(found[key])
        taken = takes(schema) + default(schema) + (", required" if key in required else "")
        means = plain(as_text(schema.get("description") or _MEANS[key]))
        yield f"| `{key}` | {taken} | {means} | `{example}` |"
    yield ""
