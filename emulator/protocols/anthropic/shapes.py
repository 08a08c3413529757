"""Shapes of Anthropic's requests. Source: the parameter types of the package ``anthropic``."""

from emulator.protocols.shapes import ShapeTable

SHAPES = ShapeTable("emulator.protocols.anthropic")
