"""The ways to meet a keyword that leaves a choice: each option is a list of schemas to meet as well."""

from __future__ import annotations

from emulator.core.json import JSON, as_array
from emulator.core.seed import derive, draw_integer
from emulator.engine.json_schema.negation import negations
from emulator.engine.json_schema.resolve import Dialect, Node
from emulator.engine.json_schema.shape import Undecided

Option = tuple[Node, ...]
_MOST_APART = 200  # branches of ``oneOf`` that are kept apart: it takes their number times itself


def options(choice: Undecided, key: bytes, strict: bool) -> list[Option]:
    """How a choice can be decided.

    Args:
        strict: keep the options apart: ``oneOf`` also asks that the other branches do not hold. Costly, and
            seldom needed, as the branches of most schemas exclude one another.
    """
    keyword, node, name = choice
    if keyword == "dependent":
        return _dependent(name, node, key)
    argument = node.keywords[keyword]
    if keyword == "anyOf":
        return _rotate([(node.below(branch),) for branch in as_array(argument) if branch is not False], key)
    if keyword == "oneOf":
        return _one_of(node, as_array(argument), key, strict)
    if keyword == "not":
        return list(negations(node.below(argument)))
    return _conditional(node, argument, key)


def _rotate(found: list[Option], key: bytes) -> list[Option]:
    """Begin at a drawn option, and keep the order for the rest."""
    if len(found) < 2:
        return found
    first = draw_integer(key, len(found), "branch")
    return found[first:] + found[:first]


def _one_of(node: Node, branches: list[JSON], key: bytes, strict: bool) -> list[Option]:
    found: list[Option] = []
    for index, branch in enumerate(branches):
        if branch is False:
            continue
        option: Option = (node.below(branch),)
        if strict and len(branches) <= _MOST_APART:
            others = branches[:index] + branches[index + 1 :]
            option += (node.below({"not": {"anyOf": others}}),)
        found.append(option)
    return _rotate(found, key)


def _conditional(node: Node, condition: JSON, key: bytes) -> list[Option]:
    schema = node.keywords
    if node.dialect <= Dialect.DRAFT_6 or not ("then" in schema or "else" in schema):
        return [()]
    met = (node.below(condition), node.below(schema.get("then", True)))
    unmet = (node.below({"not": condition}), node.below(schema.get("else", True)))
    return _rotate([met, unmet], key)


def _dependent(name: str, below: Node, key: bytes) -> list[Option]:
    """Leave the property out, or have it and meet the schema."""
    absent = (below._replace(schema={"properties": {name: False}}),)
    present = (below._replace(schema={"required": [name]}), below)
    return [present, absent] if derive(key, name)[0] % 2 else [absent, present]
