"""Rules of the specifications as a description: which bodies a golden's route accepts."""

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from tests.conformance.mutants.mutate import Mutant
from tests.conformance.mutants.requests import Golden
from tests.conformance.official.walk import Description
from tests.untyped_json import JSON


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """Rules of one surface.

    Fields:
        free: matches places without rules.
        twice: whether a member may occur twice.
    """

    schema: str
    description: Description
    free: re.Pattern[str]
    twice: bool

    def accepts(self, body: JSON) -> bool:
        return not self.description.compare(self.schema, body)

    def refuses(self, mutant: Mutant) -> bool | None:
        """Return whether a mutant is refused; nothing without a rule."""
        if self.free.fullmatch(mutant.place):
            return None
        is_twice = mutant.change == "doubled" and not self.twice and isinstance(mutant.path[-1], str)
        return is_twice or not self.accepts(json.loads(mutant.text))


@cache
def _load() -> JSON:
    return yaml.safe_load(Path(__file__).with_name("rules.yaml").read_text(encoding="utf-8"))


@cache
def _describe(surface: int) -> Rules:
    rules = _load()["surfaces"][surface]
    schemas = {
        name: _adapt(schema, rules["nulls"], rules["others"], is_body=name == rules["schema"])
        for name, schema in _load()["schemas"].items()
    }
    description = Description({"paths": {}, "components": {"schemas": schemas}})
    return Rules(rules["schema"], description, re.compile(rules.get("free", "(?!)")), rules.get("twice") != "refused")


def find_rules(golden: Golden) -> Rules | None:
    """Return the rules of a golden's route, the first that match; none where a header changes them."""
    if "extra-parameters" in golden.head:
        return None
    for number, surface in enumerate(_load()["surfaces"]):
        if (
            surface["vendor"] == golden.vendor
            and re.fullmatch(surface.get("profile", ".*"), golden.profile)
            and re.fullmatch(surface["path"], golden.path)
            and not re.fullmatch(surface.get("not", "(?!)"), golden.path)
        ):
            return _describe(number)
    return None


def _adapt(schema: JSON, nulls: bool, others: str, *, is_body: bool) -> JSON:
    """Return a schema with the surface's rules for null and for members that no schema has."""
    adapted: JSON = {}
    for key, value in schema.items():
        if key == "properties":
            needed = schema.get("required", ())
            adapted[key] = {
                name: _admit_null(_adapt(inner, nulls, others, is_body=False), nulls and name not in needed)
                for name, inner in value.items()
            }
        elif key == "items":
            adapted[key] = _adapt(value, nulls, others, is_body=False)
        elif key in ("anyOf", "allOf"):
            adapted[key] = [_adapt(one, nulls, others, is_body=is_body) for one in value]
        else:
            adapted[key] = value
    if "properties" in schema and "additionalProperties" not in schema:
        adapted["additionalProperties"] = others == "ignored" or (others == "top" and not is_body)
    return adapted


def _admit_null(schema: JSON, admitted: bool) -> JSON:
    return {"anyOf": [schema, {"type": "null"}]} if admitted and schema and schema.get("nullable", True) else schema
